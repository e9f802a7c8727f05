package near

import (
	"math"
	"testing"

	"ppal/trainer/certify"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

func closeTo(x, y float64) bool { return math.Abs(x-y) <= 1e-14*(1+math.Abs(y)) }

// The bound is (v + sqrt(v^2 + 2 s (nu infeasibility + complementarity)))/s with s = 2 strong (1 +
// nu): s = 4, v = 3, nu = 3.
func TestBoundByHand(t *testing.T) {
	n := &nearSolver{strong: 0.5}
	c := certify.Certificate{Nu: []float64{1, 2}, Stationarity: 3, Infeasibility: 0.1, Complementarity: 0.2}
	if got, want := n.bound(c), (3+math.Sqrt(9+2*4*(0.3+0.2)))/4; !closeTo(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The model bounds f at the trial point by f~ + v.d + s/2 ||d||^2 = 3 + 1 + 4/2 0.25 = 4.5, and the
// constraint by 2 - 1 + 0.5. A larger value needs a larger s.
func TestNeededByHand(t *testing.T) {
	p, err := problem.Functions{N: 1, M: 1,
		F: func(x []float64) float64 { return x[0] }, Gradient: func(dst, _ []float64) { dst[0] = 1 },
		G: func(dst, x []float64) { dst[0] = x[0] }, JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}.New([]float64{1})
	if err != nil {
		t.Fatal(err)
	}
	n := newNearSolver(p, Settings{}, estimate.Curvature{})
	b, u := n.model, n.q.Space().Roundoff()
	if got, want := n.forgiven(-3), nearForgiven*u*4; got != want {
		t.Errorf("forgiven: %v, want %v", got, want)
	}
	b.Slice(b.v)[0], b.Slice(b.d)[0] = 2, 0.5
	b.curvature, b.size = 4, 0.25
	n.objective, n.values, n.working, b.along = 3, []float64{2}, []int{0}, []float64{-1}
	for _, c := range []struct {
		f, g   float64
		within bool
		beyond float64
	}{
		{4.5, 1.5, true, 0}, {4.4, 0, true, 0}, {4.75, 1.5, false, 2*0.75/0.25 - n.rho}, {4.5, 2.5, false, 2*1.5/0.25 - n.rho},
		{4.75, 2.5, false, 2*1.5/0.25 - n.rho}, {math.Inf(1), 1.5, false, 0}, {math.NaN(), 1.5, false, 0},
	} {
		n.at.Objective, n.at.Constraints = c.f, []float64{c.g}
		if beyond, within := n.needed(); within != c.within || !closeTo(beyond, max(0, c.beyond)) {
			t.Errorf("f = %v, g = %v: within %v, l = %v, want %v, %v", c.f, c.g, within, beyond, c.within, c.beyond)
		}
	}
}
