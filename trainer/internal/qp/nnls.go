package qp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Quadratic is y'Hy/2 + b'y, H positive semidefinite: the normal equations of a small least-squares
// problem.
type Quadratic struct {
	Hessian *mat.SymDense
	Linear  []float64
}

// New returns the quadratic of n numbers with H = 0 and b = 0.
func New(n int) *Quadratic {
	q := &Quadratic{Linear: make([]float64, n)}
	if n > 0 {
		q.Hessian = mat.NewSymDense(n, nil)
	}
	return q
}

// Slope returns the i-th component of Hy + b.
func (q *Quadratic) Slope(i int, y []float64) float64 {
	s := q.Linear[i]
	for j, v := range y {
		s += q.Hessian.At(i, j) * v
	}
	return s
}

const (
	// slopeTolerance is the rounding error of a slope, relative to the size of its terms.
	slopeTolerance = 1e-13
	singular       = 1e14 // condition number, of columns of length 1, above which the columns count as dependent
)

// NonNegative returns the minimiser over y >= 0, by the active-set method of Lawson and Hanson
// (Solving Least Squares Problems, ch. 23) on the normal equations. It leaves out a column that
// depends linearly on the columns in use, because the column cannot lower the minimum.
func (q *Quadratic) NonNegative() []float64 {
	n := len(q.Linear)
	y := make([]float64, n)
	passive, blocked := make([]bool, n), make([]bool, n)
	for range 3*n + 10 {
		next := q.steepest(y, passive, blocked)
		if next < 0 {
			break
		}
		passive[next] = true
		if q.descend(y, passive) && passive[next] {
			clear(blocked)
		} else {
			passive[next], blocked[next] = false, true
		}
	}
	return y
}

// steepest returns the coordinate with the most negative slope for a column scaled to length 1, or
// -1 if no slope is negative. It ignores passive and blocked coordinates.
func (q *Quadratic) steepest(y []float64, passive, blocked []bool) int {
	next, best := -1, 0.0
	for i := range y {
		length := math.Sqrt(q.Hessian.At(i, i))
		if passive[i] || blocked[i] || length == 0 {
			continue
		}
		size := math.Abs(q.Linear[i])
		for j, v := range y {
			size += math.Abs(q.Hessian.At(i, j)) * v
		}
		if s := -q.Slope(i, y); s > slopeTolerance*size && s/length > best {
			next, best = i, s/length
		}
	}
	return next
}

// descend moves y to the minimiser over the passive set and drops the coordinates that reach zero
// on the way. If the columns of the set are dependent, it returns false and leaves y unchanged.
func (q *Quadratic) descend(y []float64, passive []bool) bool {
	y0, passive0 := slices.Clone(y), slices.Clone(passive)
	for {
		target, ok := q.minimiser(passive)
		if !ok {
			copy(y, y0)
			copy(passive, passive0)
			return false
		}
		step, blocking := 1.0, -1
		for i, in := range passive {
			if !in || target[i] > 0 {
				continue
			}
			s := 0.0
			if y[i] > 0 {
				s = y[i] / (y[i] - target[i])
			}
			if blocking < 0 || s < step {
				step, blocking = s, i
			}
		}
		for i, v := range target { // 0 outside of the passive set
			y[i] += step * (v - y[i])
		}
		if blocking < 0 {
			return true
		}
		for i := range y {
			if i == blocking || y[i] <= 0 {
				y[i], passive[i] = 0, false
			}
		}
	}
}

// minimiser solves H y = -b on the passive set, with columns scaled to length 1. It returns false
// if the columns are dependent.
func (q *Quadratic) minimiser(passive []bool) ([]float64, bool) {
	var index []int
	for i, in := range passive {
		if in {
			index = append(index, i)
		}
	}
	y := make([]float64, len(passive))
	if len(index) == 0 {
		return y, true
	}
	h, b := mat.NewSymDense(len(index), nil), mat.NewVecDense(len(index), nil)
	length := make([]float64, len(index))
	for i, row := range index {
		length[i] = math.Sqrt(q.Hessian.At(row, row))
		b.SetVec(i, -q.Linear[row]/length[i])
		for j, column := range index[:i+1] {
			h.SetSym(i, j, q.Hessian.At(row, column)/length[i]/length[j])
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(h) || !(factor.Cond() < singular) {
		return nil, false
	}
	var solution mat.VecDense
	if err := factor.SolveVecTo(&solution, b); err != nil {
		return nil, false
	}
	for i, row := range index {
		y[row] = solution.AtVec(i) / length[i]
	}
	return y, true
}

// Shift changes q to the model slope'(z - y) + (z - y)'H(z - y)/2 of z, up to a constant.
func (q *Quadratic) Shift(slope, y []float64) {
	if len(y) == 0 {
		return
	}
	var product mat.VecDense
	product.MulVec(q.Hessian, mat.NewVecDense(len(y), y))
	for i, s := range slope {
		q.Linear[i] = s - product.AtVec(i)
	}
}
