package constraints

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// countPairs counts the pairs and twice the wrong pairs of each query and cell, pair by pair.
func countPairs(d Documents, groups int, scores []float64) map[[2]int32][2]int64 {
	counts := map[[2]int32][2]int64{}
	for i, q := range d.Queries {
		for j := range d.Queries {
			if q < 0 || d.Queries[j] != q || d.Levels[i] <= d.Levels[j] {
				continue
			}
			key := [2]int32{q, int32(d.Groups[i]*groups + d.Groups[j])}
			n := counts[key]
			n[0]++
			switch {
			case scores[i] < scores[j]:
				n[1] += 2
			case scores[i] == scores[j]:
				n[1]++
			}
			counts[key] = n
		}
	}
	return counts
}

// TestPairErrors compares the counts with loops over the pairs on 1,000 random sets of documents:
// with equal scores, all scores equal, documents without a query, 1 to 5 levels and 1 to 4 groups.
func TestPairErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for k := range 1000 {
		groups, n := 1+rng.IntN(4), 2+rng.IntN(60)
		d := randomDocuments(rng, n, 1+rng.IntN(8), 1+rng.IntN(5), groups)
		scores := randoms(rng, n, 1)
		for i := range scores {
			switch k % 4 {
			case 1:
				scores[i] = math.Round(2 * scores[i])
			case 2:
				scores[i] = 0
			case 3:
				d.Queries[i] -= int32(rng.IntN(2))
				scores[i] = []float64{math.Inf(-1), -1, math.Copysign(0, -1), 0, math.Inf(1)}[rng.IntN(5)]
			}
		}
		want := countPairs(d, groups, scores)
		p, err := NewPairs(d, groups, k%5 == 0)
		if len(want) == 0 {
			if err == nil {
				t.Fatalf("set %d: no error without pairs", k)
			}
			continue
		}
		e := must(must(p, err).Errors(scores))
		for _, q := range e.Queries {
			if w := want[[2]int32{q.Query, q.Cell}]; w != [2]int64{q.Pairs, q.Doubled} {
				t.Errorf("set %d: query %d, cell %d: %d wrong of %d pairs, want %d of %d", k, q.Query, q.Cell, q.Doubled, q.Pairs, w[1], w[0])
			}
			if k%4 == 2 && q.Doubled != q.Pairs {
				t.Errorf("set %d: equal scores have %d half errors in %d pairs", k, q.Doubled, q.Pairs)
			}
		}
		if len(e.Queries) != len(want) {
			t.Errorf("set %d: %d entries, want %d", k, len(e.Queries), len(want))
		}
	}
}

// TestPairErrorsOnCores checks that many documents, which the cores share, have the counts of the
// pairs, and that the smooth means of scores far apart are the counted shares.
func TestPairErrorsOnCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	const n = 4 * leastPart
	d := randomDocuments(rng, n, 2000, 2, 2)
	p := must(NewPairs(d, 2, false))
	scores := make([]float64, n)
	for i, place := range rng.Perm(n) {
		scores[i] = 1e3 * float64(place)
	}
	e := must(p.Errors(scores))
	smooth := pairMeans(must(NewPairMeans(p, Sigmoid)), scores)
	for cell, want := range smooth {
		if doubled, pairs := e.Counts(cell); pairs != p.Counts()[cell] || math.Abs(float64(doubled)/2/float64(pairs)-want) > 1e-12 {
			t.Errorf("cell %d: %d half errors in %d of %d pairs, the smooth mean is %v", cell, doubled, pairs, p.Counts()[cell], want)
		}
	}
}

// TestPairErrorsOfBadScores checks the scores that are refused.
func TestPairErrorsOfBadScores(t *testing.T) {
	p := must(NewPairs(Documents{Queries: []int32{0, 0}, Levels: []int{0, 1}}, 1, false))
	if _, err := p.Errors([]float64{1}); err == nil || !strings.Contains(err.Error(), "1 scores for 2 documents") {
		t.Error(err)
	}
	if _, err := p.Errors([]float64{1, math.NaN()}); err == nil || !strings.Contains(err.Error(), "document 1 is NaN") {
		t.Error(err)
	}
}

// TestPairEstimate compares the standard errors of a share and of a gap with a bootstrap of 2,000
// draws of queries, on queries with correlated pairs.
func TestPairEstimate(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	rng := rand.New(rand.NewPCG(4, 4))
	const queries, size = 300, 20
	var d Documents
	var scores []float64
	for q := range queries {
		quality := rng.NormFloat64()
		for range size + rng.IntN(size) {
			level, group := rng.IntN(2), rng.IntN(2)
			d.Queries, d.Levels, d.Groups = append(d.Queries, int32(q)), append(d.Levels, level), append(d.Groups, group)
			scores = append(scores, (0.5+quality)*float64(level)+0.5*quality*float64(group)+rng.NormFloat64())
		}
	}
	e := must(must(NewPairs(d, 2, false)).Errors(scores))
	all := PairTerm{1, e.Cells(func(a, b int) bool { return true })}
	for name, terms := range map[string][]PairTerm{
		"all pairs": {all},
		"gap":       {{1, e.Cells(func(a, b int) bool { return a == 0 && b == 1 })}, {-1, []int{2}}},
	} {
		v, se := e.Estimate(terms...)
		var draws []float64
		starts := []int{}
		for i, q := range e.Queries {
			if i == 0 || q.Query != e.Queries[i-1].Query {
				starts = append(starts, i)
			}
		}
		starts = append(starts, len(e.Queries))
		for range 2000 {
			drawn := &PairErrors{groups: 2}
			for range starts[1:] {
				k := rng.IntN(len(starts) - 1)
				drawn.Queries = append(drawn.Queries, e.Queries[starts[k]:starts[k+1]]...)
			}
			value, _ := drawn.Estimate(terms...)
			draws = append(draws, value)
		}
		var sum, squares float64
		for _, x := range draws {
			sum += x - v
			squares += (x - v) * (x - v)
		}
		bootstrap := math.Sqrt(squares/2000 - sum/2000*sum/2000)
		t.Logf("%s: %.4f, standard error %.4f, bootstrap %.4f", name, v, se, bootstrap)
		if !(math.Abs(se-bootstrap) <= 0.15*bootstrap) {
			t.Errorf("%s: standard error %v, by bootstrap %v", name, se, bootstrap)
		}
	}
	one := &PairErrors{Queries: []QueryErrors{{0, 0, 4, 2}}, groups: 2}
	if v, se := one.Estimate(PairTerm{2, []int{0}}); v != 0.5 || !math.IsNaN(se) {
		t.Errorf("one query: %v, standard error %v", v, se)
	}
	if v, _ := one.Estimate(PairTerm{1, []int{3}}); !math.IsNaN(v) {
		t.Errorf("without pairs: %v", v)
	}
}

// TestPairsOfMQ2008 checks facts of the data: the queries, the pairs by groups, and the pair errors
// of two columns as scores. The group is column 41, above its 40th percentile in the training part.
func TestPairsOfMQ2008(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	d, columns, folds := mq2008(t)
	for i := range d.Queries {
		d.Levels[i] = min(d.Levels[i], 1)
		d.Groups = append(d.Groups, 0)
		if columns[1][i] > 0.333333 {
			d.Groups[i] = 1
		}
	}
	if queries := slices.Max(d.Queries) + 1; queries != 784 {
		t.Errorf("%d queries", queries)
	}
	for _, c := range []struct {
		name      string
		folds     []int
		queries   int
		pairs     []int64
		error     [2]float64 // of all pairs by columns 39 and 41; 0: not known
		crossings [2]float64 // of the pairs 0>1 and 1>0 by column 39
	}{
		{"all", []int{1, 2, 3, 4, 5}, 564, []int64{18152, 19235, 14363, 22418}, [2]float64{0.197504}, [2]float64{0.197427, 0.177087}},
		{"training", []int{1, 2, 3}, 339, []int64{12409, 12778, 8888, 14011}, [2]float64{}, [2]float64{}},
		{"test", []int{5}, 105, []int64{3231, 3851, 2524, 3538}, [2]float64{0.176240}, [2]float64{}},
	} {
		part := d
		part.Queries = slices.Clone(d.Queries)
		for i, f := range folds {
			if !slices.Contains(c.folds, f) {
				part.Queries[i] = -1
			}
		}
		p := must(NewPairs(part, 2, false))
		if !slices.Equal(p.Counts(), c.pairs) {
			t.Errorf("%s: %d pairs, want %d", c.name, p.Counts(), c.pairs)
		}
		e := must(p.Errors(columns[0]))
		kept := map[int32]bool{}
		for _, q := range e.Queries {
			kept[q.Query] = true
		}
		if len(kept) != c.queries {
			t.Errorf("%s: %d queries have pairs, want %d", c.name, len(kept), c.queries)
		}
		v, se := e.Estimate(PairTerm{1, []int{0, 1, 2, 3}})
		if c.error[0] != 0 && math.Abs(v-c.error[0]) > 5e-7 {
			t.Errorf("%s: the pair error of column 39 is %.6f, want %v", c.name, v, c.error[0])
		}
		for k, cell := range []int{1, 2} {
			if v, _ := e.Estimate(PairTerm{1, []int{cell}}); c.crossings[0] != 0 && math.Abs(v-c.crossings[k]) > 5e-7 {
				t.Errorf("%s: the pair error of cell %d is %.6f, want %v", c.name, cell, v, c.crossings[k])
			}
		}
		gap, of := e.Estimate(PairTerm{1, []int{1}}, PairTerm{-1, []int{2}})
		t.Logf("%s: error %.4f, standard error %.4f; gap %.4f, standard error %.4f by queries and %.4f by pairs", c.name, v, se, gap, of,
			math.Sqrt(0.16/float64(c.pairs[1])+0.16/float64(c.pairs[2])))
		own := must(p.Errors(columns[1]))
		for k, want := range []float64{1, 0} { // the group's own column
			if v, _ := own.Estimate(PairTerm{1, []int{1 + k}}); v != want {
				t.Errorf("%s: the pair error of cell %d by the group's column is %v, want %v", c.name, 1+k, v, want)
			}
		}
	}
}

// mq2008 reads the grades and queries, columns 39 and 41, and the parts 1 to 5 of the files.
func mq2008(t *testing.T) (d Documents, columns [2][]float64, parts []int) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		t.Skip("PPAL_DATA is not set")
	}
	numbers := map[string]int32{}
	for part := 1; part <= 5; part++ {
		f, err := os.Open(filepath.Join(dir, "mq2008", fmt.Sprintf("S%d.txt", part)))
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			q, known := numbers[fields[1]]
			if !known {
				q = int32(len(numbers))
				numbers[fields[1]] = q
			}
			d.Queries, d.Levels, parts = append(d.Queries, q), append(d.Levels, must(strconv.Atoi(fields[0]))), append(parts, part)
			for k, column := range []int{39, 41} {
				_, text, _ := strings.Cut(fields[1+column], ":")
				columns[k] = append(columns[k], must(strconv.ParseFloat(text, 64)))
			}
		}
	}
	return d, columns, parts
}

// BenchmarkPairErrors counts 16.6 million pairs of 1.2 million documents on one core.
func BenchmarkPairErrors(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 7))
	var d Documents
	for i := range 1_200_000 {
		level := 0
		if i%120 < 16 {
			level = 1
		}
		d.Queries, d.Levels, d.Groups = append(d.Queries, int32(i/120)), append(d.Levels, level), append(d.Groups, i%2)
	}
	p := must(NewPairs(d, 2, false))
	scores := randoms(rng, p.Rows(), 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		must(p.Errors(scores))
	}
}
