package step

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"ppal/trainer/internal/vec"
)

// solvePairs replaces q by B^-1 q, without B: the two-loop recursion (Nocedal and Wright, algorithm
// 7.4). The model needs at least one pair.
func (m *spanModel) solvePairs(q []float64) {
	alpha := m.column[:len(m.pairs)]
	for k, p := range slices.Backward(m.pairs) {
		s, y := m.of(p[0]), m.of(p[1])
		alpha[k] = floats.Dot(s, q) / m.inner[k]
		floats.AddScaled(q, -alpha[k], y)
	}
	floats.Scale(1/m.sigma, q)
	for k, p := range m.pairs {
		s, y := m.of(p[0]), m.of(p[1])
		floats.AddScaled(q, alpha[k]-floats.Dot(y, q)/m.inner[k], s)
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
	for k, p := range m.pairs {
		s, y := m.of(p[0]), m.of(p[1])
		m.times(product, s)
		curvature := floats.Dot(s, product)
		if !(curvature > 0) { // rounding; solvePairs keeps the pair
			continue
		}
		for i := range m.rank {
			addTwo(m.b[i*n:i*n+i+1], -product[i]/curvature, product, y[i]/m.inner[k], y)
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
