package rates

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// The test counts twelve rows by hand: 2 of 7 negatives and 4 of 5 positives are accepted.
func TestCountByHand(t *testing.T) {
	labels := []int{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}
	decisions := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0}
	table := require.Value(Count(Rows{Labels: labels, Decisions: decisions}, []string{"no", "yes"}, []results.Group{{Name: "a", Rows: []int{0, 5, 7}}, {Name: "b", Rows: []int{1, 2}}}, false))(t)
	for name, want := range map[string][2]int{
		results.PositiveRate: {6, 12}, results.TruePositiveRate: {4, 5}, results.FalsePositiveRate: {2, 7}, results.Precision: {4, 6}, results.ErrorRate: {3, 12},
	} {
		got := table.Overall[name]
		if got.Rows != want[1] || got.Value != float64(want[0])/float64(want[1]) || got.Interval[0] >= got.Value || got.Interval[1] <= got.Value {
			t.Errorf("%s: %+v, want %d of %d", name, got, want[0], want[1])
		}
	}
	if diff := cmp.Diff([][]float64{{5, 2}, {1, 4}}, table.Confusion); diff != "" {
		t.Error(diff)
	}
	a, b := table.ByGroup[0], table.ByGroup[1]
	if a.Group != "a" || a.Rows != 3 || a.Rates[results.PositiveRate].Value != 2.0/3 || a.Rates[results.TruePositiveRate].Value != 1 || a.Rates[results.FalsePositiveRate].Value != 0.5 {
		t.Errorf("%+v", a)
	}
	if _, has := b.Rates[results.TruePositiveRate]; has || b.Rates[results.ErrorRate].Value != 0 {
		t.Errorf("a group without positive rows has a true positive rate: %+v", b)
	}
}

func TestCountClasses(t *testing.T) {
	table := require.Value(Count(Rows{Labels: []int{0, 0, 1, 2, 2, 2}, Decisions: []int{0, 1, 1, 2, 2, 0}}, []string{"coat", "shirt", "bag"}, nil, true))(t)
	for name, want := range map[string]float64{
		"recall[coat]": 0.5, "recall[shirt]": 1, "recall[bag]": 2.0 / 3, "precision[shirt]": 0.5, "error": 2.0 / 6,
	} {
		if table.Overall[name].Value != want {
			t.Errorf("%s: %v, want %v", name, table.Overall[name], want)
		}
	}
	if table.Overall[results.ErrorRate].Interval != nil {
		t.Error("an interval of rows that the model was trained on")
	}
	if diff := cmp.Diff([]string{"error", "recall[coat]", "recall[shirt]", "recall[bag]", "precision[coat]", "precision[shirt]", "precision[bag]"},
		table.Order()); diff != "" {
		t.Error(diff)
	}
}

func TestCountRefuses(t *testing.T) {
	for _, bad := range []func() error{
		func() error {
			_, err := Count(Rows{Labels: []int{0}, Decisions: []int{0, 1}}, []string{"a", "b"}, nil, false)
			return err
		},
		func() error {
			_, err := Count(Rows{Labels: []int{0}, Decisions: []int{2}}, []string{"a", "b"}, nil, false)
			return err
		},
		func() error {
			_, err := Count(Rows{Labels: []int{-1}, Decisions: []int{0}}, []string{"a", "b"}, nil, false)
			return err
		},
		func() error {
			_, err := Count(Rows{Labels: []int{0}, Decisions: []int{0}}, []string{"a", "b"}, []results.Group{{Name: "g", Rows: []int{1}}}, false)
			return err
		},
	} {
		if bad() == nil {
			t.Error("accepted")
		}
	}
}

func TestROC(t *testing.T) {
	// tied scores are one step of the curve; the first pair separates the classes perfectly
	got := ROC([]float64{3, 2, 2, 1}, []bool{true, true, false, false}, nil, 100)
	want := []results.ROCPoint{{FPR: 0, TPR: 0}, {FPR: 0, TPR: 0.5}, {FPR: 0.5, TPR: 1}, {FPR: 1, TPR: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if ROC([]float64{1, 2}, []bool{true, true}, nil, 10) != nil {
		t.Error("a curve without negative rows")
	}
	r := rand.New(rand.NewPCG(1, 2))
	scores, positive := make([]float64, 5000), make([]bool, 5000)
	for i := range scores {
		positive[i] = r.Float64() < 0.02
		scores[i] = r.NormFloat64()
		if positive[i] {
			scores[i]++
		}
	}
	full, thinned := ROC(scores, positive, nil, 1<<30), ROC(scores, positive, nil, 200)
	if len(full) != 5001 || len(thinned) > 210 || thinned[0] != full[0] || thinned[len(thinned)-1] != full[5000] {
		t.Errorf("%d and %d points", len(full), len(thinned))
	}
	if d := math.Abs(area(full) - area(thinned)); d > 2e-3 {
		t.Errorf("thinning changes the area by %v", d)
	}
}

// area returns the area under a curve.
func area(c []results.ROCPoint) (sum float64) {
	for k := 1; k < len(c); k++ {
		sum += (c[k].FPR - c[k-1].FPR) * (c[k].TPR + c[k-1].TPR) / 2
	}
	return sum
}
