package step

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
)

// correct gives the model the pairs of the Lagrangian, with the gradient changes y - A^T dw. The
// vectors of pair k are s = pairs[k][0] and y = pairs[k][1], and dw = changes[k]; vector row + j is
// row j of A. A Lagrangian may have negative curvature. Therefore the pairs are damped: where y^T s
// is below leastDamped s^T B s, y moves towards B s (Powell 1978; Nocedal and Wright, procedure
// 18.2). sigma is that of the last pair with positive curvature, or ||y||/||s|| of the first pair,
// and at least least.
func (m *spanModel) correct(pairs [][2]int, changes [][]float64, row int, least float64) {
	m.begin(true)
	m.changed = resized(m.changed, len(pairs)*m.rank)
	for k, p := range pairs {
		s, y := m.direction(p[0]), m.changed[k*m.rank:(k+1)*m.rank]
		copy(y, m.direction(p[1]))
		for j, v := range changes[k] {
			floats.AddScaled(y, -v, m.direction(row+j))
		}
		ss, sy, yy := floats.Dot(s, s), floats.Dot(s, y), floats.Dot(y, y)
		switch {
		case sy > leastCosine*math.Sqrt(ss*yy):
			m.sigma = yy / sy
		case m.sigma == 0:
			m.sigma = math.Sqrt(yy / ss)
		}
		m.pairs = append(m.pairs, spanPair{s, y, sy})
	}
	m.sigma = math.Max(m.sigma, least)
}

// solvePairs replaces q by B^-1 q, without B: the two-loop recursion (Nocedal and Wright, algorithm
// 7.4). The model needs at least one pair.
func (m *spanModel) solvePairs(q []float64) {
	alpha := m.column[:len(m.pairs)]
	for k, p := range slices.Backward(m.pairs) {
		alpha[k] = floats.Dot(p.s, q) / p.inner
		floats.AddScaled(q, -alpha[k], p.y)
	}
	floats.Scale(1/m.sigma, q)
	for k, p := range m.pairs {
		floats.AddScaled(q, alpha[k]-floats.Dot(p.y, q)/p.inner, p.s)
	}
}

// leastDamped is the least y^T s of a damped pair, relative to s^T B s.
const leastDamped = 0.2

// hessian computes B once, and damps the pairs if m.damped says so. It returns false if B is not
// finite.
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
		m.times(product, p.s)
		curvature := floats.Dot(p.s, product)
		if !(curvature > 0) { // rounding; solvePairs keeps the pair
			continue
		}
		if m.damped && p.inner < leastDamped*curvature { // y becomes t y + (1 - t) B s
			t := (1 - leastDamped) * curvature / (curvature - p.inner)
			floats.Scale(t, p.y)
			floats.AddScaled(p.y, 1-t, product)
			p.inner = leastDamped * curvature
		}
		for i := range m.rank {
			addTwo(m.b[i*n:i*n+i+1], -product[i]/curvature, product, p.y[i]/p.inner, p.y)
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
func (m *spanModel) factorize(shift float64) bool { return m.factorizeMatrix(m.b, shift) }

// factorizeMatrix is factorize for another matrix b, whose lower triangle has rows of m.count
// elements, in place of B.
func (m *spanModel) factorizeMatrix(b []float64, shift float64) bool {
	n, largest := m.count, 0.0
	for i := range m.rank {
		largest = math.Max(largest, b[i*n+i]+shift)
	}
	for k := range m.rank {
		own := m.factor[k*n : k*n+k]
		pivot := b[k*n+k] + shift - floats.Dot(own, own)
		if !(pivot > leastPivot*largest) {
			return false
		}
		diagonal := math.Sqrt(pivot)
		m.factor[k*n+k] = diagonal
		products := m.column[:m.rank-k-1]
		rowProducts(products, m.factor[(k+1)*n:], n, own)
		for i, p := range products {
			at := (k+1+i)*n + k
			m.factor[at] = (b[at] - p) / diagonal
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
	dst.MulVec(m.vectors.T(), mat.NewVecDense(m.rank, m.direction(i)))
	return dst.RawVector().Data
}

// unrotate returns the coordinates of the vector with the coordinates d in the eigenvectors of B.
func (m *spanModel) unrotate(d []float64) []float64 {
	dst := mat.NewVecDense(m.rank, nil)
	dst.MulVec(&m.vectors, mat.NewVecDense(m.rank, d))
	return dst.RawVector().Data
}
