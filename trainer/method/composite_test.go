package method

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// A step of composite whose length is at most 4 roundoffs of 1 + ||x|| counts as 0. At x = 9 the
// step of 2 units in the last place does, and the step of 3 units does not.
func TestCompositeStillByHand(t *testing.T) {
	const ulp = 0x1p-49
	for units, still := range map[float64]bool{2: true, 3: false} {
		fn := problem.Functions{F: func(x []float64) float64 { return units * ulp * x[0] }, Gradient: func(d, _ []float64) { d[0] = units * ulp }}
		p, at := begun(t, fn, 9)
		c := newComposite(newAugmentedLagrangian(1, 0), 1/compositeDecay, p)
		require.NoError(t, c.step(p, at))
		want := 2 * c.smooth * units * ulp
		if still {
			want = 0
		}
		if c.residual != want || iterateOf(p)[0] != 9-units*ulp {
			t.Errorf("%v units: residual %v, want %v, at x = %v", units, c.residual, want, iterateOf(p))
		}
	}
}

// Without a gradient the momentum goes on. The first step needs one forward pass, a step with
// momentum two.
func TestCompositeMomentumByHand(t *testing.T) {
	fn := problem.Functions{F: func([]float64) float64 { return 1 }, Gradient: func(d, _ []float64) { d[0] = 0 }}
	inner, at := begun(t, fn, 9)
	p := &counting{Problem: inner}
	c := newComposite(newAugmentedLagrangian(1, 0), 1, p)
	for want := 1; want <= 3; want += 2 {
		if err := c.step(p, at); err != nil || p.forwards != want {
			t.Errorf("%d forward passes, want %d, %v", p.forwards, want, err)
		}
	}
	second := (1 + math.Sqrt(5)) / 2
	if want := (1 + math.Sqrt(1+4*second*second)) / 2; math.Abs(c.t-want) > 1e-15 {
		t.Errorf("t = %v, want %v", c.t, want)
	}
}

// The test of the bound forgives 64 roundoffs of 1 + |value|: f rises from 1e6 by less or by more
// between x = 9 and the rest.
func TestCompositeForgives(t *testing.T) {
	for units, doubles := range map[float64]bool{50: false, 70: true} {
		rise := units * 0x1p-53 * (1 + 1e6)
		fn := problem.Functions{F: func(x []float64) float64 {
			if x[0] == 9 || x[0] > 8.9 {
				return 1e6
			}
			return 1e6 + math.Ceil(rise/0x1p-33)*0x1p-33 // a number of float64
		}, Gradient: func(d, _ []float64) { d[0] = 1e-9 }}
		p, at := begun(t, fn, 9)
		c := newComposite(newAugmentedLagrangian(1, 0), 1e-9/compositeDecay, p)
		if err := c.step(p, at); err != nil || (c.smooth > 1.5e-9) != doubles {
			t.Errorf("%v roundoffs: s = %v, %v", units, c.smooth, err)
		}
	}
}

// If no s satisfies the bound, the search ends at the largest s.
func TestCompositeLimit(t *testing.T) {
	fn := problem.Functions{F: func(x []float64) float64 {
		if x[0] == 9 {
			return 0
		}
		return math.NaN()
	}, Gradient: func(d, _ []float64) { d[0] = math.NaN() }}
	p, at := begun(t, fn, 9)
	c := newComposite(newAugmentedLagrangian(1, 0), 1, p)
	if err := c.step(p, at); err != nil || !(c.smooth > compositeLimit && c.smooth <= 2*compositeLimit) {
		t.Errorf("s = %v, %v", c.smooth, err)
	}
}

// The inner steps of NLIAPIAL: after Inner steps a new centre; the value at the start of a step
// includes the proximal term; and the problem of the iteration is used.
func TestNLIAPIALInner(t *testing.T) {
	inner, at := begun(t, scaled(1, 1), 3)
	m := &NLIAPIAL{Inner: 3, Sigma: 1e-9, Penalty: 1, Modulus: 1, Lipschitz: 5}
	require.NoError(t, m.Init(inner, at))
	if r := m.Report(); !math.IsNaN(r.StepSize) {
		t.Errorf("the first step size is %v", r.StepSize)
	}
	p := &counting{Problem: inner}
	for k := range 9 {
		require.NoError(t, m.Iterate(p, at))
		if centre := p.Space().Distance(problem.Iterate, m.q.Center) == 0; centre != (k%3 == 2) || m.t != (k+1)%3 {
			t.Errorf("step %d: a new centre %v, t = %d", k, centre, m.t)
		}
	}
	if r := m.Report(); p.forwards < 9 || r.StepSize != 1/m.acg.smooth {
		t.Errorf("%d forward passes, step size %v", p.forwards, r.StepSize)
	}

	// From the centre 0, q = x^2 + 50 x^2 has the gradient 102 and the value 51 at x = 1. s = 90
	// violates the bound, s = 180 does not.
	p2, at2 := begun(t, scaled(2, 0), 1)
	m = &NLIAPIAL{Penalty: 1}
	require.NoError(t, m.Init(p2, at2))
	m.q.Rho, m.acg.smooth = 100, 90/compositeDecay
	p2.Space().Write(m.q.Center, []float64{0})
	if err := m.Iterate(p2, at2); err != nil || math.Abs(m.acg.smooth-180) > 1e-9 || math.Abs(iterateOf(p2)[0]-(1-102./180)) > 1e-12 {
		t.Errorf("s = %v at x = %v, %v", m.acg.smooth, iterateOf(p2), err)
	}
}

// NLIAPIAL measures what its settings leave at 0. A second run starts with fresh numbers.
func TestNLIAPIALMeasures(t *testing.T) {
	for _, c := range []struct {
		modulus, lipschitz float64
		measures           bool
	}{{1, 5, false}, {1, 0, true}, {0, 5, true}, {0, 0, true}} {
		p, at := begun(t, scaled(3, 2), 3)
		m := &NLIAPIAL{Modulus: c.modulus, Lipschitz: c.lipschitz, Penalty: 1}
		require.NoError(t, m.Init(p, at))
		require.NoError(t, m.measure(p, at))
		m1 := estimate.Curvature{Objective: c.lipschitz}
		if c.measures {
			q, other := begun(t, scaled(3, 2), 3)
			var err error
			if m1, err = estimate.Curvatures(q, other, false); err != nil {
				t.Fatal(err)
			}
			if c.lipschitz > 0 {
				m1.Objective = c.lipschitz
			}
		}
		rho, _ := estimate.Proximity(0, c.modulus, m1)
		if m.q.Rho != rho || m.acg.smooth != m1.Objective+rho || (at.GradientEvaluations > 0) != c.measures {
			t.Errorf("%+v: rho %v and s %v, want %v and %v; %d gradients", c, m.q.Rho, m.acg.smooth, rho, m1.Objective+rho, at.GradientEvaluations)
		}
		m.t, m.k, m.potential = 5, 6, 7
		if err := m.Init(p, at); err != nil || m.t != 0 || m.k != 0 || !math.IsNaN(m.potential) {
			t.Errorf("a second run starts with t = %d, k = %d, %v, %v", m.t, m.k, m.potential, err)
		}
	}
}

// The first penalty of NLIAPIAL is max(1, M/K^2), and 1 without a slope of the constraints. The
// penalty grows if the mean decrease is at most (1 - sigma^2) tol^2/(4 rho) = 1.5.
func TestNLIAPIALPenaltyByHand(t *testing.T) {
	for _, c := range []struct{ lipschitz, slope, want float64 }{{12, 2, 3}, {3, 2, 1}, {12, 0, 1}} {
		p, at := begun(t, scaled(1, c.slope), 3)
		m := &NLIAPIAL{Modulus: 1, Lipschitz: c.lipschitz}
		require.NoError(t, m.Init(p, at))
		if err := m.measure(p, at); err != nil || m.acg.c != c.want {
			t.Errorf("%+v: c = %v, %v", c, m.acg.c, err)
		}
	}
	for decrease, want := range map[float64]bool{1.4: true, 1.6: false} {
		m := &NLIAPIAL{Sigma: 0.5, Tolerance: 2, q: &problem.Proximal{Rho: 0.5}, potential: 10, k: 3}
		if got := m.stalled(10 - 2*decrease); got != want {
			t.Errorf("a mean decrease of %v: stalled %v", decrease, got)
		}
	}
}
