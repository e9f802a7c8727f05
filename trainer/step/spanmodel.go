package step

import (
	"math"
	"slices"

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
// span if the span contains the gradient and the iterate (for the ball). If neither the trust
// region nor the ball limits a step, and there is no ridge, the pairs give the step (solvePairs).
// All other steps need B (hessian).
//
// A spanModel keeps its memory from one model to the next. All matrices have rows of count
// elements.
type spanModel struct {
	count       int       // the number of vectors
	rank        int       // the dimension of the span
	coordinates []float64 // [count, rank]: row i has the coordinates of vector order[i]
	order       []int     // all vectors; the first rank are independent and give the basis
	row         []int     // the inverse of order: the row of each vector
	pairs       [][2]int  // the vectors s and y of each pair with y^T s > 0
	sigma       float64   // y^T y/(y^T s) of the last pair; 0 without pairs
	formed      bool      // B is computed
	b           []float64 // [rank, rank]: the lower triangle of B
	factor      []float64 // [rank, rank]: the lower Cholesky factor of B plus a multiple of I
	eigenvalues []float64 // of B, ascending; nil before eigen
	vectors     mat.Dense // the eigenvectors

	scaled, rest, length, product, column, inverse []float64 // scratch
}

// spanTolerance is the smallest relative squared distance of a vector to the span of the vectors
// before it that adds a dimension.
const spanTolerance = 1e-12

// build makes the model for the Gram matrix of the vectors, except B. Pair i has s = vector
// pairs[i][0] and y = vector pairs[i][1]. build returns false if the Gram matrix is 0 or not
// finite, or if sigma is not finite.
func (m *spanModel) build(gram *mat.SymDense, pairs [][2]int) bool {
	n := gram.SymmetricDim()
	m.count = n
	for _, matrix := range []*[]float64{&m.scaled, &m.coordinates, &m.b, &m.factor} {
		*matrix = resized(*matrix, n*n)
	}
	for _, vector := range []*[]float64{&m.rest, &m.length, &m.product, &m.column, &m.inverse} {
		*vector = resized(*vector, n)
	}
	m.order, m.row = resized(m.order, n), resized(m.row, n)
	m.rank, m.formed, m.eigenvalues = 0, false, nil
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
	m.pairs, m.sigma = m.pairs[:0], 0
	for _, p := range pairs {
		s, y := m.of(p[0]), m.of(p[1])
		if sy := floats.Dot(s, y); sy > 0 {
			m.pairs, m.sigma = append(m.pairs, p), floats.Dot(y, y)/sy
		}
	}
	return m.rank > 0 && vec.Finite(m.sigma)
}

// resized returns a slice of n elements, which uses the memory of x if the memory suffices.
func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// orthogonalise sets the coordinates by Cholesky's factorization of the scaled Gram matrix with
// pivots: each step adds the vector with the largest distance to the span.
func (m *spanModel) orthogonalise() {
	n := m.count
	for i := range n {
		m.rest[i] = m.scaled[i*n+i] // the squared distance to the span of the vector at place i
		m.order[i] = i
	}
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if m.rest[i] > m.rest[pivot] {
				pivot = i
			}
		}
		if !(m.rest[pivot] > spanTolerance) {
			break
		}
		m.swap(k, pivot)
		m.rank++
		own := m.coordinates[k*n : k*n+k]
		diagonal := math.Sqrt(m.rest[k])
		m.coordinates[k*n+k] = diagonal
		scaled, products := m.scaled[m.order[k]*n:][:n], m.column[:n-k-1]
		rowProducts(products, m.coordinates[(k+1)*n:], n, own)
		for i, p := range products {
			at := k + 1 + i
			v := (scaled[m.order[at]] - p) / diagonal
			m.coordinates[at*n+k] = v
			m.rest[at] -= v * v
		}
	}
	for i, vector := range m.order {
		m.row[vector] = i
		row := m.coordinates[i*n : i*n+m.rank]
		if i < m.rank {
			clear(row[i+1:])
		}
		vec.Scale(row, m.length[vector])
	}
}

// swap exchanges the vectors at i and j of order, with their distances and coordinates.
func (m *spanModel) swap(i, j int) {
	if i == j {
		return
	}
	n := m.count
	m.order[i], m.order[j] = m.order[j], m.order[i]
	m.rest[i], m.rest[j] = m.rest[j], m.rest[i]
	a, b := m.coordinates[i*n:i*n+m.rank], m.coordinates[j*n:j*n+m.rank]
	for k := range a {
		a[k], b[k] = b[k], a[k]
	}
}

// rowProducts sets dst[i] to the inner product of x and the first len(x) elements of row i of a,
// whose rows have n elements. Four sums run at once, because each addition to a sum waits for the
// previous addition.
func rowProducts(dst, a []float64, n int, x []float64) {
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		r0, r1, r2, r3 := a[i*n:][:len(x)], a[(i+1)*n:][:len(x)], a[(i+2)*n:][:len(x)], a[(i+3)*n:][:len(x)]
		var s0, s1, s2, s3 float64
		for k, v := range x {
			s0 += r0[k] * v
			s1 += r1[k] * v
			s2 += r2[k] * v
			s3 += r3[k] * v
		}
		dst[i], dst[i+1], dst[i+2], dst[i+3] = s0, s1, s2, s3
	}
	for ; i < len(dst); i++ {
		dst[i] = floats.Dot(a[i*n:][:len(x)], x)
	}
}

// of returns the coordinates of vector i.
func (m *spanModel) of(i int) []float64 {
	at := m.row[i] * m.count
	return m.coordinates[at : at+m.rank]
}

// basis returns the vectors whose combinations form the orthonormal basis.
func (m *spanModel) basis() []int { return m.order[:m.rank] }

// solvePairs replaces q by B^-1 q, without B: the two-loop recursion (Nocedal and Wright, algorithm
// 7.4). The model needs at least one pair.
func (m *spanModel) solvePairs(q []float64) {
	alpha := m.column[:len(m.pairs)]
	for k, p := range slices.Backward(m.pairs) {
		s, y := m.of(p[0]), m.of(p[1])
		alpha[k] = floats.Dot(s, q) / floats.Dot(s, y)
		floats.AddScaled(q, -alpha[k], y)
	}
	floats.Scale(1/m.sigma, q)
	for k, p := range m.pairs {
		s, y := m.of(p[0]), m.of(p[1])
		floats.AddScaled(q, alpha[k]-floats.Dot(y, q)/floats.Dot(s, y), s)
	}
}

// hessian computes B once. It returns false if B is not finite.
func (m *spanModel) hessian() bool {
	if m.formed {
		return true
	}
	n := m.count
	for i := range m.rank {
		clear(m.b[i*n : i*n+i])
		m.b[i*n+i] = m.sigma
	}
	product := m.column[:m.rank]
	for _, p := range m.pairs {
		s, y := m.of(p[0]), m.of(p[1])
		m.times(product, s)
		sy, curvature := floats.Dot(s, y), floats.Dot(s, product)
		if !(curvature > 0) { // rounding; solvePairs keeps the pair
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
	m.formed = true
	return true
}

// times sets dst to B x. The loop takes two rows at a time, so that it reads and writes dst half as
// often.
func (m *spanModel) times(dst, x []float64) {
	n, i := m.count, 0
	for ; i+2 <= m.rank; i += 2 {
		r0, r1 := m.b[i*n:][:i], m.b[(i+1)*n:][:i]
		d, other := dst[:i], x[:i]
		x0, x1 := x[i], x[i+1]
		var s0, s1 float64
		for k, v := range other {
			s0 += r0[k] * v
			s1 += r1[k] * v
			d[k] += r0[k]*x0 + r1[k]*x1
		}
		corner := m.b[(i+1)*n+i]
		dst[i] = s0 + m.b[i*n+i]*x0 + corner*x1
		dst[i+1] = s1 + corner*x0 + m.b[(i+1)*n+i+1]*x1
	}
	if i < m.rank {
		row := m.b[i*n : i*n+i]
		dst[i] = m.b[i*n+i]*x[i] + floats.Dot(row, x[:i])
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
	for k := range m.rank {
		own := m.factor[k*n : k*n+k]
		pivot := m.b[k*n+k] + shift - floats.Dot(own, own)
		if !(pivot > leastPivot*largest) {
			return false
		}
		diagonal := math.Sqrt(pivot)
		m.factor[k*n+k] = diagonal
		products := m.column[:m.rank-k-1]
		rowProducts(products, m.factor[(k+1)*n:], n, own)
		for i, p := range products {
			at := (k+1+i)*n + k
			m.factor[at] = (m.b[at] - p) / diagonal
		}
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
// false for ok if B is not finite, or if a matrix that it factorizes is not positive definite to
// rounding. A step from the pairs has no such check.
//
// The step is -(B + (ridge + s) I)^-1 (g + ridge x) for an s >= 0. Without a ridge, the pairs give
// the step for s = 0, and the second s of Newton's iteration (see within).
func (m *spanModel) minimise(d, g, x []float64, ridge, radius float64) (decrease float64, cut, ok bool) {
	right := m.product[:m.rank]
	for i := range right {
		right[i] = -(g[i] + ridge*x[i])
	}
	s := 0.0
	if ridge == 0 && len(m.pairs) > 0 {
		copy(d, right)
		m.solvePairs(d)
		length := vec.Norm(d)
		if decrease = floats.Dot(d, right) / 2; length <= radius && decrease >= 0 {
			return decrease, false, true
		}
		if length > radius {
			w := m.inverse[:m.rank]
			copy(w, d)
			m.solvePairs(w)
			s = math.Max(0, newtonStep(length, floats.Dot(w, d), radius))
		}
	}
	if !m.hessian() {
		return 0, false, false
	}
	s, ok = m.within(d, right, s, ridge, radius, lengthTolerance)
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
// if B is not finite, if B is not positive definite to rounding, or if the search for t does not
// end.
//
// The minimiser is u = x + d = (B + t I)^-1 (B x - g) for a t >= 0. The search for t begins at
// -<g, x>/||x||^2, the multiplier of a stationary x on the sphere. The difference u - x would
// cancel, so d and the decrease come from t:
//
//	(B + t I) d = -(g + t x),   decrease = (d^T B d + t (||d||^2 + ball^2 - ||x||^2))/2.
func (m *spanModel) minimiseInBall(d, g, x []float64, ball float64) (decrease float64, sphere, ok bool) {
	if !m.hessian() {
		return 0, false, false
	}
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
		s = math.Max(0, s+newtonStep(length, floats.Dot(w, w), radius))
	}
	return 0, false
}

// newtonStep returns Newton's step in s for 1/||u|| = 1/radius, where u = (B + (ridge + s) I)^-1
// right, length = ||u|| and square = u^T (B + (ridge + s) I)^-1 u.
func newtonStep(length, square, radius float64) float64 {
	return length * length / square * (length - radius) / radius
}

// eigen sets the eigenvalues and eigenvectors of B, and reports whether the computation succeeded.
func (m *spanModel) eigen() bool {
	if !m.hessian() {
		return false
	}
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

// combination returns the coefficients of the vectors of basis for the vector with the coordinates
// d. It overwrites d.
func (m *spanModel) combination(d []float64) []float64 {
	c := make([]float64, m.rank)
	for k := m.rank - 1; k >= 0; k-- { // vector k of the basis has no coordinates after k
		row := m.coordinates[k*m.count:][:m.rank]
		c[k] = d[k] / row[k]
		floats.AddScaled(d[:k], -c[k], row[:k])
	}
	return c
}
