package step

import (
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// Try takes the planned step, or leaves the iterate and shrinks the region. It reports whether the
// iterate moved. at then holds f and g at the iterate.
func (q *QuasiNewton) Try(p problem.Problem, at *problem.Point, phi Augmented) (moved bool, err error) {
	if !(q.plan.decrease > 0) || q.length <= leastMove*q.space.Roundoff()*(1+q.plan.norm) {
		q.giveUp()
		return false, nil
	}
	f := at.Objective
	copy(q.g, at.Constraints)
	q.space.Combine(q.start, 1, problem.Iterate, 0, problem.Iterate)
	q.scaling.move(q.space, q.plan.coefficients, q.plan.vectors, q.trial)
	if q.plan.sphere { // the certificate needs x on the sphere to rounding
		norm := math.Sqrt(q.space.Dot(problem.Iterate, problem.Iterate))
		q.space.Combine(problem.Iterate, q.space.Regularizer.Radius/norm, problem.Iterate, 0, problem.Iterate)
	}
	if !q.plan.inside { // else the projection would change nothing, and costs a pass
		q.space.Project()
	}
	first := q.stage == firstPass
	if first {
		q.stage = firstPass + 1
		q.grade()
	}
	q.sampling.steps++
	if err := at.Forward(p); err != nil {
		return false, err
	}
	if !vec.Finite(at.Objective) || vec.FirstNonFinite(at.Constraints) >= 0 {
		q.radius = probeShrink * q.length
		q.distrust()
		return false, q.back(p, at, f, first)
	}
	phi.Coefficients(q.coefficients[1:], at.Constraints)
	if err := at.Backward(p, q.coefficients, q.trial); err != nil {
		return false, err
	}
	q.scaling.gradient(q.space, q.trial)
	slot := q.free()
	value, ridge := phi.Value(f, q.g), q.scaling.moved(q.space, q.s[slot], q.start)
	q.add(slot, q.scaling.origin(q.start), q.d, q.trial)
	if q.jacobian.on() {
		q.learn(slot, q.g, at.Constraints, q.coefficients[1:], q.roundoff(), q.scaling.origin(q.start), q.d, q.trial)
	}
	decrease := value - phi.Value(at.Objective, at.Constraints) + ridge
	actual := q.actual(decrease, phi.noise(f, q.g, q.roundoff()), slot)
	parabola := q.parabola(decrease, slot)
	q.resize(actual, value, parabola)
	q.keep(slot)
	if !(actual > leastRatio*q.plan.decrease) {
		q.distrust()
		return false, q.back(p, at, f, first)
	}
	q.estimated = false
	copy(q.jacobian.weights, q.coefficients[1:])
	q.advance(slot)
	q.scaling.advance(q.space, q.s[slot])
	q.d, q.trial = q.trial, q.d
	q.restarted = false
	return true, q.space.Err()
}

// giveUp ends the search until the multipliers change. Before, the search begins again once without
// pairs, because the pairs of steps near the rounding of x mislead the model.
func (q *QuasiNewton) giveUp() {
	q.exhausted = q.restarted || len(q.order) == 0
	q.restarted, q.order, q.radius = true, q.order[:0], restartRadius*(1+q.plan.norm)
}

// back restores the iterate, and f and g at it, without a pass. After the first trial, f and g
// are from an accurate pass: a coarse pass replaces them, as in a resumed run.
func (q *QuasiNewton) back(p problem.Problem, at *problem.Point, f float64, first bool) error {
	q.space.Combine(problem.Iterate, 1, q.start, 0, q.start)
	if first && q.graded != nil {
		return at.Forward(p)
	}
	at.Restore(f, q.g)
	return q.space.Err()
}
