package step

import (
	"math"

	"ppal/internal/vec"
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
	away   bool    // the device, not the host, holds the rule's state, step and length
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
func (t *descent) Last() float64 {
	t.recall()
	return t.step
}

// Move implements Step.
func (t *descent) Move(p problem.Problem, at *problem.Point, dir Direction) error {
	if err := at.Backward(p, dir.Coefficients, t.d); err != nil {
		return err
	}
	if sized := p.Space().Sized(); sized != nil && t.rule.on && t.k > 0 {
		t.descendSized(sized, p.Space().Regularizer, dir)
		return nil
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

// descendSized finishes Move, after Backward, on a device that computes the rule.
func (t *descent) descendSized(sized problem.SizedVectors, r problem.Regularizer, dir Direction) {
	d := problem.SizedDescent{Direction: t.d, Velocity: t.v, Ramp: t.set.ramp(t.k), Cap: t.eta(dir)}
	if !t.away {
		d.Start = &problem.Sizing{Step: t.step, Length: t.length}
	}
	t.rule.alert = t.alert(dir)
	t.rule.describe(&d, t.k, t.scale(dir))
	sized.DescendSized(&d, r)
	t.away = true
	t.d = t.rule.remember(t.d)
	t.rule.descended()
	t.k++
}

// recall reads the state that the device holds.
func (t *descent) recall() {
	if !t.away {
		return
	}
	s := t.rule.space.Sized().Sizing()
	t.rule.restore(&s)
	t.step, t.length, t.away = s.Step, s.Length, false
}

// eta returns the cap of the step size, or the size of a fixed step.
func (t *descent) eta(dir Direction) float64 {
	if dir.ScheduledStep > 0 {
		return dir.ScheduledStep
	}
	return t.set.Eta
}

// alert reports whether the rule raises l when a swing begins.
func (t *descent) alert(dir Direction) bool { return dir.Follows && t.set.Kind == Nesterov }

// scale returns n_k.
func (t *descent) scale(dir Direction) float64 { return 1 + vec.Norm1(dir.Coefficients[1:]) }

// size sets e_k.
func (t *descent) size(p problem.Problem, at *problem.Point, dir Direction) (err error) {
	eta := t.eta(dir)
	if t.set.Fixed {
		t.step = eta
		return nil
	}
	t.rule.alert = t.alert(dir)
	scale := t.scale(dir)
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
	t.recall()
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
