package step

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"ppal/internal/vec"
)

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
