package method_test

import (
	"math"
	"testing"

	"ppal/internal/testkit"
	"ppal/trainer/method"
)

// iapialByHand is the method by hand, on the hand-made problem.
type iapialByHand struct {
	rho, c, sigma, tol float64
	smooth, t          float64
	p, w               [2]float64
	center, previous   [2]float64
	k, doubled, outer  int
	potential          float64
	started            bool
}

// lagrangian returns L_c(x; p) and stores the weights of its gradient.
func (h *iapialByHand) lagrangian(x [2]float64) float64 {
	value, g := testkit.HandF(x), testkit.HandH(x)
	for j := range g {
		h.w[j] = math.Max(0, h.p[j]+h.c*g[j])
		value += (h.w[j]*h.w[j] - h.p[j]*h.p[j]) / (2 * h.c)
	}
	return value
}

// inner returns the objective of the inner problem, divided by lambda.
func (h *iapialByHand) inner(x [2]float64) float64 {
	d := norm2(minus(x, h.center))
	return h.lagrangian(x) + h.rho/2*d*d
}

func (h *iapialByHand) step(x [2]float64) [2]float64 {
	if !h.started {
		h.started, h.center, h.previous = true, x, x
	}
	following := (1 + math.Sqrt(1+4*h.t*h.t)) / 2
	b := (h.t - 1) / following
	y := x
	for i := range y {
		y[i] += b * (x[i] - h.previous[i])
	}
	value := h.inner(y)
	d := handDirection(y, h.w)
	for i := range d {
		d[i] += h.rho * (y[i] - h.center[i])
	}
	h.smooth *= 0.9
	var next [2]float64
	for {
		along, length := 0.0, 0.0
		for i := range y {
			next[i] = y[i] - d[i]/h.smooth
			along += d[i] * (next[i] - y[i])
		}
		length = norm2(minus(next, y))
		if h.inner(next) <= value+along+h.smooth/2*length*length+1e-14*(1+math.Abs(value)) {
			break
		}
		h.smooth *= 2
	}
	residual := 2 * h.smooth * norm2(minus(next, y))
	if a, c := minus(y, next), minus(next, x); a[0]*c[0]+a[1]*c[1] > 0 {
		following = 1
	}
	h.t, h.previous = following, x
	if residual <= h.sigma*h.rho*norm2(minus(next, h.center)) {
		h.update(next)
	}
	return next
}

// update ends an outer iteration.
func (h *iapialByHand) update(z [2]float64) {
	h.outer++
	h.lagrangian(z)
	h.p = h.w
	potential := h.lagrangian(z)
	h.k++
	if h.k == 1 {
		h.potential = potential
	} else if (h.potential-potential)/float64(h.k-1) <= (1-h.sigma*h.sigma)*h.tol*h.tol/(4*h.rho) {
		h.c *= 2
		h.k = 0
		h.doubled++
	}
	h.center, h.t = z, 1
}

func TestNLIAPIALStepsByHand(t *testing.T) {
	m := &method.NLIAPIAL{Penalty: 2, Modulus: 1, Lipschitz: 3, Sigma: 0.4, Tolerance: 1}
	h := &iapialByHand{rho: 2, c: 2, sigma: 0.4, tol: 1, smooth: 3 + 2, t: 1}
	compare(t, handProblem(t, testkit.HandFunctions()), m, 40, func(x [2]float64) ([2]float64, []float64) {
		x = h.step(x)
		return x, h.p[:]
	})
	if h.outer < 3 || h.doubled < 1 {
		t.Errorf("%d outer iterations and c doubled %d times: the test needs both", h.outer, h.doubled)
	}
}
