package rates

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The area counts all pairs of a positive and a negative row. It depends only on the order of the
// scores.
func TestAUC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var areas Areas
	for range 200 {
		n := 2 + rng.IntN(30)
		scores, turned, labels := make([]float64, n), make([]float64, n), make([]int, n)
		for i := range scores {
			scores[i] = float64(rng.IntN(8)) // with ties
			turned[i] = -math.Exp(scores[i])
			labels[i] = 1 - 2*rng.IntN(2)
		}
		labels[0], labels[1] = 1, -1
		var won, pairs float64
		for i, y := range labels {
			for j, z := range labels {
				if y != 1 || z != -1 {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[j]:
					won++
				case scores[i] == scores[j]:
					won += 0.5
				}
			}
		}
		if got, ok := areas.AUC(scores, labels, nil); !ok || got != won/pairs {
			t.Errorf("%v %v: %g, want %g", scores, labels, got, won/pairs)
		}
		if got, ok := areas.AUC(turned, labels, nil); !ok || math.Abs(got-(1-won/pairs)) > 1e-15 {
			t.Errorf("falling scores: %g, want %g", got, 1-won/pairs)
		}
	}
}
