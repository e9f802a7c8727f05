package step

import (
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// plan is a planned step.
type plan struct {
	vectors      []problem.Vector // whose combination is z
	coefficients []float64
	decrease     float64 // predicted
	norm         float64 // ||x||
	longest      bool    // Delta is at its largest and cuts z
	sphere       bool    // x + z is on the sphere of the ball
	inside       bool    // x + z is inside the ball, also after rounding
}

// Predict plans the next step. It returns the decrease of phi + r that the model predicts, and
// whether the trust region cuts the step. at holds f and g of the last Forward at the iterate; if
// the passes rise to another grade, at then holds the values of that grade.
func (q *QuasiNewton) Predict(p problem.Problem, at *problem.Point, phi Augmented) (decrease float64, cut bool, err error) {
	if q.stage == firstPass && q.share(1) < 1 {
		if err := q.enter(p, at, 1); err != nil {
			return 0, false, err
		}
	}
	for {
		if decrease, cut, err = q.predict(p, at, phi); err != nil {
			return 0, false, err
		}
		rises, err := q.rises(p, at, phi, decrease)
		if err != nil || !rises {
			return decrease, cut, err
		}
		if err := q.enter(p, at, q.stage+1); err != nil {
			return 0, false, err
		}
	}
}

// predict is Predict with the present accuracy of the passes.
func (q *QuasiNewton) predict(p problem.Problem, at *problem.Point, phi Augmented) (decrease float64, cut bool, err error) {
	q.plan = plan{}
	if !q.current {
		phi.Coefficients(q.coefficients[1:], at.Constraints)
		if q.estimated = q.known && q.jacobian.on(); q.estimated {
			q.estimate(q.coefficients[1:])
		} else {
			if err := at.Backward(p, q.coefficients, q.d); err != nil {
				return 0, false, err
			}
			q.scaling.gradient(q.space, q.d)
		}
		copy(q.jacobian.weights, q.coefficients[1:])
		q.products(gradientRow, q.d, q.d, q.scaling.position())
		q.current, q.known = true, true
	}
	if q.exhausted {
		return 0, false, nil
	}
	if q.age >= iterateAge {
		q.scaling.locate(q.space)
		q.products(iterateRow, q.scaling.position(), q.d, q.scaling.position())
		q.age = 0
	}
	if decrease, cut = q.solve(phi, at.Constraints); q.plan.vectors == nil {
		q.order = q.order[:0] // rounding spoils the model: begin again
		decrease, cut = q.solve(phi, at.Constraints)
	}
	if q.estimated && !(decrease > phi.noise(at.Objective, at.Constraints, q.roundoff())) {
		q.distrust() // near rounding, the step needs the true gradient
		return q.predict(p, at, phi)
	}
	return decrease, cut, q.space.Err()
}

// solve plans a step with the present pairs.
func (q *QuasiNewton) solve(phi Augmented, g []float64) (decrease float64, cut bool) {
	handles, rows := q.basis(q.d, q.scaling.position())
	gram, pairs := q.matrix(rows)
	n := len(handles)
	norm := math.Sqrt(gram.At(n-1, n-1))
	largest := q.limit * (1 + norm)
	if q.radius == 0 || q.radius > largest {
		q.radius = largest
	}
	m := &q.model
	if !m.build(gram) {
		return 0, false
	}
	var d []float64
	var sphere, ok bool
	if q.jacobian.on() && len(pairs) > 0 {
		d, decrease, cut, ok = q.constrained(phi, g, pairs)
	} else if m.take(pairs) {
		d, decrease, cut, sphere, ok = q.step(n, norm, len(pairs) > 0)
	}
	if !ok || !vec.Finite(decrease) {
		return 0, false
	}
	q.length = vec.Norm(d)
	reach := (&region{x: m.direction(n - 1), d: d}).norm(1)
	q.plan = plan{vectors: make([]problem.Vector, 0, m.rank), coefficients: m.combination(d), decrease: decrease, norm: norm,
		longest: cut && q.radius == largest, sphere: sphere, inside: reach < (1-insideMargin)*q.space.Regularizer.Radius}
	for _, i := range m.basis() {
		q.plan.vectors = append(q.plan.vectors, handles[i])
	}
	return decrease, cut
}

// step returns the coordinates of the model's step. The last two of the n vectors are the gradient
// and the iterate, which has the given norm. The step needs the eigenvectors if it has no pairs, if
// both the trust region and the ball limit it, or if something limits it and B is not positive
// definite to rounding.
func (q *QuasiNewton) step(n int, norm float64, curved bool) (d []float64, decrease float64, cut, sphere, ok bool) {
	m, ball, ridge := &q.model, 0.0, q.ridge()
	if r := q.space.Regularizer; r.Kind == problem.Ball {
		ball = math.Max(r.Radius, norm) // rounding may put x outside
	}
	if curved {
		d = make([]float64, m.rank)
		g, x := m.direction(n-2), m.direction(n-1)
		inBall := func() bool { // the minimiser over the ball is the step if it lies in the region
			decrease, sphere, ok = m.minimiseInBall(d, g, x, ball)
			return ok && vec.Norm(d) <= q.radius
		}
		near := ball > 0 && norm >= nearSphere*ball // the ball is more likely to limit the step than the region
		if near && inBall() {
			return d, decrease, false, sphere, true
		}
		decrease, cut, ok = m.minimise(d, g, x, ridge, q.radius)
		if ok && (ball == 0 || (&region{x: x, d: d}).norm(1) <= ball) {
			return d, decrease, cut, false, true
		}
		if ok && !near && inBall() {
			return d, decrease, false, sphere, true
		}
	}
	if !m.eigen() {
		return nil, 0, false, false, false
	}
	r := region{h: m.eigenvalues, g: m.rotate(n - 2), x: m.rotate(n - 1), d: make([]float64, m.rank), radius: q.radius, ball: ball, ridge: ridge}
	if !curved { // no curvature yet: descend to the end of the region
		for i := range r.h {
			r.h[i] = gradientCurvature * vec.Norm(r.g) / q.radius
		}
	}
	decrease, cut, sphere = r.solve()
	return m.unrotate(r.d), decrease, cut, sphere, true
}

// ridge returns the weight w of (w/2)||x||^2 where r is not part of the gradients.
func (q *QuasiNewton) ridge() float64 {
	if r := q.space.Regularizer; r.Kind == problem.SquaredL2 && !q.scaling.on() {
		return r.Weight
	}
	return 0
}

// insideMargin is the relative distance from the sphere beyond which x + z does not need the
// projection. It is far above the rounding errors of x and of the inner products.
const insideMargin = 1e-3

// nearSphere is the least ||x||, relative to the ball's radius, at which the step tries the ball
// before the trust region.
const nearSphere = 0.999

// gradientCurvature is the model's curvature without pairs, relative to ||d||/Delta.
const gradientCurvature = 1e-9
