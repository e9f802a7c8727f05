package step

import (
	"math"

	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

// descent is the proximal gradient step, with or without ramped Nesterov momentum. With d_k = grad
// f + J^T w_k and v_0 = 0:
//
//	v = b_k v + d_k,   x+ = prox_{e_k c_k r}(x - e_k (d_k + b_k v)).
//
// The step size e_k is fixed or follows the curvature rule; Settings.momentum returns b_k. The
// factor c_k is the value of d_k + b_k v if d_k = 1 in all iterations. At a fixed point d_k + b_k v
// is c_k d. Therefore only a proximal map of length e_k c_k has the KKT points as its fixed points.
// For projections the length makes no difference. With b_k = 0 the step is x+ = prox_{e_k r}(x -
// e_k d_k), Moon et al., (12).
type descent struct {
	set    Settings
	k      int            // number of moves
	d, v   problem.Vector // the direction and the velocity; the plain step does not use v
	length float64        // value of v if all d_k = 1
	rule   curvature
	step   float64 // e_k; NaN before the first move
}

// newDescent returns the step for p, with zero velocity.
func newDescent(s Settings, p problem.Problem) *descent {
	t := &descent{set: s, d: p.Space().New(), step: math.NaN()}
	if s.Kind == Nesterov {
		t.v = p.Space().New()
	}
	if !s.Fixed {
		t.rule = newCurvature(p)
	}
	return t
}

// Last implements Step.
func (t *descent) Last() float64 { return t.step }

// Move implements Step.
func (t *descent) Move(p problem.Problem, at *problem.Point, dir Direction) error {
	if err := at.Backward(p, dir.Coefficients, t.d); err != nil {
		return err
	}
	last := t.step
	if err := t.size(p, at, dir); err != nil {
		return err
	}
	b := t.set.momentum(t.k, last, t.step)
	if b > 0 {
		t.length = b*t.length + 1
	}
	p.Space().Descend(problem.Descent{Direction: t.d, Velocity: t.v, Step: t.step, Momentum: b, Length: t.step * (1 + b*t.length)})
	t.d = t.rule.remember(t.d)
	t.rule.descended()
	t.k++
	return nil
}

// size sets e_k.
func (t *descent) size(p problem.Problem, at *problem.Point, dir Direction) (err error) {
	eta := t.set.Eta
	if dir.ScheduledStep > 0 {
		eta = dir.ScheduledStep
	}
	if t.set.Fixed {
		t.step = eta
		return nil
	}
	t.rule.alert = dir.Follows && t.set.Kind == Nesterov
	scale := 1 + vec.Norm1(dir.Coefficients[1:])
	if t.k == 0 {
		t.step, err = t.rule.first(p, at, t.d, dir, scale, eta)
		return err
	}
	t.rule.observe(t.k, t.d, scale)
	t.step = t.rule.step(eta) / scale
	return nil
}

// VisitState implements Step.
func (t *descent) VisitState(v problem.StateVisitor) {
	v.Count("primal.k", &t.k)
	v.Number("primal.step", &t.step)
	if t.set.Kind == Nesterov {
		v.Vector("primal.momentum", t.v)
		v.Number("primal.length", &t.length)
	}
	if !t.set.Fixed {
		t.rule.visitState(v)
	}
}
