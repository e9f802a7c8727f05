package loader

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestExactWeights sums weights in two orders: the sums are equal, and each weight keeps its value
// to the rounding of the total. Whole numbers and weights of a power of two stay as they are.
func TestExactWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, factor := range []float64{1, 0.37, 1e-90, 1e90} {
		weights := make([]float64, 3000)
		for i := range weights {
			if weights[i] = factor * math.Exp(5*rng.NormFloat64()); i%7 == 0 {
				weights[i] = 0
			}
		}
		exact := ExactWeights(weights)
		forward, total := 0.0, 0.0
		for _, w := range exact {
			forward += w
		}
		backward := 0.0
		for _, i := range rng.Perm(len(exact)) {
			backward += exact[i]
		}
		for i, w := range weights {
			total += w
			if (w == 0) != (exact[i] == 0) || math.Abs(exact[i]-w) > 1e-15*forward {
				t.Fatalf("weight %v became %v", w, exact[i])
			}
		}
		if forward != backward || math.Abs(forward-total) > 1e-12*total {
			t.Errorf("factor %v: the sums are %v and %v, want about %v", factor, forward, backward, total)
		}
	}
	for _, weights := range [][]float64{{1, 2, 3, 0}, {1e12, 1, 7}, {0.25, 0.5, 8}} {
		if got := ExactWeights(weights); !slices.Equal(got, weights) {
			t.Errorf("%v became %v", weights, got)
		}
	}
	if got := ExactWeights([]float64{1e30, 1e-30}); got[1] <= 0 {
		t.Errorf("a small weight became %v", got[1])
	}
	if got := ExactWeights([]float64{0, 0}); got != nil {
		t.Errorf("zeros became %v", got)
	}
}
