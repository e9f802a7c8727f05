package qp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
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

// slope returns the i-th component of Hy + b.
func (q *Quadratic) slope(i int, y []float64) float64 {
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
	// independent is the squared distance of columns of length 1 above which they are independent
	// without an estimate of the condition number.
	independent = 1e-6
)

// quadratic is a quadratic y'Hy/2 + b'y in one of its forms.
type quadratic interface {
	// at returns H_ij.
	at(i, j int) float64
	// slopes writes the slope Hy + b of each coordinate.
	slopes(slope, y []float64)
	// size returns the size of the terms in slope i of the last slopes.
	size(i int, y []float64) float64
	// linear returns b.
	linear() []float64
}

func (q *Quadratic) at(i, j int) float64 { return q.Hessian.At(i, j) }

func (q *Quadratic) linear() []float64 { return q.Linear }

func (q *Quadratic) slopes(slope, y []float64) {
	for i := range slope {
		slope[i] = q.slope(i, y)
	}
}

func (q *Quadratic) size(i int, y []float64) float64 {
	size := math.Abs(q.Linear[i])
	for j, v := range y {
		size += math.Abs(q.Hessian.At(i, j)) * v
	}
	return size
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
		if s.dependent(next) {
			s.blocked[next] = true
			continue
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

	index    []int             // the passive coordinates of the last minimiser
	products []float64         // the products of their columns, scaled to length 1; the upper triangle
	factor   blas64.Triangular // Cholesky's factor U of the products
	factored bool              // factor is that of the present passive set
	sums     []float64         // the sums of the absolute products of each of the columns
	slope    []float64         // at y if sloped
	falling  []int             // the coordinates with a negative slope
	sloped   bool

	// scratch
	indexBefore    []int
	productsBefore []float64
	place          []int // of each coordinate in indexBefore, or -1
	target         []float64
	values         []float64 // of factor
	image          []float64
	began          []int     // the passive coordinates at the start of descend
	y0             []float64 // their y
}

func newActiveSet(q quadratic, y []float64, passive, blocked []bool) *activeSet {
	n := len(y)
	s := &activeSet{quadratic: q, y: y, passive: passive, blocked: blocked, length: make([]float64, n), slope: make([]float64, n)}
	for i := range s.length {
		s.length[i] = math.Sqrt(q.at(i, i))
	}
	return s
}

// steepest returns the coordinate with the most negative slope for a column scaled to length 1, or
// -1 if no slope is negative. It ignores passive and blocked coordinates.
func (s *activeSet) steepest() int {
	if !s.sloped {
		s.slopes(s.slope, s.y)
		s.sloped, s.falling = true, s.falling[:0]
		for i, slope := range s.slope {
			if slope < 0 && s.length[i] != 0 {
				s.falling = append(s.falling, i)
			}
		}
	}
	next, best := -1, 0.0
	for _, i := range s.falling {
		if s.passive[i] || s.blocked[i] {
			continue
		}
		if rate := -s.slope[i] / s.length[i]; rate > best && -s.slope[i] > slopeTolerance*s.size(i, s.y) {
			next, best = i, rate
		}
	}
	return next
}

// dependent reports whether column i depends linearly on the columns in use. With p, the products
// of the column with the columns in use, H of these, Hx = p and d = 1 - p'x, the squared distance
// of the column to their span, the matrix of the products of all has the condition number
//
//	|| [H p; p' 1] || || inverse ||  >=  || [H p; p' 1] || (1 + ||x||)/d
//
// in the norm of the largest sum of a column. minimiser refuses the columns if the left side is
// above singular; dependent finds the right side without a factorization.
func (s *activeSet) dependent(i int) bool {
	if !s.factored {
		s.minimiser()
	}
	if !s.factored || len(s.index) == 0 {
		return false
	}
	s.image = s.image[:0]
	own, norm := 1., 0. // sums of columns
	for k, j := range s.index {
		p := s.product(max(i, j), min(i, j))
		s.image = append(s.image, p)
		own += math.Abs(p)
		norm = max(norm, s.sums[k]+math.Abs(p))
	}
	x := blas64.Vector{N: len(s.image), Inc: 1, Data: s.image}
	blas64.Trsv(blas.Trans, s.factor, x)
	distance := 1 - vec.Dot(s.image, s.image)
	blas64.Trsv(blas.NoTrans, s.factor, x)
	return !(max(norm, own)*(1+vec.Norm1(s.image)) < singular*distance)
}

// product returns the product of two columns scaled to length 1, for i >= j.
func (s *activeSet) product(i, j int) float64 { return s.at(i, j) / s.length[i] / s.length[j] }

// descend moves y to the minimiser over the passive set and drops the coordinates that reach zero
// on the way. If the columns of the set are dependent, it returns false and leaves y unchanged.
func (s *activeSet) descend() bool {
	y, passive := s.y, s.passive
	s.began, s.y0 = positions(s.began, passive), s.y0[:0]
	for _, i := range s.began {
		s.y0 = append(s.y0, y[i])
	}
	for {
		target, ok := s.minimiser()
		if !ok {
			for k, i := range s.began {
				y[i], passive[i] = s.y0[k], true
			}
			return false
		}
		s.sloped = false
		step, blocking := 1.0, -1
		for k, i := range s.index {
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
		for k, i := range s.index {
			y[i] += step * (target[k] - y[i])
		}
		if blocking < 0 {
			return true
		}
		for _, i := range s.index {
			if i == blocking || y[i] <= 0 {
				y[i], passive[i] = 0, false
			}
		}
	}
}

// positions writes the positions of true.
func positions(dst []int, set []bool) []int {
	dst = dst[:0]
	for i, v := range set {
		if v {
			dst = append(dst, i)
		}
	}
	return dst
}

// minimiser solves H y = -b on the passive set, with columns scaled to length 1, and sets index to
// the set. The next call overwrites y. ok is false if the columns are dependent.
func (s *activeSet) minimiser() (y []float64, ok bool) {
	s.update()
	count, linear := len(s.index), s.linear()
	s.factored = count == 0
	if count == 0 {
		return nil, true
	}
	s.target = s.target[:0]
	for _, i := range s.index {
		s.target = append(s.target, -linear[i]/s.length[i])
	}
	s.values = append(s.values[:0], s.products...)
	h := blas64.Symmetric{N: count, Stride: count, Data: s.values, Uplo: blas.Upper}
	var positive bool
	if s.factor, positive = lapack64.Potrf(h); !positive || s.illConditioned() {
		return nil, false
	}
	lapack64.Potrs(s.factor, blas64.General{Rows: count, Cols: 1, Stride: 1, Data: s.target})
	s.factored = true
	for k, i := range s.index {
		s.target[k] /= s.length[i]
	}
	return s.target, true
}

// illConditioned reports whether the condition number of the products is at least singular. It
// estimates the number only if the columns may be dependent: the square of element i of the
// factor's diagonal is the squared distance of column i to the span of the columns before it.
func (s *activeSet) illConditioned() bool {
	u, least, norm := s.factor, 1., 0.
	for k, sum := range s.sums {
		d := u.Data[k*u.Stride+k]
		least, norm = min(least, d*d), max(norm, sum)
	}
	if least > independent {
		return false
	}
	h := blas64.Symmetric{N: u.N, Stride: u.Stride, Data: u.Data, Uplo: blas.Upper}
	return !(1/lapack64.Pocon(h, norm, make([]float64, 3*u.N), make([]int, u.N)) < singular)
}

// update sets index and products to the passive set. It computes the products of new coordinates
// only.
func (s *activeSet) update() {
	s.index, s.indexBefore = positions(s.indexBefore, s.passive), s.index
	s.products, s.productsBefore = s.productsBefore, s.products
	count, before := len(s.index), len(s.indexBefore)
	s.products, s.place = slices.Grow(s.products[:0], count*count)[:count*count], s.place[:0]
	at := 0
	for _, i := range s.index {
		for at < before && s.indexBefore[at] < i {
			at++
		}
		if at < before && s.indexBefore[at] == i {
			s.place = append(s.place, at)
		} else {
			s.place = append(s.place, -1)
		}
	}
	s.sums = append(s.sums[:0], make([]float64, count)...)
	for k, i := range s.index {
		for l, j := range s.index[:k+1] {
			product := &s.products[l*count+k]
			if a, b := s.place[k], s.place[l]; a >= 0 && b >= 0 {
				*product = s.productsBefore[b*before+a]
			} else {
				*product = s.product(i, j)
			}
			s.sums[k] += math.Abs(*product)
			if l < k {
				s.sums[l] += math.Abs(*product)
			}
		}
	}
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
