package step

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// jacobian is a secant approximation A of the Jacobian J of the constraints g, in the variables of
// the pairs. It needs no passes. Each trial s of a quasi-Newton step measures the changes of g, and
// of the gradient d = grad f + J^T w:
//
//	A+ s = g(x + s) - g(x),   A+ = A + r rho^T/(rho^T s),
//	r = g(x + s) - g(x) - A s,   rho = d+ - d - A^T (w+ - w).
//
// rho is the change of d minus its part from w by A. It contains the change of grad f. This is the
// two-sided rank-one update (TR1) of Griewank and Walther, On constrained optimization by adjoint
// based quasi-Newton methods, Optim. Methods Softw. 17, 2002, for the Jacobian of (f, g) and the
// adjoint (1, w+), where d - A^T w stands for grad f at each iterate. If rho and s are nearly
// orthogonal, or rho is a difference of nearly equal vectors, s replaces rho (Broyden 1965).
//
// The rows of A are vectors on the device. They are part of the span of the step.
type jacobian struct {
	rows    []problem.Vector // A; nil: no approximation
	rho     problem.Vector
	weights []float64            // w of the gradient d
	changes [pairsMost][]float64 // w+ - w of the pairs, by slot
	dw      []float64            // the last change of w
}

const (
	mostRows   = 32      // constraints: each step multiplies the rows by all vectors of the span
	mostLength = 1 << 20 // elements of x
	leastSlope = 1e-2    // the least cosine of rho and s for which A changes along rho
	leastRho   = 1e-10   // the least ||rho||^2/||y||^2: rho has rounding errors of the elements of y
)

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
	for _, v := range slices.Concat(j.rows, []problem.Vector{j.rho}) {
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

// learn updates A by the pair in the slot, whose trial has the constraints next and the weights w+.
// u is the unit roundoff of the passes; x, d and trial are as in add.
func (q *pairs) learn(slot int, g, next, weights []float64, u float64, x, d, trial problem.Vector) {
	j, y, dw := &q.jacobian, pairsMost+slot, q.jacobian.to(weights)
	copy(j.changes[slot], dw)
	ss, slope, yy := q.gram.At(slot, slot), q.gram.At(y, slot), q.gram.At(y, y)
	if !(ss > 0) {
		return
	}
	square := yy
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
	if square > leastRho*yy && math.Abs(slope) > leastSlope*math.Sqrt(square*ss) {
		direction, divisor = j.rho, slope
		q.space.Sum(j.rho, coefficients, vectors)
	}
	for k, row := range j.rows {
		r := next[k] - g[k] - q.gram.At(firstRow+k, slot)
		if math.Abs(r) > noiseRoundoffs*u*(1+math.Abs(g[k])) && vec.Finite(r/divisor) { // else rounding errors
			q.space.Combine(row, 1, row, r/divisor, direction)
		}
	}
	q.measureRows(slot, x, d, trial)
}

// measureRows computes the rows of A in gram.
func (q *pairs) measureRows(slot int, x, d, trial problem.Vector) {
	handles, rows := q.basis(d, x)
	handles, rows = append(handles, trial, q.s[slot], q.y[slot]), append(rows, trialRow, slot, pairsMost+slot)
	var own []int
	for k := range q.jacobian.rows {
		own = append(own, firstRow+k)
	}
	q.multiply(q.jacobian.rows, own, handles, rows)
}
