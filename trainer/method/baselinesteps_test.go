package method_test

import (
	"math"
	"testing"

	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

func TestGDPAStepsByHand(t *testing.T) {
	alpha := func(k int) float64 { return 0.03 / math.Cbrt(float64(k+1)) }
	gradient := step.Settings{Kind: step.Gradient}
	for _, test := range []struct {
		name string
		m    method.GDPA
		hand handStep
		beta func(k int) float64
	}{
		{"published", method.GDPA{}, handStep{fixed: true, schedule: alpha}, nil},
		{"constant", method.GDPA{ConstantStep: true}, handStep{fixed: true, eta: 0.03}, nil},
		{"geometric", method.GDPA{Ratio: 1.5}, handStep{fixed: true, schedule: alpha},
			func(k int) float64 { return 2 * math.Pow(1.5, float64(k)) }},
		{"capped rule", method.GDPA{Primal: &gradient}, handStep{schedule: alpha}, nil},
		{"automatic", method.GDPA{Primal: &gradient, Automatic: true}, handStep{}, nil},
		{"adam", method.GDPA{Primal: &step.Settings{Kind: step.Adam}}, handStep{kind: step.Adam, schedule: alpha}, nil},
		{"nesterov", method.GDPA{Primal: &step.Settings{}, Automatic: true}, handStep{kind: step.Nesterov, momentum: 0.99}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s, beta := test.m, test.hand, test.beta
			m.Step, m.Penalty, m.Perturbation = 0.03, 2, 0.2
			if s.kind == step.Auto {
				s.kind = step.Gradient
			}
			s.c = 2 // beta_0
			if beta == nil {
				beta = func(k int) float64 { return 2 * math.Cbrt(float64(k+1)) }
			}
			var lambda [2]float64
			ascend := func(x [2]float64, k int) (y [2]float64) {
				for j, g := range testkit.HandH(x) {
					y[j] = math.Max(0, 0.8*lambda[j]+beta(k)*g)
				}
				return y
			}
			compare(t, handProblem(t, testkit.HandFunctions()), &m, handSteps, func(x [2]float64) ([2]float64, []float64) {
				k := s.k
				x = s.move(x, ascend(x, k))
				lambda = ascend(x, k)
				return x, lambda[:]
			})
		})
	}
}

// plain is a baseline by hand: the weights of its step at x_k, and its dual update at x_{k+1}.
type plain struct {
	name    string
	make    func(set step.Settings) trainer.Method
	c       float64
	weights func(k int, lambda, g [2]float64) [2]float64
	dual    func(k int, lambda, g [2]float64) [2]float64
}

func TestPlainReferenceStepsByHand(t *testing.T) {
	positive := func(c float64, g [2]float64) (w [2]float64) {
		for j, v := range g {
			w[j] = math.Max(0, c*v)
		}
		return w
	}
	augmented := func(_ int, lambda, g [2]float64) (w [2]float64) {
		for j, v := range g {
			w[j] = math.Max(0, lambda[j]+3*v)
		}
		return w
	}
	var smoothed [2]float64 // of nuPI; a run begins at k = 0
	for _, method := range []plain{
		{"unconstrained", func(s step.Settings) trainer.Method { return &method.Unconstrained{Primal: s} }, 0,
			func(int, [2]float64, [2]float64) [2]float64 { return [2]float64{} }, nil},
		{"penalty", func(s step.Settings) trainer.Method {
			return &method.Penalty{Primal: s, Coefficient: 3, Growth: 4, Period: 2}
		}, 3,
			func(k int, _, g [2]float64) [2]float64 { return positive(3*math.Pow(4, float64(k/2)), g) },
			func(k int, _, g [2]float64) [2]float64 { return positive(3*math.Pow(4, float64((k+1)/2)), g) }},
		{"gda", func(s step.Settings) trainer.Method { return &method.GDA{Primal: s, DualStep: 0.4} }, 0,
			func(_ int, lambda, _ [2]float64) [2]float64 { return lambda },
			func(_ int, lambda, g [2]float64) (next [2]float64) {
				for j, v := range g {
					next[j] = math.Max(0, lambda[j]+0.4*v)
				}
				return next
			}},
		{"nupi", func(s step.Settings) trainer.Method {
			return &method.NuPI{Primal: s, Integral: 0.4, Proportional: 3, Memory: 0.25}
		}, 0,
			func(_ int, lambda, _ [2]float64) [2]float64 { return lambda },
			func(k int, lambda, g [2]float64) (next [2]float64) {
				for j, v := range g {
					if k == 0 {
						smoothed[j] = v
					}
					change := 0.75 * (v - smoothed[j])
					next[j] = math.Max(0, lambda[j]+0.4*v+3*change)
					smoothed[j] += change
				}
				return next
			}},
		{"alm", func(s step.Settings) trainer.Method { return &method.ALM{Primal: s, Penalty: 3, Inner: 2} }, 3,
			augmented,
			func(k int, lambda, g [2]float64) [2]float64 {
				if (k+1)%2 == 0 {
					return augmented(k, lambda, g)
				}
				return lambda
			}},
	} {
		for name, kind := range handKinds() {
			t.Run(method.name+" "+name, func(t *testing.T) {
				s := kind.hand
				s.c = method.c
				var lambda [2]float64
				compare(t, handProblem(t, testkit.HandFunctions()), method.make(kind.set), handSteps, func(x [2]float64) ([2]float64, []float64) {
					k := s.k
					x = s.move(x, method.weights(k, lambda, testkit.HandH(x)))
					if method.dual == nil {
						return x, nil
					}
					lambda = method.dual(k, lambda, testkit.HandH(x))
					return x, lambda[:]
				})
			})
		}
	}
}

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
