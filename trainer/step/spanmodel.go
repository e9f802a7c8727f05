package step

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
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
	count       int        // the number of vectors
	rank        int        // the dimension of the span
	coordinates []float64  // [count, rank]: row i has the coordinates of vector order[i]
	order       []int      // all vectors; the first rank are independent and give the basis
	row         []int      // the inverse of order: the row of each vector
	pairs       []spanPair // those of take or of correct
	damped      bool       // the pairs are those of correct
	changed     []float64  // [pairs, rank]: their y
	sigma       float64    // y^T y/(y^T s) of the last pair of take; 0 without pairs; see correct
	formed      bool       // B is computed
	b           []float64  // [rank, rank]: the lower triangle of B
	factor      []float64  // [rank, rank]: the lower Cholesky factor of B plus a multiple of I
	eigenvalues []float64  // of B, ascending; nil before eigen
	vectors     mat.Dense  // the eigenvectors

	scaled, rest, length, product, column, inverse []float64 // scratch
}

// spanPair has the coordinates of a pair.
type spanPair struct {
	s, y  []float64
	inner float64 // y^T s
}

// spanTolerance is the smallest relative squared distance of a vector to the span of the vectors
// before it that adds a dimension.
const spanTolerance = 1e-12

// build sets the basis and the coordinates for the Gram matrix of the vectors, without pairs. It
// returns false if the Gram matrix is 0 or not finite.
func (m *spanModel) build(gram *mat.SymDense) bool {
	n := gram.SymmetricDim()
	m.count = n
	for _, matrix := range []*[]float64{&m.scaled, &m.coordinates, &m.b, &m.factor} {
		*matrix = resized(*matrix, n*n)
	}
	for _, vector := range []*[]float64{&m.rest, &m.length, &m.product, &m.column, &m.inverse} {
		*vector = resized(*vector, n)
	}
	m.order, m.row = resized(m.order, n), resized(m.row, n)
	m.rank = 0
	m.begin(false)
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
	return m.rank > 0
}

// begin removes the pairs and B.
func (m *spanModel) begin(damped bool) {
	m.pairs, m.damped, m.sigma, m.formed, m.eigenvalues = m.pairs[:0], damped, 0, false, nil
}

// take gives the model of build the pairs with s = vector pairs[i][0], y = vector pairs[i][1] and
// y^T s > 0. It returns false if sigma is not finite.
func (m *spanModel) take(pairs [][2]int) bool {
	for _, p := range pairs {
		s, y := m.direction(p[0]), m.direction(p[1])
		if sy := floats.Dot(s, y); sy > 0 {
			m.pairs, m.sigma = append(m.pairs, spanPair{s, y, sy}), floats.Dot(y, y)/sy
		}
	}
	return vec.Finite(m.sigma)
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
func (m *spanModel) direction(i int) []float64 {
	at := m.row[i] * m.count
	return m.coordinates[at : at+m.rank]
}

// basis returns the vectors whose combinations form the orthonormal basis.
func (m *spanModel) basis() []int { return m.order[:m.rank] }

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
