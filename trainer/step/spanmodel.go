package step

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// spanModel is a BFGS model of the Hessian, restricted to the span of some vectors of R^n. The
// vectors stay on the device. The host knows only their inner products, the Gram matrix. An
// orthonormal basis of the span gives each vector coordinates; in the coordinates the model is a
// small dense matrix B, built from sigma I by the BFGS updates
//
//	B+ = B - B s s^T B/(s^T B s) + y y^T/(y^T s)
//
// in the order of the pairs. Outside the span the model is sigma I, so that no step leaves the
// span if the span contains the gradient and the iterate (for the ball).
type spanModel struct {
	rank        int
	coordinates *mat.Dense // column i has the coordinates of vector i (length rank)
	basis       []int      // the vectors whose combinations form the orthonormal basis
	triangle    *mat.TriDense
	eigenvalues []float64 // of B, ascending
	vectors     *mat.Dense
}

// spanTolerance is the smallest relative squared distance of a vector to the span of the vectors
// before it that adds a dimension.
const spanTolerance = 1e-12

// newSpanModel returns the model for the Gram matrix of count vectors. Pair i has s = vector
// pairs[i][0] and y = vector pairs[i][1]. It returns nil if the Gram matrix is not finite or B is
// not positive definite to rounding.
func newSpanModel(gram *mat.SymDense, pairs [][2]int) *spanModel {
	n := gram.SymmetricDim()
	length := make([]float64, n)
	scaled := mat.NewSymDense(n, nil)
	for i := range n {
		if length[i] = math.Sqrt(gram.At(i, i)); length[i] == 0 {
			length[i] = 1
		}
		for j := 0; j <= i; j++ {
			scaled.SetSym(i, j, gram.At(i, j)/length[i]/length[j])
		}
	}
	if !finiteSym(scaled) {
		return nil
	}
	var factor mat.PivotedCholesky
	factor.Factorize(scaled, spanTolerance)
	m := &spanModel{rank: factor.Rank()}
	if m.rank == 0 {
		return nil
	}
	pivots := factor.ColumnPivots(nil)
	upper := factor.RawU()
	m.coordinates = mat.NewDense(m.rank, n, nil)
	for k, i := range pivots {
		for row := 0; row < min(m.rank, k+1); row++ {
			m.coordinates.Set(row, i, upper.At(row, k)*length[i])
		}
	}
	m.basis = slices.Clone(pivots[:m.rank])
	m.triangle = mat.NewTriDense(m.rank, mat.Upper, nil)
	for i := range m.rank {
		for j := i; j < m.rank; j++ {
			m.triangle.SetTri(i, j, upper.At(i, j)*length[pivots[j]])
		}
	}
	if !m.update(pairs) {
		return nil
	}
	return m
}

// update sets the eigenvalues and eigenvectors of B.
func (m *spanModel) update(pairs [][2]int) bool {
	sigma := 0.0
	for _, p := range pairs {
		s, y := m.coordinates.ColView(p[0]), m.coordinates.ColView(p[1])
		if sy := mat.Dot(s, y); sy > 0 {
			sigma = mat.Dot(y, y) / sy
		}
	}
	b := mat.NewSymDense(m.rank, nil)
	for i := range m.rank {
		b.SetSym(i, i, sigma)
	}
	var product mat.VecDense
	for _, p := range pairs {
		s, y := m.coordinates.ColView(p[0]), m.coordinates.ColView(p[1])
		product.MulVec(b, s)
		sy, curvature := mat.Dot(s, y), mat.Dot(s, &product)
		if !(sy > 0) || !(curvature > 0) {
			continue
		}
		b.SymRankOne(b, -1/curvature, &product)
		b.SymRankOne(b, 1/sy, y)
	}
	var eigen mat.EigenSym
	if !finiteSym(b) || !eigen.Factorize(b, true) {
		return false
	}
	m.eigenvalues = eigen.Values(nil)
	largest := m.eigenvalues[m.rank-1]
	for i, v := range m.eigenvalues {
		m.eigenvalues[i] = math.Max(v, leastEigenvalue*largest)
	}
	m.vectors = new(mat.Dense)
	eigen.VectorsTo(m.vectors)
	return true
}

// leastEigenvalue is the smallest eigenvalue of B relative to the largest. Rounding may make an
// eigenvalue of B smaller, or negative.
const leastEigenvalue = 1e-14

// rotate returns the coordinates of vector i in the eigenvectors of B.
func (m *spanModel) rotate(i int) []float64 {
	dst := mat.NewVecDense(m.rank, nil)
	dst.MulVec(m.vectors.T(), m.coordinates.ColView(i))
	return dst.RawVector().Data
}

// combination returns the coefficients of the vectors m.basis for the vector with the coordinates d
// in the eigenvectors of B.
func (m *spanModel) combination(d []float64) []float64 {
	z := mat.NewVecDense(m.rank, nil)
	z.MulVec(m.vectors, mat.NewVecDense(m.rank, d))
	var c mat.VecDense
	if err := c.SolveVec(m.triangle, z); err != nil {
		if _, conditioned := err.(mat.Condition); !conditioned {
			return nil
		}
	}
	return c.RawVector().Data
}

// finiteSym reports whether all elements are finite.
func finiteSym(a *mat.SymDense) bool {
	for i := range a.SymmetricDim() {
		for j := 0; j <= i; j++ {
			if v := a.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}
