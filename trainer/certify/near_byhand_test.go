package certify

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

func closeTo(x, y float64) bool { return math.Abs(x-y) <= 1e-14*(1+math.Abs(y)) }

// The bound is (v + sqrt(v^2 + 2 s (nu infeasibility + complementarity)))/s with s = 2 strong (1 +
// nu): s = 4, v = 3, nu = 3.
func TestBoundByHand(t *testing.T) {
	n := &nearSolver{strong: 0.5}
	c := Certificate{Nu: []float64{1, 2}, Stationarity: 3, Infeasibility: 0.1, Complementarity: 0.2}
	if got, want := n.bound(c), (3+math.Sqrt(9+2*4*(0.3+0.2)))/4; !closeTo(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The model bounds f at the trial point by f~ + v.d + s/2 ||d||^2 = 3 + 1 + 4/2 0.25 = 4.5, and the
// constraint by 2 - 1 + 0.5. A larger value needs a larger s.
func TestNeededByHand(t *testing.T) {
	p := require.Value(problem.Functions{N: 1, M: 1,
		F: func(x []float64) float64 { return x[0] }, Gradient: func(dst, _ []float64) { dst[0] = 1 },
		G: func(dst, x []float64) { dst[0] = x[0] }, JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}.New([]float64{1}))(t)
	n := newNearSolver(p, NearSettings{}, estimate.Curvature{})
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
		{4 + 4./2*0.25 + n.forgiven(3), 1 + 4./2*0.25 + n.forgiven(2), true, 0},
		{4.5, 1.5, true, 0}, {4.4, 0, true, 0}, {4.75, 1.5, false, 2*0.75/0.25 - n.rho}, {4.5, 2.5, false, 2*1.5/0.25 - n.rho},
		{4.75, 2.5, false, 2*1.5/0.25 - n.rho}, {math.Inf(1), 1.5, false, 0}, {math.NaN(), 1.5, false, 0},
	} {
		n.at.Objective, n.at.Constraints = c.f, []float64{c.g}
		if beyond, within := n.needed(); within != c.within || !closeTo(beyond, max(0, c.beyond)) {
			t.Errorf("f = %v, g = %v: within %v, l = %v, want %v, %v", c.f, c.g, within, beyond, c.within, c.beyond)
		}
	}
}

// l is the larger of its half and 1.1 seen - rho^, where seen is the change of the pull, 6 + 0.5 a
// - 1 = 4, divided by length (1 + l_1). Steps of at most 1000 u (1 + |y|) and infinite gradients
// change nothing.
func TestAdaptByHand(t *testing.T) {
	n := newNearSolver(scalars()["line"].at(t, 0), NearSettings{RhoHat: 1}, estimate.Curvature{})
	u := n.q.Space().Roundoff()
	n.model = lineModel(problem.Regularizer{}, -3, 6, 5, 0, [2]float64{0, -2})
	n.last = n.model.New()
	n.multipliers = []float64{0.5}
	for _, c := range []struct{ last, length, beyond, want float64 }{
		{1, 0.25, 2, 1.1*4/(0.25*1.5) - 1}, {1, 0.25, 30, 15}, {1, 1000 * u * 4, 2, 2}, {1, 1001 * u * 4, 2, 1.1*4/(1001*u*4*1.5) - 1},
		{1, 0, 2, 2}, {math.NaN(), 0.25, 2, 2}, {math.Inf(1), 0.25, 2, 2},
	} {
		n.model.Slice(n.last)[0], n.beyond = c.last, c.beyond
		if n.adapt(c.length); math.Abs(n.beyond-c.want) > 1e-12*(1+c.want) {
			t.Errorf("%+v: l = %v", c, n.beyond)
		}
	}
}

// The largest constraints above the level join first, and equal ones in their order. Only the
// gradients of new constraints are evaluated.
func TestAdmitByHand(t *testing.T) {
	fn := problem.Functions{N: 1, M: 5, F: func([]float64) float64 { return 0 }, Gradient: func(dst, _ []float64) { dst[0] = 0 },
		G: func(dst, _ []float64) { copy(dst, []float64{1, 3, 3, 2, 0.5}) },
		JacobianT: func(dst, _, w []float64) {
			dst[0] = 0
			for j, v := range w {
				dst[0] += v * float64(j+10)
			}
		}}
	p := require.Value(fn.New([]float64{0}))(t)
	n := newNearSolver(p, NearSettings{RhoHat: 1}, estimate.Curvature{})
	require.NoError(t, n.at.Forward(n.q))
	copy(n.values, n.at.Constraints)
	if k := n.admit(0.5, 1); k != 1 || !slices.Equal(n.working, []int{1}) {
		t.Errorf("%d join: %v", k, n.working)
	}
	n.model.Slice(n.model.columns[0])[0] = 99
	if k := n.admit(0.5, 9); k != 3 || !slices.Equal(n.working, []int{1, 2, 3, 0}) || len(n.multipliers) != 4 {
		t.Errorf("%d join: %v", k, n.working)
	}
	require.NoError(t, n.columns(1))
	for i, want := range []float64{99, 12, 13, 10} {
		if got := n.model.Slice(n.model.columns[i])[0]; got != want || n.model.values[i] != n.values[n.working[i]] || n.model.gram.At(i, 0) != 99*want {
			t.Errorf("column %d is %v, want %v; %v", i, got, want, n.model.values)
		}
	}
	n.model.curvature, n.least = 1, 7
	n.working, n.model.columns, n.model.values, n.multipliers = nil, nil, nil, nil
	if n.solve(); !math.IsInf(n.least, -1) {
		t.Errorf("without constraints the maximum is at least %v", n.least)
	}
}
