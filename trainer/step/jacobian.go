package step

import (
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// jacobian is a secant approximation A of the Jacobian J of the constraints g, in the variables of
// the pairs. It needs no passes. Each trial s of a quasi-Newton step measures the changes of g, and
// of the gradient d = grad f + J^T w:
//
//	A+ s = g(x + s) - g(x),   A+ = A + r rho^T/(rho^T s),
//	r = g(x + s) - g(x) - A s,   rho = d+ - d - A^T (w+ - w).
//
// rho is the error of A in the measured change of d, with the change of grad f. This is the
// two-sided rank-one update (TR1) of Griewank and Walther, On constrained optimization by adjoint
// based quasi-Newton methods, Optim. Methods Softw. 17, 2002, for the Jacobian of (f, g) and the
// adjoint (1, w+), where the row of f is d - A^T w at each iterate. If rho and s are nearly
// orthogonal, s replaces rho (Broyden 1965).
//
// The rows of A are vectors on the device. They are part of the span of the step.
type jacobian struct {
	rows    []problem.Vector // A; nil: no approximation
	rho     problem.Vector
	weights []float64            // w of the gradient d
	changes [pairsMost][]float64 // w+ - w of the pairs, by slot
	dw      []float64            // the last change of w
}

// mostRows is the largest number of constraints with a secant Jacobian. Each step multiplies the
// rows by all vectors of the span.
const mostRows = 32

// leastSlope is the least cosine of rho and s for which A changes along rho.
const leastSlope = 1e-2

func newJacobian(space *problem.Space, m int) jacobian {
	j := jacobian{rho: space.New(), weights: make([]float64, m), dw: make([]float64, m)}
	for range m {
		j.rows = append(j.rows, space.New())
	}
	for slot := range j.changes {
		j.changes[slot] = make([]float64, m)
	}
	return j
}

// on reports whether there is an approximation.
func (j *jacobian) on() bool { return j.rows != nil }

// free frees the vectors.
func (j *jacobian) free(space *problem.Space) {
	if !j.on() {
		return
	}
	for _, v := range append(j.rows, j.rho) {
		space.Free(v)
	}
}

// to sets dw to the change of w to other weights.
func (j *jacobian) to(weights []float64) []float64 {
	for k, w := range weights {
		j.dw[k] = w - j.weights[k]
	}
	return j.dw
}

// visit shows the state to v, which saves or restores it.
func (j *jacobian) visit(v problem.StateVisitor, order []int) {
	if !j.on() {
		return
	}
	v.Numbers("quasi.weights", j.weights)
	for k, row := range j.rows {
		v.Vector(fmt.Sprintf("quasi.row%d", k), row)
	}
	for k, slot := range order {
		v.Numbers(fmt.Sprintf("quasi.weights-change%d", k), j.changes[slot])
	}
}

// learn updates A by the pair in the slot, with the change dg of g and the weights w+ of the trial.
// x, d and trial are as in add.
func (q *pairs) learn(slot int, dg, weights []float64, x, d, trial problem.Vector) {
	j, y := &q.jacobian, pairsMost+slot
	dw := j.to(weights)
	copy(j.changes[slot], dw)
	ss, slope, square := q.gram.At(slot, slot), q.gram.At(y, slot), q.gram.At(y, y)
	coefficients, vectors := []float64{1}, []problem.Vector{q.y[slot]}
	for k, v := range dw {
		row := firstRow + k
		slope -= v * q.gram.At(row, slot)
		square -= 2 * v * q.gram.At(row, y)
		for l, other := range dw {
			square += v * other * q.gram.At(row, firstRow+l)
		}
		coefficients, vectors = append(coefficients, -v), append(vectors, j.rows[k])
	}
	direction, divisor := q.s[slot], ss
	if math.Abs(slope) > leastSlope*math.Sqrt(math.Max(0, square)*ss) {
		direction, divisor = j.rho, slope
		q.space.Sum(j.rho, coefficients, vectors)
	}
	if !(ss > 0) {
		return
	}
	for k, row := range j.rows {
		q.space.Combine(row, 1, row, (dg[k]-q.gram.At(firstRow+k, slot))/divisor, direction)
	}
	q.measureRows(slot, x, d, trial)
}

// measureRows computes the rows of A in gram.
func (q *pairs) measureRows(slot int, x, d, trial problem.Vector) {
	var handles []problem.Vector
	var rows []int
	for _, s := range append([]int{slot}, q.order...) {
		handles, rows = append(handles, q.s[s], q.y[s]), append(rows, s, pairsMost+s)
	}
	handles, rows = append(handles, d, x, trial), append(rows, gradientRow, iterateRow, trialRow)
	for k, row := range q.jacobian.rows {
		handles, rows = append(handles, row), append(rows, firstRow+k)
	}
	q.multiply(handles, rows, len(q.jacobian.rows))
}
