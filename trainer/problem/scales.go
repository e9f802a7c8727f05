package problem

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Scaled is a Problem that may know scales of its variables.
type Scaled interface {
	// Scales returns the scales, or nil if the problem knows none. The caller must not change them. In
	// the variables u of x = T u, the second derivatives of f and g differ less than in x. In these
	// variables, quasi-Newton steps begin with a multiple of the identity as their model of the
	// Hessian. Steps with a ball ignore the scales.
	Scales() *Scales
}

// Scales describe variables u of x = T u, with an invertible matrix T. New scales have T = I.
type Scales struct {
	size     int
	diagonal []float64         // s: T is the diagonal matrix of s
	factor   blas64.Triangular // L: T is L^-T for each column of x
	columns  int               // of x as a matrix if T is from Whiten; else 0
}

// NewScales returns scales of size variables, with T = I.
func NewScales(size int) *Scales { return &Scales{size: size} }

// Len returns the number of variables.
func (s *Scales) Len() int { return s.size }

// Stretch sets T to the diagonal matrix of positive numbers, one for each variable.
func (s *Scales) Stretch(diagonal []float64) { s.diagonal, s.columns = slices.Clone(diagonal), 0 }

// Whiten sets T from the second moments G [n, n] of n features, where n divides the number of
// variables. The variables are the weights [n, size/n] of the features, one column for each score.
// With Cholesky's factorization G = L L^T, the weights are L^-T times the matrix u. Then ||u||^2 is
// the sum over the scores of the mean square of the score. Whiten returns false, and changes
// nothing, if G is not positive definite or not finite.
//
// Source: LeCun, Bottou, Orr and Muller, Efficient BackProp, 1998, section 4.3.
func (s *Scales) Whiten(moments *mat.SymDense) bool {
	var c mat.Cholesky
	if math.IsInf(mat.Trace(moments), 0) || !c.Factorize(moments) {
		return false
	}
	var l mat.TriDense
	c.LTo(&l)
	s.factor, s.diagonal = l.RawTriangular(), nil
	s.columns = s.size / s.factor.N
	return true
}

// Whitened reports whether T is from Whiten.
func (s *Scales) Whitened() bool { return s.columns > 0 }

// Multiply replaces v by T v.
func (s *Scales) Multiply(v []float64) {
	for i, d := range s.diagonal {
		v[i] *= d
	}
	for k := range s.columns {
		blas64.Trsv(blas.Trans, s.factor, s.column(v, k))
	}
}

// MultiplyTransposed replaces v by T^T v.
func (s *Scales) MultiplyTransposed(v []float64) {
	for i, d := range s.diagonal {
		v[i] *= d
	}
	for k := range s.columns {
		blas64.Trsv(blas.NoTrans, s.factor, s.column(v, k))
	}
}

// Divide replaces v by T^-1 v.
func (s *Scales) Divide(v []float64) {
	for i, d := range s.diagonal {
		v[i] /= d
	}
	for k := range s.columns {
		blas64.Trmv(blas.Trans, s.factor, s.column(v, k))
	}
}

// column returns column k of v as a matrix.
func (s *Scales) column(v []float64, k int) blas64.Vector {
	return blas64.Vector{N: s.factor.N, Inc: s.columns, Data: v[k:]}
}
