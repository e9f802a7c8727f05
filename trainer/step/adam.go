package step

import (
	"math"

	"ppal/trainer/problem"
)

// adam is the Adam step (Kingma and Ba, "Adam", ICLR 2015) along d_k = grad f + J^T w_k. The
// proximal map of r with the same step size follows. For an indicator r, the proximal map is the
// Euclidean projection, not the proximal map of Adam's metric: a fixed point on the boundary may
// fail to be a KKT point. No theorem of the paper covers Adam; the certificate measures the result.
type adam struct {
	step    float64        // the setting eta
	last    float64        // the step size of the last move; NaN before the first move
	t       int            // number of moves
	d, m, v problem.Vector // the direction d_k, and the first and second moments
}

// DefaultAdamStep is the default of Settings.Eta with Adam.
const DefaultAdamStep = 3e-3

// newAdam returns the Adam step for p, with zero moments.
func newAdam(s Settings, p problem.Problem) *adam {
	a := &adam{step: s.Eta, last: math.NaN(), d: p.Space().New(), m: p.Space().New(), v: p.Space().New()}
	if a.step == 0 {
		a.step = DefaultAdamStep
	}
	return a
}

// Last implements Step.
func (a *adam) Last() float64 { return a.last }

// Move implements Step.
func (a *adam) Move(p problem.Problem, at *problem.Point, dir Direction) error {
	if err := at.Backward(p, dir.Coefficients, a.d); err != nil {
		return err
	}
	a.t++
	a.last = a.step
	if dir.ScheduledStep > 0 {
		a.last = dir.ScheduledStep
	}
	p.Space().Adam(a.d, a.m, a.v, a.last, a.t)
	return nil
}

// VisitState implements Step.
func (a *adam) VisitState(v problem.StateVisitor) {
	v.Count("adam.t", &a.t)
	v.Number("adam.step", &a.last)
	v.Vector("adam.first", a.m)
	v.Vector("adam.second", a.v)
}
