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
	constant := func(int) float64 { return 0.03 }
	fixed, gradient := step.Settings{Kind: step.Gradient, Eta: 0.03, Fixed: true}, step.Settings{Kind: step.Gradient}
	cubic := func(k int) float64 { return 2 * math.Cbrt(float64(k+1)) }
	for _, test := range []struct {
		name        string
		m           method.GDPA
		set         step.Settings
		alpha, beta func(k int) float64 // nil: no schedule
	}{
		{"published", method.GDPA{}, fixed, alpha, cubic},
		{"constant", method.GDPA{ConstantStep: true}, fixed, constant, cubic},
		{"geometric", method.GDPA{Ratio: 1.5}, fixed, alpha, func(k int) float64 { return 2 * math.Pow(1.5, float64(k)) }},
		{"capped rule", method.GDPA{Primal: &gradient}, gradient, alpha, cubic},
		{"automatic", method.GDPA{Primal: &gradient, Automatic: true}, gradient, nil, cubic},
		{"adam", method.GDPA{Primal: &step.Settings{Kind: step.Adam}}, step.Settings{Kind: step.Adam}, alpha, cubic},
		{"nesterov", method.GDPA{Primal: &step.Settings{}, Automatic: true}, step.Settings{Kind: step.Nesterov}, nil, cubic},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s := test.m, newHandStep(t, testkit.HandFunctions(), ofKind(test.set))
			m.Step, m.Penalty, m.Perturbation = 0.03, 2, 0.2
			var lambda [2]float64
			ascend := func(x [2]float64, k int) (y [2]float64) {
				for j, g := range testkit.HandH(x) {
					y[j] = math.Max(0, 0.8*lambda[j]+test.beta(k)*g)
				}
				return y
			}
			compare(t, handProblem(t, testkit.HandFunctions()), &m, handSteps, func(x [2]float64) ([2]float64, []float64) {
				k := s.k
				demand := step.Demand{PenaltyCurvature: test.beta(k)}
				if test.alpha != nil {
					demand.ScheduledStep = test.alpha(k)
				}
				x = s.move(t, ascend(x, k), demand)
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
		for name, set := range handKinds() {
			t.Run(method.name+" "+name, func(t *testing.T) {
				s := newHandStep(t, testkit.HandFunctions(), ofKind(set))
				var lambda [2]float64
				compare(t, handProblem(t, testkit.HandFunctions()), method.make(set), handSteps, func(x [2]float64) ([2]float64, []float64) {
					k := s.k
					x = s.move(t, method.weights(k, lambda, testkit.HandH(x)), step.Demand{PenaltyCurvature: method.c})
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

// iapialByHand is the method by hand, on the hand-made problem.
type iapialByHand struct {
	rho, c, sigma, tol float64
	smooth, t          float64
	p, w               [2]float64
	center, previous   [2]float64
	k, doubled, outer  int
	potential          float64
	started            bool
}

// lagrangian returns L_c(x; p) and stores the weights of its gradient.
func (h *iapialByHand) lagrangian(x [2]float64) float64 {
	value, g := testkit.HandF(x), testkit.HandH(x)
	for j := range g {
		h.w[j] = math.Max(0, h.p[j]+h.c*g[j])
		value += (h.w[j]*h.w[j] - h.p[j]*h.p[j]) / (2 * h.c)
	}
	return value
}

// inner returns the objective of the inner problem, divided by lambda.
func (h *iapialByHand) inner(x [2]float64) float64 {
	d := norm2(minus(x, h.center))
	return h.lagrangian(x) + h.rho/2*d*d
}

func (h *iapialByHand) step(x [2]float64) [2]float64 {
	if !h.started {
		h.started, h.center, h.previous = true, x, x
	}
	following := (1 + math.Sqrt(1+4*h.t*h.t)) / 2
	b := (h.t - 1) / following
	y := x
	for i := range y {
		y[i] += b * (x[i] - h.previous[i])
	}
	value := h.inner(y)
	d := handDirection(y, h.w)
	for i := range d {
		d[i] += h.rho * (y[i] - h.center[i])
	}
	h.smooth *= 0.9
	var next [2]float64
	for {
		along, length := 0.0, 0.0
		for i := range y {
			next[i] = y[i] - d[i]/h.smooth
			along += d[i] * (next[i] - y[i])
		}
		length = norm2(minus(next, y))
		if h.inner(next) <= value+along+h.smooth/2*length*length+1e-14*(1+math.Abs(value)) {
			break
		}
		h.smooth *= 2
	}
	residual := 2 * h.smooth * norm2(minus(next, y))
	if a, c := minus(y, next), minus(next, x); a[0]*c[0]+a[1]*c[1] > 0 {
		following = 1
	}
	h.t, h.previous = following, x
	if residual <= h.sigma*h.rho*norm2(minus(next, h.center)) {
		h.update(next)
	}
	return next
}

// update ends an outer iteration.
func (h *iapialByHand) update(z [2]float64) {
	h.outer++
	h.lagrangian(z)
	h.p = h.w
	potential := h.lagrangian(z)
	h.k++
	if h.k == 1 {
		h.potential = potential
	} else if (h.potential-potential)/float64(h.k-1) <= (1-h.sigma*h.sigma)*h.tol*h.tol/(4*h.rho) {
		h.c *= 2
		h.k = 0
		h.doubled++
	}
	h.center, h.t = z, 1
}

func TestNLIAPIALStepsByHand(t *testing.T) {
	m := &method.NLIAPIAL{Penalty: 2, Modulus: 1, Lipschitz: 3, Sigma: 0.4, Tolerance: 1}
	h := &iapialByHand{rho: 2, c: 2, sigma: 0.4, tol: 1, smooth: 3 + 2, t: 1}
	compare(t, handProblem(t, testkit.HandFunctions()), m, 40, func(x [2]float64) ([2]float64, []float64) {
		x = h.step(x)
		return x, h.p[:]
	})
	if h.outer < 3 || h.doubled < 1 {
		t.Errorf("%d outer iterations and c doubled %d times: the test needs both", h.outer, h.doubled)
	}
}
