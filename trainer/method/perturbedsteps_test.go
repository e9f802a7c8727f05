package method_test

import (
	"math"
	"testing"

	"ppal/internal/testkit"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// handPerturbed is the state of PPALA and PLADA by hand.
type handPerturbed struct {
	alpha, rho, tau float64
	k               int
	u, lambda, mu   [2]float64
}

func newHandPerturbed(g [2]float64, slack float64) handPerturbed {
	s := handPerturbed{alpha: 5, rho: 5 / (1 + 5*0.25)}
	s.tau = slack / s.rho
	for j := range g {
		s.u[j] = math.Max(0, -g[j])
	}
	return s
}

// step computes mu+ and lambda+ from g at x+ and from u+. The scalar s is the fraction of lambda -
// mu that is added to mu.
func (h *handPerturbed) step(s float64, g [2]float64) {
	for j := range g {
		h.mu[j] += s * (h.lambda[j] - h.mu[j])
		h.lambda[j] = h.mu[j] + h.rho*(g[j]+h.u[j])
	}
	h.k++
}

func (h *handPerturbed) part(p float64) float64 {
	d := minus(h.lambda, h.mu)
	return 1 / (p*float64(h.k) + 1) / (d[0]*d[0] + d[1]*d[1] + 1)
}

// handP returns the default of p. It depends on the primal step: a fixed gradient step as in the
// paper or Adam, gradient steps by the curvature rule, and momentum.
func handP(s handStep) float64 {
	switch {
	case s.kind == step.Adam || s.kind == step.Gradient && s.fixed:
		return 1e-3
	case s.kind == step.Gradient:
		return 0.1
	}
	return 0.05
}

func TestPPALAStepsByHand(t *testing.T) {
	for name, kind := range handKinds() {
		t.Run(name, func(t *testing.T) {
			h, s := newHandPerturbed(testkit.HandH(handStart), 0.9/2), kind.hand
			s.c, s.swings = 2*h.rho, true
			m := &method.PPALA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: kind.set}
			compare(t, handProblem(t, testkit.HandFunctions()), m, handSteps, func(x [2]float64) ([2]float64, []float64) {
				var w [2]float64
				for j, g := range testkit.HandH(x) {
					w[j] = h.lambda[j] + h.rho*(g+h.u[j])
				}
				x = s.move(x, w)
				part := h.part(handP(s))
				for j, g := range testkit.HandH(x) {
					h.u[j] = math.Max(0, h.u[j]-h.tau*(h.lambda[j]+h.rho*(g+h.u[j])))
				}
				h.step(part, testkit.HandH(x))
				return x, h.lambda[:]
			})
		})
	}
}

func TestPLADASubgradientStepsByHand(t *testing.T) {
	for name, kind := range handKinds() {
		for _, sigma := range []float64{0, 0.01} {
			for _, box := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					constraint := func(x [2]float64) (g [2]float64) {
						for j, v := range testkit.HandH(x) {
							g[j] = math.Abs(v) - 0.1
						}
						return g
					}
					fn := testkit.HandFunctions()
					fn.Pieces = problem.Abs(0.1, 0.1)
					h, s := newHandPerturbed(constraint(handStart), 0.9/3), kind.hand
					s.c, s.swings = h.rho, true // both h are positive at the start
					m := &method.PLADA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: kind.set,
						XStep: method.Subgradient, Sigma0: sigma, BoxStep: box}
					p := handProblem(t, fn)
					compare(t, p, m, handSteps, func(x [2]float64) ([2]float64, []float64) {
						var w [2]float64 // weights on h
						for j, v := range testkit.HandH(x) {
							w[j] = h.lambda[j] * math.Copysign(1, v)
						}
						x = s.move(x, w)
						part := h.part(handP(s))
						limit := sigma / h.rho
						if box {
							part, limit = h.rho*part, sigma
						}
						if sigma > 0 {
							part = math.Min(part, limit)
						}
						for j := range h.u {
							h.u[j] = math.Max(0, h.u[j]-h.tau*h.lambda[j])
						}
						h.step(part, constraint(x))
						return x, h.lambda[:]
					})
				})
			}
		}
	}
}
