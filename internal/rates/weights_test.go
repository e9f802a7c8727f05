package rates

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// TestWeights compares rates, ROC curves and areas of rows with whole weights with those of rows
// that stand as often as their weights say. The intervals are wider: heavy rows tell less.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for classes := 2; classes <= 3; classes++ {
		a, b := Rows{}, Rows{}
		var scores, again []float64
		group, other := results.Group{Name: "odd"}, results.Group{Name: "odd"}
		for i := range 80 {
			w, y, d, s := 1+rng.IntN(4), rng.IntN(classes), rng.IntN(classes), float64(rng.IntN(9))
			a.Labels, a.Decisions, a.Weights, scores = append(a.Labels, y), append(a.Decisions, d), append(a.Weights, float64(w)), append(scores, s)
			if i%2 == 1 {
				group.Rows = append(group.Rows, i)
			}
			for range w {
				if i%2 == 1 {
					other.Rows = append(other.Rows, len(b.Labels))
				}
				b.Labels, b.Decisions, again = append(b.Labels, y), append(b.Decisions, d), append(again, s)
			}
		}
		names := []string{"a", "b", "c"}[:classes]
		x := require.Value(Count(a, names, []results.Group{group}, false))(t)
		y := require.Value(Count(b, names, []results.Group{other}, false))(t)
		if x.Rows != 80 || x.Weight != float64(y.Rows) || y.Weight != 0 || !slices.EqualFunc(x.Confusion, y.Confusion, slices.Equal[[]float64]) {
			t.Errorf("%d rows of the weight %v with %v, want %v with %v", x.Rows, x.Weight, x.Confusion, y.Rows, y.Confusion)
		}
		for k, rates := range []results.Rates{x.Overall, x.ByGroup[0].Rates} {
			want := []results.Rates{y.Overall, y.ByGroup[0].Rates}[k]
			for name, r := range want {
				if got := rates[name]; got.Value != r.Value || got.Rows >= r.Rows || got.Interval[0] > r.Interval[0] || got.Interval[1] < r.Interval[1] {
					t.Errorf("%s is %+v, want %+v with a wider interval", name, got, r)
				}
			}
		}
		if classes > 2 {
			continue
		}
		positive := func(labels []int) (list []bool) {
			for _, y := range labels {
				list = append(list, y == 1)
			}
			return list
		}
		if got, want := ROC(scores, positive(a.Labels), a.Weights, 100), ROC(again, positive(b.Labels), nil, 100); !slices.Equal(got, want) {
			t.Errorf("the ROC curve is %v, want %v", got, want)
		}
		var areas Areas
		got, _ := areas.AUC(scores, a.Labels, a.Weights)
		if want, _ := areas.AUC(again, b.Labels, nil); math.Abs(got-want) > 1e-15 {
			t.Errorf("the area is %v, want %v", got, want)
		}
	}
	if _, err := Count(Rows{Labels: []int{0, 1}, Decisions: []int{0, 1}, Weights: []float64{1}}, []string{"a", "b"}, nil, false); err == nil {
		t.Error("too few weights: no error")
	}
}
