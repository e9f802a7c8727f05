package step

import (
	"math"

	"ppal/trainer/problem"
)

// secantRows returns the number of rows of A: one for each constraint if the step of p has a secant
// Jacobian, else 0. suited says that p has no hidden layers, or a whitened first layer.
func secantRows(p problem.Problem, suited bool) int {
	n, m := p.Dims()
	if suited && p.Space().Regularizer.Kind != problem.Ball && m <= mostRows && n <= mostLength {
		return m
	}
	return 0
}

// Secant reports whether the step has a secant Jacobian, so that Refresh usually costs no pass.
func (q *QuasiNewton) Secant() bool { return q.jacobian.on() }

// estimate replaces d by the gradient for other weights, by A.
func (q *QuasiNewton) estimate(weights []float64) {
	coefficients, vectors := []float64{1}, []problem.Vector{q.d}
	for k, v := range q.jacobian.to(weights) {
		coefficients, vectors = append(coefficients, v), append(vectors, q.jacobian.rows[k])
	}
	q.space.Sum(q.d, coefficients, vectors)
}

// distrust makes the next step compute the gradient if d is an estimate.
func (q *QuasiNewton) distrust() {
	if q.estimated {
		q.current, q.known = false, false
	}
}

// constrained returns the coordinates of the model's step with the constraints, for phi and g(x).
// It gives the model the pairs of the Lagrangian.
func (q *QuasiNewton) constrained(phi Augmented, g []float64, pairs [][2]int) (d []float64, decrease float64, cut, ok bool) {
	m, row := &q.model, 2*len(pairs) // basis has the rows of A after the pairs, then d and x
	changes := make([][]float64, 0, len(q.order))
	for _, slot := range q.order {
		changes = append(changes, q.jacobian.changes[slot])
	}
	m.correct(pairs, changes, row, gradientCurvature*math.Sqrt(q.gram.At(gradientRow, gradientRow))/q.radius)
	p := &q.pieces
	p.begin(m, phi.Penalty)
	for j, l := range phi.Multipliers {
		p.add(m.direction(row+j), l+phi.Penalty*g[j])
	}
	p.g, p.x, p.ridge = m.direction(row+len(g)), m.direction(row+len(g)+1), q.ridge()
	decrease, cut, ok = p.solve(q.radius)
	return p.d, decrease, cut, ok
}
