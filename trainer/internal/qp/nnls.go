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

// quadratic is a quadratic y'Hy/2 + b'y in one of its forms.
type quadratic interface {
	// at returns H_ij.
	at(i, j int) float64
	// slopes writes the slope Hy + b of each coordinate, and the size of the terms in each slope.
	slopes(slope, size, y []float64)
	// linear returns b.
	linear() []float64
}

func (q *Quadratic) at(i, j int) float64 { return q.Hessian.At(i, j) }

func (q *Quadratic) linear() []float64 { return q.Linear }

func (q *Quadratic) slopes(slope, size, y []float64) {
	for i := range slope {
		slope[i], size[i] = q.Slope(i, y), math.Abs(q.Linear[i])
		for j, v := range y {
			size[i] += math.Abs(q.Hessian.At(i, j)) * v
		}
	}
}

// NonNegative returns the minimiser over y >= 0.
func (q *Quadratic) NonNegative() []float64 {
	y := make([]float64, len(q.Linear))
	nonNegative(q, y)
	return y
}

// nonNegative moves y >= 0 to the minimiser over y >= 0, by the active-set method of Lawson and
// Hanson (Solving Least Squares Problems, ch. 23) on the normal equations. The method begins with
// the positive coordinates of y as the passive set. It leaves out a column that depends linearly on
// the columns in use, because the column cannot lower the minimum. nonNegative reports whether the
// method ended before its limit of steps.
func nonNegative(q quadratic, y []float64) bool {
	n, started := len(y), false
	s := newActiveSet(q, y, make([]bool, n), make([]bool, n))
	for i, v := range y {
		s.passive[i] = v > 0
		started = started || v > 0
	}
	if started && !s.descend() {
		clear(y)
		clear(s.passive)
	}
	for range 3*n + 10 {
		next := s.steepest()
		if next < 0 {
			return true
		}
		s.passive[next] = true
		if s.descend() && s.passive[next] {
			clear(s.blocked)
		} else {
			s.passive[next], s.blocked[next] = false, true
		}
	}
	return false
}

// activeSet is the state of nonNegative.
type activeSet struct {
	quadratic
	y                []float64
	passive, blocked []bool
	length           []float64 // of the columns
	slope, size      []float64 // scratch
}

func newActiveSet(q quadratic, y []float64, passive, blocked []bool) *activeSet {
	n := len(y)
	s := &activeSet{quadratic: q, y: y, passive: passive, blocked: blocked, length: make([]float64, n), slope: make([]float64, n), size: make([]float64, n)}
	for i := range s.length {
		s.length[i] = math.Sqrt(q.at(i, i))
	}
	return s
}

// steepest returns the coordinate with the most negative slope for a column scaled to length 1, or
// -1 if no slope is negative. It ignores passive and blocked coordinates.
func (s *activeSet) steepest() int {
	next, best := -1, 0.0
	s.slopes(s.slope, s.size, s.y)
	for i, slope := range s.slope {
		length := s.length[i]
		if s.passive[i] || s.blocked[i] || length == 0 {
			continue
		}
		if -slope > slopeTolerance*s.size[i] && -slope/length > best {
			next, best = i, -slope/length
		}
	}
	return next
}

// descend moves y to the minimiser over the passive set and drops the coordinates that reach zero
// on the way. If the columns of the set are dependent, it returns false and leaves y unchanged.
func (s *activeSet) descend() bool {
	y, passive := s.y, s.passive
	y0, passive0 := slices.Clone(y), slices.Clone(passive)
	for {
		index, target, ok := minimiser(s, passive)
		if !ok {
			copy(y, y0)
			copy(passive, passive0)
			return false
		}
		step, blocking := 1.0, -1
		for k, i := range index {
			if target[k] > 0 {
				continue
			}
			t := 0.0
			if y[i] > 0 {
				t = y[i] / (y[i] - target[k])
			}
			if blocking < 0 || t < step {
				step, blocking = t, i
			}
		}
		for k, i := range index {
			y[i] += step * (target[k] - y[i])
		}
		if blocking < 0 {
			return true
		}
		for _, i := range index {
			if i == blocking || y[i] <= 0 {
				y[i], passive[i] = 0, false
			}
		}
	}
}

// minimiser solves H y = -b on the passive set, with columns scaled to length 1. It returns the
// coordinates of the set with their solution. ok is false if the columns are dependent.
func minimiser(q quadratic, passive []bool) (index []int, y []float64, ok bool) {
	for i, in := range passive {
		if in {
			index = append(index, i)
		}
	}
	if len(index) == 0 {
		return nil, nil, true
	}
	h, b := mat.NewSymDense(len(index), nil), mat.NewVecDense(len(index), nil)
	length, linear := make([]float64, len(index)), q.linear()
	for i, row := range index {
		length[i] = math.Sqrt(q.at(row, row))
		b.SetVec(i, -linear[row]/length[i])
		for j, column := range index[:i+1] {
			h.SetSym(i, j, q.at(row, column)/length[i]/length[j])
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(h) || !(factor.Cond() < singular) {
		return nil, nil, false
	}
	var solution mat.VecDense
	if err := factor.SolveVecTo(&solution, b); err != nil {
		return nil, nil, false
	}
	y = make([]float64, len(index))
	for i := range index {
		y[i] = solution.AtVec(i) / length[i]
	}
	return index, y, true
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
