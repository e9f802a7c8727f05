package tabular

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
)

func TestParseSplit(t *testing.T) {
	for text, want := range map[string]Split{"70/15/15": {70, 15, 15}, "100/0/0": {100, 0, 0}, "1/0/99": {1, 0, 99}} {
		got, err := ParseSplit(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, s := range []Split{{110, -10, 0}, {110, 0, -10}, {0, 100, 0}, {70, 15, 14}, {-10, 110, 0}} {
		datatest.CheckError(t, s.Check(), dataerr.ErrSplit, "split")
	}
	for _, text := range []string{
		"", "70", "70/30", "70/15/15/0", "70/15/14", "0/50/50", "-10/55/55", "70/ 15/15", "70.5/15/14.5", "a/b/c", "228/28/100", "100/x/0", "50/50/x", "100/0/0/0",
	} {
		_, err := ParseSplit(text)
		datatest.CheckError(t, err, dataerr.ErrSplit, "split")
	}
}

// TestSplitShares checks that every set has its share of all rows up to one row, and of every
// stratum up to two rows, and that every row is in exactly one set.
func TestSplitShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		train := 1 + rng.IntN(100)
		validation := rng.IntN(101 - train)
		split := Split{train, validation, 100 - train - validation}
		strata := make([]int, 1+rng.IntN(500))
		total := map[int]int{}
		for i := range strata {
			strata[i] = int(rng.ExpFloat64())
			total[strata[i]]++
		}
		var all []int
		for k, part := range split.Rows(strata, rng.Uint64()) {
			share := float64(split.Shares()[k]) / 100
			if d := math.Abs(float64(len(part)) - share*float64(len(strata))); d > 1 {
				t.Fatalf("%v of %d rows: part %d has %d", split, len(strata), k, len(part))
			}
			count := map[int]int{}
			for _, i := range part {
				count[strata[i]]++
			}
			for s, n := range total {
				if d := math.Abs(float64(count[s]) - share*float64(n)); d >= 2 {
					t.Fatalf("%v: part %d has %d of the %d rows of stratum %d", split, k, count[s], n, s)
				}
			}
			if !slices.IsSorted(part) {
				t.Fatal("rows do not increase")
			}
			all = append(all, part...)
		}
		slices.Sort(all)
		for i, row := range all {
			if i != row {
				t.Fatalf("row %d is in no part, or in two", i)
			}
		}
		if len(all) != len(strata) {
			t.Fatalf("%d of %d rows are in a part", len(all), len(strata))
		}
	}
}

// TestSplitSeed checks that the split is the same on every machine and depends on the seed.
func TestSplitSeed(t *testing.T) {
	strata := []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}
	s := Split{60, 20, 20}
	want := [3][]int{{2, 4, 5, 7, 8, 9}, {3, 6}, {0, 1}}
	if diff := cmp.Diff(want, s.Rows(strata, 1)); diff != "" {
		t.Error(diff)
	}
	for _, shift := range []int{-7, 9} {
		shifted := slices.Clone(strata)
		for i := range shifted {
			shifted[i] += shift
		}
		if diff := cmp.Diff(want, s.Rows(shifted, 1)); diff != "" {
			t.Errorf("strata from %d: %s", shift, diff)
		}
	}
	different := false
	for seed := range uint64(5) {
		different = different || !cmp.Equal(want, s.Rows(strata, seed))
	}
	if !different {
		t.Error("the seed changes nothing")
	}
}

// TestSplitIsUniform checks that every row has the same probability of being in a set: the set's
// share.
func TestSplitIsUniform(t *testing.T) {
	const draws = 4000
	strata := []int{0, 0, 0, 1, 1, 1, 1, 1, 1, 1}
	count := make([]float64, len(strata))
	for seed := range uint64(draws) {
		for _, i := range (Split{50, 25, 25}).Rows(strata, seed)[0] {
			count[i]++
		}
	}
	for i, n := range count {
		group := count[:3]
		if strata[i] == 1 {
			group = count[3:]
		}
		mean := 0.0
		for _, c := range group {
			mean += c / float64(len(group))
		}
		if d := math.Abs(n - mean); d > 4*math.Sqrt(draws)/2 { // 4 standard deviations of a fair coin
			t.Errorf("row %d trains %v times, its stratum %v", i, n, mean)
		}
	}
}
