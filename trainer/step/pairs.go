package step

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// pairs are the last pairs of moves s = x+ - x and gradient changes y = d+ - d of a quasi-Newton
// step, on the device, with the inner products of the pairs, of the gradient d and of the iterate x
// on the host.
//
// A step adds the rows of s, of y and of the new gradient d+ to the inner products. One pass over
// the memory of the pairs multiplies s and d+ by all vectors. The row of y is the row of d+ minus
// the row of d; if the difference cancels, a separate pass computes the row of y. The row of the
// new iterate is the row of x plus the row of s; every 10 steps a pass computes the row of x anew.
// With a secant Jacobian A, another pass computes its rows in each step.
type pairs struct {
	space *problem.Space
	s, y  []problem.Vector // by slot
	order []int            // slots of the pairs, oldest first
	gram  *mat.SymDense    // rows: s by slot, y by slot, then d, x, d+ and the rows of A
	part  *mat.SymDense    // the last result of matrix
	age   int              // moves since the products of x were computed from x

	jacobian jacobian
}

const (
	pairsMost   = 20
	gradientRow = 2 * pairsMost // of d
	iterateRow  = gradientRow + 1
	trialRow    = gradientRow + 2 // of d+
	firstRow    = gradientRow + 3 // of the first row of A
	// iterateAge is the largest age. The row of x gains the rounding error of x+ - x with each
	// move.
	iterateAge = 10
	// leastChange is the least ||y||^2/(||d||^2 + ||d+||^2) for which y's row is a difference. The
	// difference has a relative error of 1e-16/leastChange in y.y.
	leastChange = 1e-4
	leastCosine = 1e-8 // of s and y in a pair
)

// newPairs returns no pairs. rows is the number of rows of A.
func newPairs(space *problem.Space, rows int) pairs {
	q := pairs{space: space, gram: mat.NewSymDense(firstRow+rows, nil), age: iterateAge}
	if rows > 0 {
		q.jacobian = newJacobian(space, rows)
	}
	return q
}

// basis returns the moves, the gradient changes, the rows of A, d and x, and their rows in gram.
func (q *pairs) basis(d, x problem.Vector) (handles []problem.Vector, rows []int) {
	most := 2*len(q.order) + len(q.jacobian.rows) + 5 // the callers append up to three
	handles, rows = make([]problem.Vector, 0, most), make([]int, 0, most)
	for _, slot := range q.order {
		handles, rows = append(handles, q.s[slot]), append(rows, slot)
	}
	for _, slot := range q.order {
		handles, rows = append(handles, q.y[slot]), append(rows, pairsMost+slot)
	}
	for k, row := range q.jacobian.rows {
		handles, rows = append(handles, row), append(rows, firstRow+k)
	}
	return append(handles, d, x), append(rows, gradientRow, iterateRow)
}

// matrix returns the inner products of the rows of basis, and the positions of each pair. The next
// call overwrites the inner products.
func (q *pairs) matrix(rows []int) (gram *mat.SymDense, positions [][2]int) {
	if q.part == nil || q.part.SymmetricDim() != len(rows) {
		q.part = mat.NewSymDense(len(rows), nil)
	}
	all, part := q.gram.RawSymmetric(), q.part.RawSymmetric() // gonum stores the upper triangle
	for i, r := range rows {
		for j := i; j < len(rows); j++ {
			part.Data[i*part.Stride+j] = all.Data[min(r, rows[j])*all.Stride+max(r, rows[j])]
		}
	}
	for k := range q.order {
		positions = append(positions, [2]int{k, len(q.order) + k})
	}
	return q.part, positions
}

// products computes the row of v, which is d or x.
func (q *pairs) products(row int, v, d, x problem.Vector) {
	handles, rows := q.basis(d, x)
	q.multiply([]problem.Vector{v}, []int{row}, handles, rows)
}

// add completes the pair of the move s from x in a slot, with the gradients d and trial, and writes
// its inner products and those of trial to gram.
func (q *pairs) add(slot int, x, d, trial problem.Vector) {
	q.space.Combine(q.y[slot], 1, trial, -1, d)

	handles, rows := q.basis(d, x)
	handles, rows = append(handles, trial, q.s[slot]), append(rows, trialRow, slot)
	last := len(handles) - 2
	q.multiply(handles[last:], rows[last:], handles, rows)
	dd, tt := q.gram.At(gradientRow, gradientRow), q.gram.At(trialRow, trialRow)
	yy := tt - 2*q.gram.At(trialRow, gradientRow) + dd
	y := pairsMost + slot
	if !(yy >= leastChange*(tt+dd)) {
		own := []problem.Vector{q.y[slot]}
		q.multiply(own, []int{y}, append(handles, own...), append(rows, y))
		return
	}
	for _, other := range rows {
		q.gram.SetSym(y, other, q.gram.At(trialRow, other)-q.gram.At(gradientRow, other))
	}
	q.gram.SetSym(y, y, yy)
}

// multiply computes the products of the vectors xs, whose rows in gram are xrows, with the vectors
// ys, whose rows are yrows.
func (q *pairs) multiply(xs []problem.Vector, xrows []int, ys []problem.Vector, yrows []int) {
	dots := make([]float64, len(xs)*len(ys))
	q.space.Dots(dots, xs, ys)
	for i, row := range xrows {
		for j, other := range yrows {
			q.gram.SetSym(row, other, dots[i*len(ys)+j])
		}
	}
}

// keep keeps the pair in the slot if its curvature is positive, or if there is an A and the pair is
// finite and not 0.
func (q *pairs) keep(slot int) {
	y := pairsMost + slot
	ss, sy, yy := q.gram.At(slot, slot), q.gram.At(slot, y), q.gram.At(y, y)
	if q.jacobian.on() && ss > 0 && vec.Finite(yy) || sy > leastCosine*math.Sqrt(ss*yy) {
		q.order = append(q.order, slot)
	}
}

// advance makes the trial point of the move in the slot the iterate, and trial's row the row of d.
func (q *pairs) advance(slot int) {
	_, rows := q.basis(0, 0)
	xx := q.gram.At(iterateRow, iterateRow) + 2*q.gram.At(iterateRow, slot) + q.gram.At(slot, slot)
	xd := q.gram.At(iterateRow, trialRow) + q.gram.At(slot, trialRow)
	for _, row := range rows[:len(rows)-2] {
		q.gram.SetSym(iterateRow, row, q.gram.At(iterateRow, row)+q.gram.At(slot, row))
		q.gram.SetSym(gradientRow, row, q.gram.At(trialRow, row))
	}
	q.gram.SetSym(iterateRow, iterateRow, xx)
	q.gram.SetSym(iterateRow, gradientRow, xd)
	q.gram.SetSym(gradientRow, gradientRow, q.gram.At(trialRow, trialRow))
	q.age++
}

// free returns a slot for a pair: an empty slot, or that of the oldest pair.
func (q *pairs) free() int {
	if len(q.order) == pairsMost {
		oldest := q.order[0]
		q.order = slices.Delete(q.order, 0, 1)
		return oldest
	}
	slot := 0
	for slices.Contains(q.order, slot) {
		slot++
	}
	q.grow(slot)
	return slot
}

// grow makes the vectors of the slots up to slot.
func (q *pairs) grow(slot int) {
	for len(q.s) <= slot {
		q.s, q.y = append(q.s, q.space.New()), append(q.y, q.space.New())
	}
}

// visit shows the state to v, which saves or restores it.
func (q *pairs) visit(v problem.StateVisitor) {
	count := len(q.order)
	v.Count("quasi.pairs", &count)
	v.Count("quasi.age", &q.age)
	v.Numbers("quasi.gram", q.gram.RawSymmetric().Data)
	q.order = append(q.order, make([]int, pairsMost)...)[:min(count, pairsMost)]
	for k := range q.order {
		v.Count(fmt.Sprintf("quasi.slot%d", k), &q.order[k])
		q.grow(q.order[k])
		v.Vector(fmt.Sprintf("quasi.move%d", k), q.s[q.order[k]])
		v.Vector(fmt.Sprintf("quasi.change%d", k), q.y[q.order[k]])
	}
	q.jacobian.visit(v, q.order)
}
