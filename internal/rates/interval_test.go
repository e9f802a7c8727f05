package rates

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// TestIntervalOf compares the interval of each measure with the interval of its rates, and
// checks the level and the end of several sets.
func TestIntervalOf(t *testing.T) {
	rate := func(hits, rows int) constraints.CountedRate { return constraints.CountedRate{Hits: hits, Rows: rows} }
	mean := constraints.CountedRate{Constant: 1, Rows: 90, Parts: []constraints.CountedPart{{Coefficient: 0.5, Hits: 30, Rows: 100}, {Coefficient: -0.5, Hits: 70, Rows: 90}}}
	a, b, all, none := rate(30, 100), rate(70, 90), rate(100, 190), rate(0, 0)
	x, y, z := Count{Hits: 30, Rows: 100}, Count{Hits: 70, Rows: 90}, Count{Hits: 100, Rows: 190}
	// Two numbers, and one, have the tail 0.05 at both ends.
	half := func(c Count) Estimate { return c.Estimate(0.05) }
	less := func(a, b Estimate) Estimate { return a.Plus(b.Times(-1)) }
	two := half(x).Times(0.5).Plus(half(y).Times(-0.5)).Plus(Estimate{Value: 1})
	gapOf := func(a, b Estimate) *Interval {
		d := less(a, b).Interval()
		return &Interval{Low: max(0, d.Low, -d.High), High: max(d.High, -d.Low)}
	}
	ratio := Interval{Low: quotient(half(x), half(y)), High: min(1, 1/quotient(half(y), half(x)))}
	excess := excessOf(y, z, half).Interval()                      // x has an excess below 0
	quarter := func(c Count) Estimate { return c.Estimate(0.025) } // a quarter of 10% for the four differences
	rest := func(c Count) Estimate { return c.Estimate(0.075) }
	distance := Interval{Low: max(excessOf(y, z, quarter).Interval().Low, -excessOf(x, z, quarter).Interval().High),
		High: max(excessOf(y, z, rest).Interval().High, -excessOf(x, z, rest).Interval().Low)}
	type sets [][]constraints.CountedRate
	low, high := x.Interval(0.9), y.Interval(0.9)
	for _, test := range []struct {
		text string
		sets sets
		want *Interval
	}{
		{"fpr <= 0.1", sets{{a}}, new(x.Interval(0.9))},
		{"fpr <= 0.1", sets{{none}}, nil},
		{"fpr <= 0.1", nil, nil},
		{"fpr[race=*] <= 0.1", sets{{b}, {a}}, &high},
		{"fpr[race=*] <= 0.1", sets{{a}, {b}}, &high},
		{"fpr[race=*] >= 0.1", sets{{b}, {a}}, &low},
		{"fpr[race=*] >= 0.1", sets{{a}, {b}}, &low},
		{"fpr[race=*] <= 0.1", sets{{none}, {b}}, &high},
		{"balanced_error <= 0.1", sets{{mean}}, new(two.Interval())},
		{"gap(balanced_error, race) <= 0.1", sets{{mean, all}}, gapOf(two, half(z))},
		{"gap(fpr, race) <= 0.1", sets{{a, none, b}}, gapOf(half(x), half(y))},
		{"gap(fpr, race) <= 0.1", sets{{none, a, b}}, gapOf(half(x), half(y))},
		{"gap(fpr, race) <= 0.1", sets{{a, none}}, nil},
		{"ratio(fpr, race) >= 0.1", sets{{a, b}}, &ratio},
		{"ratio(fpr, race) >= 0.1", sets{{none, b}}, nil},
		{"distance(fpr, race) <= 0.1", sets{{all, a, b}}, &distance},
		{"distance(fpr, race) <= 0.1", sets{{none, a, b}}, nil},
		{"excess(fpr, race) <= 0.1", sets{{all, none, a, b}}, &excess},
		{"excess(fpr, race) <= 0.1", sets{{all, none}}, nil},
	} {
		c := require.Value(constraints.Parse(test.text))(t)
		var want *[2]float64
		if test.want != nil {
			want = &[2]float64{test.want.Low, test.want.High}
		}
		if d := cmp.Diff(want, IntervalOf(c, test.sets, 0.9), cmpopts.EquateApprox(0, 1e-15)); d != "" {
			t.Errorf("%s, %+v (-want +got):\n%s", test.text, test.sets, d)
		}
	}
}

// TestCoverage draws rows of groups with known rates, and counts how often the intervals of the
// measures contain the true values: at the level 95% in 95 to 97% of the draws, and in up to 99% if
// several groups have the largest or the smallest rate.
func TestCoverage(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	const draws = 600
	rng := rand.New(rand.NewPCG(8, 9))
	texts := []string{"gap(positive_rate, g) <= 0.1", "ratio(positive_rate, g) >= 0.5", "excess(positive_rate, g) <= 0.1", "distance(positive_rate, g) <= 0.1",
		"positive_rate[g=*] <= 0.5", "positive_rate[g=*] >= 0.1"}
	for _, accepted := range [][]float64{{0.3, 0.3}, {0.3, 0.4}, {0.05, 0.12}, {0.3, 0.35, 0.5}, {0.2, 0.2, 0.2, 0.34},
		{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.3}} {
		mean := 0.0
		for _, p := range accepted {
			mean += p / float64(len(accepted))
		}
		low, high := slices.Min(accepted), slices.Max(accepted)
		truth := []float64{high - low, low / high, high - mean, max(high-mean, mean-low), high, low}
		inside := make([]int, len(texts))
		for range draws {
			groups := make([]constraints.CountedRate, len(accepted)+1) // the first one counts all rows
			for range 300 * len(accepted) {
				g := rng.IntN(len(accepted))
				for _, k := range []int{0, g + 1} {
					groups[k].Rows++
				}
				if rng.Float64() < accepted[g] {
					groups[0].Hits++
					groups[g+1].Hits++
				}
			}
			var each [][]constraints.CountedRate
			for _, g := range groups[1:] {
				each = append(each, []constraints.CountedRate{g})
			}
			for k, text := range texts {
				c := require.Value(constraints.Parse(text))(t)
				own := [][]constraints.CountedRate{groups}
				if c.Measure().WithAll() {
				} else if own[0] = groups[1:]; !c.Measure().Compares() {
					own = each
				}
				if i := IntervalOf(c, own, 0.95); i[0] <= truth[k]+1e-12 && truth[k] <= i[1]+1e-12 {
					inside[k]++
				}
			}
		}
		for k, n := range inside {
			share := float64(n) / draws
			t.Logf("%v, %s: %.1f%%", accepted, texts[k], 100*share)
			if share < 0.95-2*math.Sqrt(0.05*0.95/draws) || share > 0.995 {
				t.Errorf("%v: the interval of %s contains the value in %v of the draws, want 0.95 to 0.99", accepted, texts[k], share)
			}
		}
	}
}

// TestCurve computes the ROC curve of five rows by hand, and checks which points a thinner curve
// keeps.
func TestCurve(t *testing.T) {
	scores, positive := []float64{4, 3, 3, 2, 1, 0}, []bool{true, true, false, false, true, true}
	whole := []results.ROCPoint{{}, {FPR: 0, TPR: 0.25}, {FPR: 0.5, TPR: 0.5}, {FPR: 1, TPR: 0.5}, {FPR: 1, TPR: 0.75}, {FPR: 1, TPR: 1}}
	for most, want := range map[int][]results.ROCPoint{6: whole, 7: whole, 4: {{}, {FPR: 0.5, TPR: 0.5}, {FPR: 1, TPR: 0.5}, {FPR: 1, TPR: 1}}, 5: {{}, {FPR: 0.5, TPR: 0.5}, {FPR: 1, TPR: 0.5}, {FPR: 1, TPR: 1}}, 1: {{}, {FPR: 1, TPR: 1}}} {
		if d := cmp.Diff(want, ROC(scores, positive, nil, most)); d != "" {
			t.Errorf("at most %d points (-want +got):\n%s", most, d)
		}
	}
	for _, same := range []bool{false, true} {
		if curve := ROC([]float64{1, 2}, []bool{same, same}, nil, 5); curve != nil {
			t.Errorf("one class: %v", curve)
		}
	}
}

// TestTableLimits checks the names of two and of three classes, and rows out of
// range.
func TestTableLimits(t *testing.T) {
	for _, classes := range [][]string{{"no", "yes"}, {"a", "b", "c"}} {
		table := require.Value(NewTable(Rows{Labels: []int{0, 1}, Decisions: []int{1, 1}}, classes, []results.Group{{Name: "g", Rows: []int{1}}}, false))(t)
		want := []string{results.PositiveRate, results.TruePositiveRate, results.FalsePositiveRate, results.Precision, results.ErrorRate}
		if len(classes) == 3 {
			want = []string{results.ErrorRate, "recall[a]", "recall[b]", "recall[c]", "precision[a]", "precision[b]", "precision[c]"}
		}
		if d := cmp.Diff(want, table.Order()); d != "" {
			t.Errorf("%v: %s", classes, d)
		}
		for _, row := range []int{-1, 2} {
			if _, err := NewTable(Rows{Labels: []int{0, 1}, Decisions: []int{1, 1}}, classes, []results.Group{{Name: "g", Rows: []int{row}}}, false); err == nil {
				t.Errorf("a group with row %d of 2 is accepted", row)
			}
		}
	}
}
