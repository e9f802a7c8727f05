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
	// Scales returns the scales, or nil if the problem knows none. The caller must not change them.
	// In the variables u of x = T u, the second derivatives of f and g differ less than in x. In
	// these variables, quasi-Newton steps begin with a multiple of the identity as their model of
	// the Hessian. Steps with a ball ignore the scales.
	Scales() *Scales
}

// Scales describe variables u of x = T u, with an invertible matrix T. New scales have T = I.
type Scales struct {
	size     int
	diagonal []float64         // s: T is the diagonal matrix of s
	factor   blas64.Triangular // L: T is L^-T for each column of the weights of the features
	columns  int               // columns of the weights; 0 if T is not from Whiten
}

// NewScales returns scales of size variables, with T = I.
func NewScales(size int) *Scales { return &Scales{size: size} }

// Identity reports whether T = I.
func (s *Scales) Identity() bool { return s.diagonal == nil && s.columns == 0 }

// Len returns the number of variables.
func (s *Scales) Len() int { return s.size }

// Stretch sets T to the diagonal matrix of positive numbers, one for each variable.
func (s *Scales) Stretch(diagonal []float64) { s.diagonal, s.columns = slices.Clone(diagonal), 0 }

// Whiten sets T from the positive definite matrix G [n, n] of n features, such as their second
// moments. The variables begin with the weights [n, columns] of the features, row by row, one
// column for each score or unit. With Cholesky's factorization G = L L^T, the weights are L^-T
// times the matrix u of their variables. If G contains the second moments, ||u||^2 is the sum over
// the columns of the mean square of the scores. T leaves the other variables as they are. Whiten
// returns false, and changes nothing, if G is not positive definite or not finite, or if the
// weights are more than the variables.
//
// Source: LeCun, Bottou, Orr and Muller, Efficient BackProp, 1998, section 4.3.
func (s *Scales) Whiten(g *mat.SymDense, columns int) bool {
	var c mat.Cholesky
	if columns < 1 || g.SymmetricDim()*columns > s.size || math.IsInf(mat.Trace(g), 0) || !c.Factorize(g) {
		return false
	}
	var l mat.TriDense
	c.LTo(&l)
	s.factor, s.diagonal = l.RawTriangular(), nil
	s.columns = columns
	return true
}

// Whitened reports whether T is from Whiten.
func (s *Scales) Whitened() bool { return s.columns > 0 }

// Multiply replaces v by T v.
func (s *Scales) Multiply(v []float64) {
	for i, d := range s.diagonal {
		v[i] *= d
	}
	s.solve(blas.Trans, v)
}

// MultiplyTransposed replaces v by T^T v.
func (s *Scales) MultiplyTransposed(v []float64) {
	for i, d := range s.diagonal {
		v[i] *= d
	}
	s.solve(blas.NoTrans, v)
}

// Divide replaces v by T^-1 v.
func (s *Scales) Divide(v []float64) {
	for i, d := range s.diagonal {
		v[i] /= d
	}
	switch s.columns {
	case 0:
	case 1:
		blas64.Trmv(blas.Trans, s.factor, blas64.Vector{N: s.factor.N, Inc: 1, Data: v})
	default:
		blas64.Trmm(blas.Left, blas.Trans, 1, s.factor, s.weights(v))
	}
}

// solve multiplies the weights of the features by L^-1 (NoTrans) or L^-T (Trans). The routine for
// vectors is faster for a single column.
func (s *Scales) solve(transpose blas.Transpose, v []float64) {
	switch s.columns {
	case 0:
	case 1:
		blas64.Trsv(transpose, s.factor, blas64.Vector{N: s.factor.N, Inc: 1, Data: v})
	default:
		blas64.Trsm(blas.Left, transpose, 1, s.factor, s.weights(v))
	}
}

// weights returns the weights of the features as a matrix.
func (s *Scales) weights(v []float64) blas64.General {
	return blas64.General{Rows: s.factor.N, Cols: s.columns, Stride: s.columns, Data: v[:s.factor.N*s.columns]}
}
