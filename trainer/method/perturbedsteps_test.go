package method_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// handPerturbed is the state of PPALA and PLADA by hand.
type handPerturbed struct {
	rho, tau      float64
	u, lambda, mu [2]float64
}

func newHandPerturbed(g [2]float64, slack float64) handPerturbed {
	s := handPerturbed{rho: 5 / (1 + 5*0.25)}
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
}

// part returns the share s of mu's step after k moves of x.
func (h *handPerturbed) part(k int, p float64) float64 {
	d := minus(h.lambda, h.mu)
	return 1 / (p*float64(k-1) + 1) / (d[0]*d[0] + d[1]*d[1] + 1)
}

// handP returns the default of p. It depends on the primal step: a fixed gradient step as in the
// paper or Adam, gradient steps by the curvature rule, and momentum.
func handP(s step.Settings) float64 {
	switch {
	case s.Kind == step.Adam || s.Kind == step.Gradient && s.Fixed:
		return 1e-3
	case s.Kind == step.Gradient:
		return 0.1
	}
	return 0.05
}

func TestPPALAStepsByHand(t *testing.T) {
	for name, set := range handKinds() {
		t.Run(name, func(t *testing.T) {
			h, s := newHandPerturbed(testkit.HandH(handStart), 0.9/2), newHandStep(t, testkit.HandFunctions(), ofKind(set))
			m := &method.PPALA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: set}
			compare(t, handProblem(t, testkit.HandFunctions()), m, handSteps, func(x [2]float64) ([2]float64, []float64) {
				var w [2]float64
				for j, g := range testkit.HandH(x) {
					w[j] = h.lambda[j] + h.rho*(g+h.u[j])
				}
				x = s.move(t, w, step.Demand{PenaltyCurvature: 2 * h.rho, Follows: true})
				part := h.part(s.k, handP(set))
				for j, g := range testkit.HandH(x) {
					h.u[j] = math.Max(0, h.u[j]-h.tau*(h.lambda[j]+h.rho*(g+h.u[j])))
				}
				h.step(part, testkit.HandH(x))
				return x, h.lambda[:]
			})
		})
	}
}

func TestPLADAStepsByHand(t *testing.T) {
	const inner = 7
	eps := [2]float64{0.1, 2} // the second constraint is inactive at the start
	constraint := func(x [2]float64) (g [2]float64) {
		for j, v := range testkit.HandH(x) {
			g[j] = math.Abs(v) - eps[j]
		}
		return g
	}
	fn := testkit.HandFunctions()
	fn.Pieces = problem.Abs(eps[:]...)
	for name, set := range handKinds() {
		steps := map[method.XStep]func(p problem.Problem) (step.Step, error){method.Subgradient: ofKind(set)}
		if set.Kind != step.Adam {
			steps[method.ProxLinear] = func(p problem.Problem) (step.Step, error) { return step.NewProxLinear(set, p) }
		}
		if set.Kind == step.Gradient {
			steps[method.Inner] = func(p problem.Problem) (step.Step, error) { return step.NewInner(set, inner, p) }
		}
		for x, newStep := range steps {
			for _, sigma := range []float64{0, 0.01} {
				for _, box := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, x-step %d", name, x), func(t *testing.T) {
						h, s := newHandPerturbed(constraint(handStart), 0.9/3), newHandStep(t, fn, newStep)
						m := &method.PLADA{Perturbation: method.Perturbation{Alpha: 5, Beta: 0.25}, Primal: set,
							XStep: x, InnerSteps: inner, Sigma0: sigma, BoxStep: box}
						compare(t, handProblem(t, fn), m, handSteps, func([2]float64) ([2]float64, []float64) {
							x := s.move(t, h.lambda, step.Demand{PenaltyCurvature: h.rho, Follows: true})
							part, limit := h.part(s.k, handP(set)), sigma/h.rho
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
}

// The inner step subtracts x_k from y before it divides by e. Two separate quotients would overflow
// float32 here, and would lose digits in other cases.
func TestInnerStepDividesTheDifference(t *testing.T) {
	fn := problem.Functions{N: 1, F: func(x []float64) float64 { return x[0] }, Gradient: func(dst, _ []float64) { dst[0] = 1 }}
	m := &method.PLADA{XStep: method.Inner, Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1e-10}}
	p := testkit.NewNarrow(t, fn, []float64{1e30})
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 3}))(t)
	if x := testkit.Iterate(p)[0]; math.Abs(x/1e30-1) > 1e-6 {
		t.Errorf("x = %v, want 1e30 but for rounding", x)
	}
}

// The order of the pieces of |h| - eps does not matter.
func TestOrderOfPieces(t *testing.T) {
	run := func(pieces []problem.Piece) []float64 {
		fn := testkit.HandFunctions()
		fn.Pieces = pieces
		p := handProblem(t, fn)
		require.Value(trainer.Train(context.Background(), p, &method.PLADA{}, trainer.Settings{Iterations: 40}))(t)
		return testkit.Iterate(p)
	}
	for _, eps := range []float64{0, 0.1, 2} {
		pieces := problem.Abs(eps, eps/2)
		want := run(pieces)
		other := slices.Clone(pieces)
		other[0], other[1], other[2], other[3] = pieces[1], pieces[0], pieces[3], pieces[2]
		if got := run(other); testkit.Distance(got, want) > 1e-9 {
			t.Errorf("eps = %v: x = %v, in the other order %v", eps, got, want)
		}
	}
}
