package rates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/statistics"
	"ppal/trainer/session/results"
)

// TestIntervalOf compares the interval of each measure with the interval of the statistics, and
// checks the level and the end of several sets.
func TestIntervalOf(t *testing.T) {
	rate := func(hits, rows int) constraints.CountedRate { return constraints.CountedRate{Hits: hits, Rows: rows} }
	mean := constraints.CountedRate{Constant: 1, Rows: 90, Parts: []constraints.CountedPart{{Coefficient: 0.5, Hits: 30, Rows: 100}, {Coefficient: -0.5, Hits: 70, Rows: 90}}}
	a, b, all, none := rate(30, 100), rate(70, 90), rate(100, 190), rate(0, 0)
	x, y, z := statistics.Count{Hits: 30, Rows: 100}, statistics.Count{Hits: 70, Rows: 90}, statistics.Count{Hits: 100, Rows: 190}
	pair := []statistics.Count{x, y}
	two := statistics.Linear(1, []float64{0.5, -0.5}, pair, 0.9)
	low2, high2 := statistics.Linear(1, []float64{0.5, -0.5}, pair, 0.95), z.Interval(0.95)
	type sets [][]constraints.CountedRate
	low, high := x.Interval(0.95), y.Interval(0.95) // two sets at the level 0.9
	for _, test := range []struct {
		text string
		sets sets
		want *statistics.Interval
	}{
		{"fpr <= 0.1", sets{{a}}, new(x.Interval(0.9))},
		{"fpr <= 0.1", sets{{none}}, nil},
		{"fpr <= 0.1", nil, nil},
		{"fpr[race=*] <= 0.1", sets{{b}, {a}}, &high},
		{"fpr[race=*] <= 0.1", sets{{a}, {b}}, &high},
		{"fpr[race=*] >= 0.1", sets{{b}, {a}}, &low},
		{"fpr[race=*] >= 0.1", sets{{a}, {b}}, &low},
		{"fpr[race=*] <= 0.1", sets{{none}, {b}}, &high},
		{"balanced_error <= 0.1", sets{{mean}}, &two},
		{"gap(balanced_error, race) <= 0.1", sets{{mean, all}}, &statistics.Interval{Low: max(0, low2.Low-high2.High, high2.Low-low2.High), High: max(low2.High-high2.Low, high2.High-low2.Low)}},
		{"gap(fpr, race) <= 0.1", sets{{a, none, b}}, new(statistics.Gap(pair, 0.9))},
		{"gap(fpr, race) <= 0.1", sets{{none, a, b}}, new(statistics.Gap(pair, 0.9))},
		{"gap(fpr, race) <= 0.1", sets{{a, none}}, nil},
		{"ratio(fpr, race) >= 0.1", sets{{a, b}}, new(statistics.Ratio(pair, 0.9))},
		{"ratio(fpr, race) >= 0.1", sets{{none, b}}, nil},
		{"distance(fpr, race) <= 0.1", sets{{all, a, b}}, new(statistics.Distance(z, pair, 0.9))},
		{"distance(fpr, race) <= 0.1", sets{{none, a, b}}, nil},
		{"excess(fpr, race) <= 0.1", sets{{all, none, a, b}}, new(statistics.Excess(z, pair, 0.9))},
		{"excess(fpr, race) <= 0.1", sets{{all, none}}, nil},
	} {
		c, err := constraints.Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		var want *[2]float64
		if test.want != nil {
			want = &[2]float64{test.want.Low, test.want.High}
		}
		if d := cmp.Diff(want, IntervalOf(c, test.sets, 0.9)); d != "" {
			t.Errorf("%s, %+v (-want +got):\n%s", test.text, test.sets, d)
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
		table, err := Count(Rows{Labels: []int{0, 1}, Decisions: []int{1, 1}}, classes, []results.Group{{Name: "g", Rows: []int{1}}}, false)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{results.PositiveRate, results.TruePositiveRate, results.FalsePositiveRate, results.Precision, results.ErrorRate}
		if len(classes) == 3 {
			want = []string{results.ErrorRate, "recall[a]", "recall[b]", "recall[c]", "precision[a]", "precision[b]", "precision[c]"}
		}
		if d := cmp.Diff(want, table.Order()); d != "" {
			t.Errorf("%v: %s", classes, d)
		}
		for _, row := range []int{-1, 2} {
			if _, err := Count(Rows{Labels: []int{0, 1}, Decisions: []int{1, 1}}, classes, []results.Group{{Name: "g", Rows: []int{row}}}, false); err == nil {
				t.Errorf("a group with row %d of 2 is accepted", row)
			}
		}
	}
}
