package step

import "math"

// region is the subproblem of a quasi-Newton step in the eigenvectors of the model's Hessian:
//
//	minimise  g.d + d.diag(h) d/2 + (ridge/2)||x + d||^2   over  ||d|| <= radius,  ||x + d|| <= ball.
//
// Both balls give multiples of the identity, so that the minimiser for the multipliers s of the
// trust region and t of the ball is
//
//	d(s, t) = -(g + (ridge + t) x)/(h + ridge + s + t),
//
// elementwise. ||d|| falls with s and ||x + d|| falls with t (Conn, Gould and Toint, Trust-Region
// Methods, 2000, section 7.3). All slices have the same length.
type region struct {
	h       []float64 // eigenvalues, all > 0
	g, x, d []float64
	ridge   float64
	radius  float64 // of the trust region
	ball    float64 // radius of the ball; 0: no ball
}

const (
	regionTolerance = 1e-9  // relative accuracy of the norms
	rootTolerance   = 1e-15 // relative accuracy of a root
	regionTries     = 200   // largest number of bisections
)

// solve sets d to the minimiser. It returns the decrease of the model from d = 0, whether the trust
// region cuts the step, and whether x + d is on the sphere of the ball.
func (r *region) solve() (decrease float64, cut, sphere bool) {
	s := r.shrink(0)
	if sphere = r.ball > 0 && r.norm(1) > r.ball; sphere {
		// ||x + d|| - ball falls with t, because t maximises the concave dual function.
		t := rootOf(func(t float64) float64 { s = r.shrink(t); return r.norm(1) - r.ball }, r.h[len(r.h)-1]*1e-9)
		s = r.shrink(t)
	}
	for i, d := range r.d {
		slope := r.g[i] + r.ridge*r.x[i]
		decrease -= d * (slope + (r.h[i]+r.ridge)*d/2)
	}
	return decrease, s > 0, sphere
}

// shrink sets d = d(s, t) for the smallest s >= 0 with ||d|| <= radius, and returns s.
func (r *region) shrink(t float64) (s float64) {
	r.move(0, t)
	if r.norm(0) <= r.radius {
		return 0
	}
	// Newton's iteration on 1/||d(s)|| - 1/radius, which is concave and nearly linear in s, converges
	// from the left without overshooting.
	for range regionTries {
		n := r.norm(0)
		if math.Abs(n-r.radius) <= regionTolerance*r.radius {
			break
		}
		slope := 0.0
		for i, d := range r.d {
			slope += d * d / (r.h[i] + r.ridge + s + t)
		}
		s += n * n / slope * (n - r.radius) / r.radius
		r.move(s, t)
	}
	return s
}

// move sets d = d(s, t).
func (r *region) move(s, t float64) {
	for i := range r.d {
		r.d[i] = -(r.g[i] + (r.ridge+t)*r.x[i]) / (r.h[i] + r.ridge + s + t)
	}
}

// norm returns ||a x + d||.
func (r *region) norm(a float64) float64 {
	sum := 0.0
	for i, d := range r.d {
		v := a*r.x[i] + d
		sum += v * v
	}
	return math.Sqrt(sum)
}

// rootOf returns a point t >= 0 with f(t) <= 0, close to the root of the falling function f with
// f(0) > 0. The first guess is hi > 0.
func rootOf(f func(t float64) float64, hi float64) float64 {
	lo := 0.0
	for range regionTries {
		if f(hi) <= 0 {
			break
		}
		lo, hi = hi, 4*hi
	}
	for range regionTries {
		if hi-lo <= rootTolerance*hi {
			break
		}
		if mid := (lo + hi) / 2; f(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
