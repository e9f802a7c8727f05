package step

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"ppal/trainer/internal/vec"
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
//
// A spanModel keeps its memory from one model to the next. All matrices have rows of count
// elements.
type spanModel struct {
	count       int       // the number of vectors
	rank        int       // the dimension of the span
	coordinates []float64 // [count, rank]: row i has the coordinates of vector i
	basis       []int     // the vectors whose combinations form the orthonormal basis
	b           []float64 // [rank, rank]: the lower triangle of B
	factor      []float64 // [rank, rank]: the lower Cholesky factor of B plus a multiple of I
	eigenvalues []float64 // of B, ascending; nil before eigen
	vectors     mat.Dense // the eigenvectors

	scaled, rest, length, product, column []float64 // scratch
}

// spanTolerance is the smallest relative squared distance of a vector to the span of the vectors
// before it that adds a dimension.
const spanTolerance = 1e-12

// build makes the model for the Gram matrix of the vectors. Pair i has s = vector pairs[i][0] and y
// = vector pairs[i][1]. build returns false if the Gram matrix is 0 or not finite, or if B is not
// finite.
func (m *spanModel) build(gram *mat.SymDense, pairs [][2]int) bool {
	n := gram.SymmetricDim()
	m.count = n
	for _, matrix := range []*[]float64{&m.scaled, &m.coordinates, &m.b, &m.factor} {
		*matrix = resized(*matrix, n*n)
	}
	for _, vector := range []*[]float64{&m.rest, &m.length, &m.product, &m.column} {
		*vector = resized(*vector, n)
	}
	m.basis, m.rank, m.eigenvalues = m.basis[:0], 0, nil
	for i := range n {
		if m.length[i] = math.Sqrt(gram.At(i, i)); m.length[i] == 0 {
			m.length[i] = 1
		}
		for j := range i + 1 {
			v := gram.At(i, j) / m.length[i] / m.length[j]
			if !vec.Finite(v) {
				return false
			}
			m.scaled[i*n+j], m.scaled[j*n+i] = v, v
		}
	}
	m.orthogonalise()
	return m.rank > 0 && m.update(pairs)
}

// resized returns a slice of n elements, which uses the memory of x if the memory suffices.
func resized(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// inBasis marks a vector of the basis among the distances to the span.
var inBasis = math.Inf(-1)

// orthogonalise sets the coordinates by Cholesky's factorization of the scaled Gram matrix with
// pivots: each step adds the vector with the largest distance to the span.
func (m *spanModel) orthogonalise() {
	n := m.count
	for i := range n {
		m.rest[i] = m.scaled[i*n+i] // the squared distance to the span
	}
	for k := range n {
		pivot := -1
		for i, r := range m.rest {
			if r > spanTolerance && (pivot < 0 || r > m.rest[pivot]) {
				pivot = i
			}
		}
		if pivot < 0 {
			break
		}
		diagonal := math.Sqrt(m.rest[pivot])
		own := m.coordinates[pivot*n : pivot*n+k]
		for i := range n {
			row := m.coordinates[i*n : i*n+k+1]
			switch {
			case i == pivot:
				row[k] = diagonal
			case m.rest[i] == inBasis:
				row[k] = 0
			default:
				row[k] = (m.scaled[pivot*n+i] - floats.Dot(row[:k], own)) / diagonal
				m.rest[i] -= row[k] * row[k]
			}
		}
		m.rest[pivot] = inBasis
		m.basis = append(m.basis, pivot)
		m.rank++
	}
	for i, l := range m.length {
		vec.Scale(m.of(i), l)
	}
}

// of returns the coordinates of vector i.
func (m *spanModel) of(i int) []float64 { return m.coordinates[i*m.count : i*m.count+m.rank] }

// update sets B. It returns false if B is not finite.
func (m *spanModel) update(pairs [][2]int) bool {
	sigma := 0.0
	for _, p := range pairs {
		s, y := m.of(p[0]), m.of(p[1])
		if sy := floats.Dot(s, y); sy > 0 {
			sigma = floats.Dot(y, y) / sy
		}
	}
	n := m.count
	for i := range m.rank {
		clear(m.b[i*n : i*n+i])
		m.b[i*n+i] = sigma
	}
	product := m.product[:m.rank]
	for _, p := range pairs {
		s, y := m.of(p[0]), m.of(p[1])
		m.times(product, s)
		sy, curvature := floats.Dot(s, y), floats.Dot(s, product)
		if !(sy > 0) || !(curvature > 0) {
			continue
		}
		for i := range m.rank {
			addTwo(m.b[i*n:i*n+i+1], -product[i]/curvature, product, y[i]/sy, y)
		}
	}
	for i := range m.rank {
		if vec.FirstNonFinite(m.b[i*n:i*n+i+1]) >= 0 {
			return false
		}
	}
	return true
}

// times sets dst to B x.
func (m *spanModel) times(dst, x []float64) {
	for i := range m.rank {
		row := m.b[i*m.count : i*m.count+i]
		dst[i] = m.b[i*m.count+i]*x[i] + floats.Dot(row, x[:i])
		floats.AddScaled(dst[:i], x[i], row)
	}
}

// addTwo adds a x + b y to dst, which may be shorter than x and y.
func addTwo(dst []float64, a float64, x []float64, b float64, y []float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i, v := range x {
		dst[i] = dst[i] + a*v + b*y[i]
	}
}

// leastPivot is the smallest pivot of the Cholesky factor relative to the largest element of B.
const leastPivot = 1e-13

// factorize sets the factor to that of B + shift I. It returns false if B + shift I is not positive
// definite to rounding.
func (m *spanModel) factorize(shift float64) bool {
	n, largest := m.count, 0.0
	for i := range m.rank {
		largest = math.Max(largest, m.b[i*n+i]+shift)
	}
	for i := range m.rank {
		row := m.factor[i*n : i*n+i+1]
		for j := range i {
			other := m.factor[j*n : j*n+j+1]
			row[j] = (m.b[i*n+j] - floats.Dot(row[:j], other[:j])) / other[j]
		}
		pivot := m.b[i*n+i] + shift - floats.Dot(row[:i], row[:i])
		if !(pivot > leastPivot*largest) {
			return false
		}
		row[i] = math.Sqrt(pivot)
	}
	return true
}

// solve replaces x by F^-1 x for the factor F.
func (m *spanModel) solve(x []float64) {
	for i := range x {
		row := m.factor[i*m.count : i*m.count+i+1]
		x[i] = (x[i] - floats.Dot(row[:i], x[:i])) / row[i]
	}
}

// solveTransposed replaces x by F^-T x for the factor F.
func (m *spanModel) solveTransposed(x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := m.factor[i*m.count : i*m.count+i+1]
		x[i] /= row[i]
		floats.AddScaled(x[:i], -x[i], row[:i])
	}
}

// lengthTolerance is the relative accuracy of the length of a step that the trust region cuts.
const lengthTolerance = 1e-4

// minimise sets d to the coordinates of the minimiser of
//
//	<g, d> + d^T B d/2 + (ridge/2)||x + d||^2   over ||d|| <= radius,
//
// where g and x are coordinates. It returns the decrease from d = 0 and whether the trust region
// cuts the step. The length of such a step is the radius up to lengthTolerance. minimise returns
// false if B + ridge I is not positive definite to rounding.
//
// The step is -(B + (ridge + s) I)^-1 (g + ridge x) for an s >= 0.
func (m *spanModel) minimise(d, g, x []float64, ridge, radius float64) (decrease float64, cut, ok bool) {
	right := m.product[:m.rank]
	for i := range right {
		right[i] = -(g[i] + ridge*x[i])
	}
	s, ok := m.within(d, right, 0, ridge, radius, lengthTolerance)
	if !ok {
		return 0, false, false
	}
	return (floats.Dot(d, right) + s*floats.Dot(d, d)) / 2, s > 0, true
}

// sphereTolerance is the relative accuracy of ||x + d|| on the sphere of the ball.
const sphereTolerance = 1e-10

// minimiseInBall sets d to the coordinates of the minimiser of
//
//	<g, d> + d^T B d/2   over ||x + d|| <= ball,   ||x|| <= ball,
//
// and returns the decrease from d = 0, and whether x + d is on the sphere. It returns false for ok
// if B is not positive definite to rounding, or if the search for t does not end.
//
// The minimiser is u = x + d = (B + t I)^-1 (B x - g) for a t >= 0. The search for t begins at
// -<g, x>/||x||^2, the multiplier of a stationary x on the sphere. The difference u - x would
// cancel, so d and the decrease come from t:
//
//	(B + t I) d = -(g + t x),   decrease = (d^T B d + t (||d||^2 + ball^2 - ||x||^2))/2.
func (m *spanModel) minimiseInBall(d, g, x []float64, ball float64) (decrease float64, sphere, ok bool) {
	right, norm, first := m.product[:m.rank], vec.Norm(x), 0.0
	if norm > 0 {
		first = math.Max(0, -floats.Dot(g, x)/(norm*norm))
	}
	m.times(right, x)
	floats.Sub(right, g)
	t, ok := m.within(d, right, first, 0, ball, sphereTolerance)
	if !ok {
		return 0, false, false
	}
	for i := range d {
		d[i] = -(g[i] + t*x[i])
	}
	m.solve(d)
	m.solveTransposed(d)
	m.times(right, d)
	inside := math.Max(0, (ball-norm)*(ball+norm))
	return (floats.Dot(right, d) + t*(floats.Dot(d, d)+inside)) / 2, t > 0, true
}

// newtonTries is the largest number of Newton's steps in within. Searches take 5 to 8 steps if the
// condition number of B is at most 1e8. With a larger condition number, rounding errors of ||u||
// may exceed the tolerance.
const newtonTries = 40

// within sets u = (B + (ridge + s) I)^-1 right for the least s >= 0 with ||u|| <= radius, and
// returns s. If s > 0, the length of u is the radius up to the relative tolerance. Afterwards,
// m.factor holds the factor of the last matrix. within returns false if a matrix that it factorizes
// is not positive definite to rounding, or after newtonTries steps.
//
// Newton's iteration for 1/||u|| = 1/radius finds s from the given s, by a factorization for each s
// (Moré and Sorensen, SIAM J. Sci. Stat. Comput. 4, 1983). 1/||u|| is concave in s: after the first
// step, s is at most the solution and grows.
func (m *spanModel) within(u, right []float64, s, ridge, radius, tolerance float64) (float64, bool) {
	w := m.column[:m.rank]
	for range newtonTries {
		if !m.factorize(ridge + s) {
			return 0, false
		}
		copy(u, right)
		m.solve(u)
		m.solveTransposed(u)
		length := math.Sqrt(floats.Dot(u, u))
		if length <= (1+tolerance)*radius && (s == 0 || length >= (1-tolerance)*radius) {
			return s, true
		}
		copy(w, u)
		m.solve(w)
		s = math.Max(0, s+length*length/floats.Dot(w, w)*(length-radius)/radius)
	}
	return 0, false
}

// eigen sets the eigenvalues and eigenvectors of B, and reports whether the computation succeeded.
func (m *spanModel) eigen() bool {
	b := mat.NewSymDense(m.rank, nil)
	for i := range m.rank {
		for j := range i + 1 {
			b.SetSym(i, j, m.b[i*m.count+j])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(b, true) {
		return false
	}
	m.eigenvalues = eigen.Values(nil)
	largest := m.eigenvalues[m.rank-1]
	for i, v := range m.eigenvalues {
		m.eigenvalues[i] = math.Max(v, leastEigenvalue*largest)
	}
	m.vectors.Reset()
	eigen.VectorsTo(&m.vectors)
	return true
}

// leastEigenvalue is the smallest eigenvalue of B relative to the largest. Rounding may make an
// eigenvalue of B smaller, or negative.
const leastEigenvalue = 1e-14

// rotate returns the coordinates of vector i in the eigenvectors of B.
func (m *spanModel) rotate(i int) []float64 {
	dst := mat.NewVecDense(m.rank, nil)
	dst.MulVec(m.vectors.T(), mat.NewVecDense(m.rank, m.of(i)))
	return dst.RawVector().Data
}

// unrotate returns the coordinates of the vector with the coordinates d in the eigenvectors of B.
func (m *spanModel) unrotate(d []float64) []float64 {
	dst := mat.NewVecDense(m.rank, nil)
	dst.MulVec(&m.vectors, mat.NewVecDense(m.rank, d))
	return dst.RawVector().Data
}

// combination returns the coefficients of the vectors m.basis for the vector with the coordinates
// d. It overwrites d.
func (m *spanModel) combination(d []float64) []float64 {
	c := make([]float64, m.rank)
	for k := m.rank - 1; k >= 0; k-- { // vector m.basis[k] has no coordinates after k
		row := m.of(m.basis[k])
		c[k] = d[k] / row[k]
		floats.AddScaled(d[:k], -c[k], row[:k])
	}
	return c
}
