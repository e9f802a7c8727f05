package method_test

import (
	"math"
	"testing"

	"ppal/internal/testkit"
	"ppal/trainer/method"
)

// Every step is the published one, with a given step size and with the rule's, by plain formulas.
func TestExtragradientStepsByHand(t *testing.T) {
	for name, fixed := range map[string]float64{"a given step": 0.02, "the rule": 0} {
		t.Run(name, func(t *testing.T) {
			const gamma = 0.4
			var lambda [2]float64
			e, shorter := fixed, 0
			ascended := func(at [2]float64) (w [2]float64) {
				for j, g := range testkit.HandH(at) {
					w[j] = math.Max(0, lambda[j]+gamma*e*g)
				}
				return w
			}
			moved := func(x, d [2]float64) [2]float64 { return [2]float64{x[0] - e*d[0], x[1] - e*d[1]} }
			// longest returns 0.9 ||z - z'||/||F(z) - F(z')|| of the trial step from x with e.
			longest := func(x [2]float64) float64 {
				d := handDirection(x, lambda)
				trial, w := moved(x, d), ascended(x)
				z := norm2(minus(trial, x))
				dual := norm2(minus(w, lambda)) / math.Sqrt(gamma)
				f := norm2(minus(handDirection(trial, w), d))
				g := math.Sqrt(gamma) * norm2(minus(testkit.HandH(trial), testkit.HandH(x)))
				return 0.9 * math.Hypot(z, dual) / math.Hypot(f, g)
			}
			first := true
			compare(t, handProblem(t, testkit.HandFunctions()), &method.Extragradient{Step: fixed, DualStep: gamma}, handSteps, func(x [2]float64) ([2]float64, []float64) {
				if fixed == 0 {
					if first {
						e = 1e-3 * (1 + norm2(x)) / norm2(handDirection(x, lambda))
						e, first = longest(x), false
					}
					for e > longest(x) {
						e = math.Min(e/2, longest(x))
						shorter++
					}
				}
				next := math.Min(1.2*e, longest(x))
				trial, w := moved(x, handDirection(x, lambda)), ascended(x)
				x = moved(x, handDirection(trial, w))
				lambda = ascended(trial)
				if fixed == 0 {
					e = next
				}
				return x, lambda[:]
			})
			if fixed == 0 && shorter == 0 {
				t.Error("the rule never repeated a trial step")
			}
		})
	}
}
