package method

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// counting counts the forward passes and keeps the batches.
type counting struct {
	problem.Problem
	forwards int
	asked    []int
}

func (c *counting) Forward(g []float64) (float64, error) { c.forwards++; return c.Problem.Forward(g) }
func (c *counting) Sample(k int) error                   { c.asked = append(c.asked, k); return nil }

// NonSmooth implements problem.NonSmooth.
func (c *counting) NonSmooth() bool { return false }

// Iteration k ends with the batch k + 1, for each method that takes batches.
func TestMethodsAskForTheNextBatch(t *testing.T) {
	for _, m := range []trainer.Method{&PPALA{}, &PLADA{}, &GDPA{}, &SSG{Step: 0.1}, &IPPSSG{Bound: 1, ProximalPoint: ProximalPoint{RhoHat: 1}},
		&IPPConEx{T0: 1, ProximalPoint: ProximalPoint{RhoHat: 1}}, &Penalty{}, &GDA{}, &ALM{}, &Unconstrained{}} {
		inner, _ := begun(t, scaled(1, 1), 3)
		p := &counting{Problem: inner}
		at := problem.NewPoint(p)
		require.NoError(t, at.SampleAndForward(p, 0))
		require.NoError(t, m.Init(p, &at))
		for at.Iteration = range 3 {
			require.NoError(t, m.Iterate(p, &at))
		}
		if !slices.Equal(p.asked, []int{0, 1, 2, 3}) {
			t.Errorf("%s: the batches %v", m.Name(), p.asked)
		}
	}
}

// The weights of the multipliers' network are uniform within 1/sqrt(inputs), for the last layer
// 1/sqrt(units), and the last bias is 1. Two Adagrad steps by hand, with tiny gradients.
func TestMultiplierNetworkByHand(t *testing.T) {
	const inputs, units = 4, 100
	net := newMultiplierNetwork(inputs, units, 1, rand.New(rand.NewPCG(1, 2)))
	for _, part := range []struct {
		x     []float64
		bound float64
	}{{net.x[:units*inputs], 0.5}, {net.x[units*inputs : units*(inputs+1)], 0.5}, {net.x[units*(inputs+1) : units*(inputs+2)], 0.1}} {
		if least, most := slices.Min(part.x), slices.Max(part.x); least < -part.bound || most > part.bound || least > -0.9*part.bound || most < 0.9*part.bound {
			t.Errorf("weights between %v and %v, want the bound %v", least, most, part.bound)
		}
	}
	if net.x[len(net.x)-1] != 1 {
		t.Errorf("the last bias is %v", net.x[len(net.x)-1])
	}
	net = newMultiplierNetwork(1, 1, 1, rand.New(rand.NewPCG(1, 2)))
	x := []float64{2, 1, 0.5, 1} // lambda(3) = |0.5 relu(2*3 + 1) + 1| = 4.5
	copy(net.x, x)
	squares := make([]float64, 4)
	for k, slope := range []float64{2e-10, -3e-10} {
		h := x[0]*3 + x[1]
		want := x[2]*h + x[3]
		if got := multipliersOf(net, []float64{3})[0]; math.Abs(got-want) > 1e-15*want {
			t.Errorf("step %d: lambda = %v, want %v", k, got, want)
		}
		net.descend([]float64{3}, []float64{slope}, 0.1)
		for i, g := range []float64{slope * x[2] * 3, slope * x[2], slope * h, slope} {
			squares[i] += g * g
			x[i] -= 0.1 * g / (math.Sqrt(squares[i]) + 1e-10)
		}
		for i := range x {
			if math.Abs(net.x[i]-x[i]) > 1e-14 || math.Abs(net.squares[i]-squares[i]) > 1e-14*squares[i] {
				t.Errorf("step %d: parameter %d is %v, want %v", k, i, net.x[i], x[i])
			}
		}
	}
}

// The report and the state of the multiplier model have its last multiplier.
func TestMultiplierModelReports(t *testing.T) {
	p := newTwoGroups(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.SampleAndForward(p, 0))
	m := &MultiplierModel{}
	for range 2 { // a second run forgets the multiplier
		if err := m.Init(p, &at); err != nil || m.Report().Multipliers != nil {
			t.Errorf("%v, %v", m.Report(), err)
		}
		if err := m.Iterate(p, &at); err != nil || len(m.Report().Multipliers) != 1 {
			t.Errorf("%v, %v", m.Report(), err)
		}
	}
	if err := m.Iterate(silent{p}, &at); !errors.Is(err, errSilent) {
		t.Errorf("the error of the forward pass, not %v", err)
	}
	if s := trainer.Capture(p, m); len(s.Numbers["multiplier.last"]) != 1 || s.Numbers["multiplier.last"][0] != m.multipliers[0] {
		t.Errorf("%v", s.Numbers)
	}
}

// silent is a problem whose forward pass fails.
type silent struct{ problem.Problem }

var errSilent = errors.New("no forward pass")

func (silent) Forward([]float64) (float64, error) { return 0, errSilent }

// The loop around the proximal problems: what it measures, an empty mean, a centre, and the limit
// of the warning.
func TestProximalLoopByHand(t *testing.T) {
	inner, at := begun(t, scaled(1, 1), 3)
	p := &counting{Problem: inner}
	for _, measure := range []bool{false, true} {
		for _, rho := range []float64{0, 2} {
			if l := newProximalLoop(ProximalPoint{RhoHat: rho}, measure, p); l.measure != (measure || rho == 0) {
				t.Errorf("measure %v, rho^ %v: %v", measure, rho, l.measure)
			}
		}
	}
	l := newProximalLoop(ProximalPoint{RhoHat: 2, Inner: 1}, false, p)
	if ended, err := l.advance(p, at, nobody{}); !ended || err != nil || p.forwards != 1 || l.t != 0 {
		t.Errorf("an empty mean: ended %v after %d forward passes, t = %d, %v", ended, p.forwards, l.t, err)
	}
	if l.total = 1; l.moveToMean(p) || iterateOf(p)[0] != 3 {
		t.Errorf("at a centre the iterate moves to %v", iterateOf(p))
	}
	if ended, err := l.advance(p, at, nobody{}); !ended || err != nil || p.forwards != 3 || l.t != 0 || iterateOf(p)[0] != 0 {
		t.Errorf("the mean is 0, not %v: ended %v after %d forward passes, t = %d, %v", iterateOf(p), ended, p.forwards, l.t, err)
	}
	for weak, warns := range map[float64]bool{1.9: false, 2: true} {
		l := proximalLoop{set: ProximalPoint{RhoHat: 2}, rho: 2, measured: estimate.Curvature{Weak: weak}}
		if warnings, notes := l.conclude("--rho"); (len(warnings) == 1) != warns || len(notes) != 0 {
			t.Errorf("weak %v: %q, %q", weak, warnings, notes)
		}
	}
}

type nobody struct{}

func (nobody) see(problem.Problem, *problem.Point) {}

// IPPSSG doubles N if no iterate counts and g at the centre does not fall, up to a limit.
func TestLengthenByHand(t *testing.T) {
	for i, c := range []struct {
		counted, inner int
		worst          float64
		want           int
	}{{0, 8, 2, 16}, {0, 8, 3, 16}, {0, 8, 1, 8}, {1, 8, 3, 8}, {0, ippSSGMost, 3, ippSSGMost}, {0, ippSSGMost / 2, 3, ippSSGMost}} {
		m := &IPPSSG{counted: c.counted, centerWorst: 2, loop: proximalLoop{inner: c.inner}}
		if m.lengthen(&problem.Point{Constraints: []float64{c.worst}}); m.loop.inner != c.want {
			t.Errorf("case %d: N = %d, want %d", i, m.loop.inner, c.want)
		}
	}
}

// IPPSSG at a centre: L, the count of the iterates, and the proximal map of a step on f, which a
// step on g does not take. The regularizer is |x|/4.
func TestIPPSSGByHand(t *testing.T) {
	for _, c := range []struct{ start, slope, bound, soft float64 }{{0.5, 0.5, 10, 0.25}, {3, 10, 10, 0}, {0.5, 0.5, 0.1, 0.25}, {-30, -30, 0.1, -0.25}} {
		fn := scaled(1, c.bound)
		fn.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: 0.25}
		p, at := begun(t, fn, c.start)
		m := &IPPSSG{ProximalPoint: ProximalPoint{RhoHat: 2, Modulus: 1, Inner: 5}, Tolerance: 0.01}
		require.NoError(t, m.Init(p, at))
		m.coefficients[1] = 1 // of an earlier step
		require.NoError(t, m.open(p, at))
		l := max(math.Abs(c.start), 2+m.loop.measured.Objective, c.bound)
		if math.Abs(m.l-l) > 1e-9 || m.counted != 0 || m.centerWorst != c.bound*(c.start-1) {
			t.Errorf("start %v: L = %v, want %v; counted %d, g %v", c.start, m.l, l, m.counted, m.centerWorst)
		}
		require.NoError(t, m.Iterate(p, at))
		if want := c.start - m.last*(c.slope+c.soft); math.Abs(iterateOf(p)[0]-want) > 1e-12 {
			t.Errorf("x = %v, want %v", iterateOf(p), want)
		}
		if feasible := c.start < 1; (m.counted == 1) != feasible || m.counted < 0 {
			t.Errorf("start %v: counted %d", c.start, m.counted)
		}
	}
	p, _ := begun(t, scaled(1, 1), 0)
	m := &IPPSSG{Tolerance: 0.25, loop: newProximalLoop(ProximalPoint{RhoHat: 2}, false, p)}
	if !m.counts(p, 0.25) || m.counts(p, 0.26) {
		t.Error("the tolerance")
	}
}

// IPPConEx at a centre: t0 = 2 + L/rho^ with y = 0, and M from the Jacobian for more terms than
// estimate.Terms bounds one by one, measured once.
func TestIPPConExByHand(t *testing.T) {
	for _, count := range []int{estimate.MostTerms, estimate.MostTerms + 1} {
		fn := problem.Functions{M: count, F: func(x []float64) float64 { return 3 * x[0] * x[0] / 2 }, Gradient: func(d, x []float64) { d[0] = 3 * x[0] },
			G: func(g, x []float64) {
				for j := range g {
					g[j] = 2 * (x[0] - 1)
				}
			},
			JacobianT: func(d, _, w []float64) {
				d[0] = 0
				for _, v := range w {
					d[0] += 2 * v
				}
			}}
		p, at := begun(t, fn, 3)
		m := &IPPConEx{}
		require.NoError(t, m.Init(p, at))
		require.NoError(t, m.open(p, at))
		want := 0.0
		if count > estimate.MostTerms {
			want = 4 * float64(count)
		}
		if math.Abs(m.norm2-want) > 1e-6*want || m.bound2 < want*(1-1e-6) {
			t.Errorf("%d constraints: ||J||^2 = %v, want %v; M^2 = %v", count, m.norm2, want, m.bound2)
		}
		if t0 := 2 + m.loop.measured.Objective/m.loop.rho; m.t0 != t0 {
			t.Errorf("t0 = %v, want %v", m.t0, t0)
		}
		if m.norm2 = 7; m.size(p, at) != nil || m.norm2 != 7 {
			t.Errorf("||J||^2 is measured again: %v", m.norm2)
		}
	}
}

// The step sizes of IPPConEx: L = 3 + ||y||_1 (5 + rho^) = 24, and 2/(rho^ (t + t0 + 1)), at most
// 1/(L + rho^) without a t0 of the user. Without subgradients y stays.
func TestIPPConExStepsByHand(t *testing.T) {
	for t0, want := range map[float64]float64{0: 1. / 26, 1: 0.5} {
		p, at := begun(t, scaled(1, 1), 3)
		m := &IPPConEx{T0: t0, ProximalPoint: ProximalPoint{RhoHat: 2}}
		require.NoError(t, m.Init(p, at))
		m.loop.rho, m.loop.measured, m.y, m.t0 = 2, estimate.Curvature{Objective: 3, Constraint: 5}, []float64{3}, 1
		if m.curvature() != 24 {
			t.Errorf("L = %v", m.curvature())
		}
		require.NoError(t, m.gradients(p, at))
		if err := m.descend(p, 0); err != nil || math.Abs(m.last-want) > 1e-15 {
			t.Errorf("t0 = %v: a step of %v, want %v, %v", t0, m.last, want, err)
		}
		m.now[0], m.before[0], m.bound2 = 1, 1, 0
		if m.ascend(0); m.y[0] != 3 {
			t.Errorf("y = %v", m.y)
		}
	}
}

// A step on g ends in the box.
func TestSwitchingStepsProject(t *testing.T) {
	for _, m := range []trainer.Method{&IPPSSG{ProximalPoint: ProximalPoint{RhoHat: 2}, Bound: 1}, &SSG{Step: 1}} {
		fn := scaled(1, 10)
		fn.Regularizer = problem.Regularizer{Kind: problem.Box, Lower: 2.9, Upper: 4}
		p, at := begun(t, fn, 3)
		require.NoError(t, m.Init(p, at))
		if err := m.Iterate(p, at); err != nil || iterateOf(p)[0] != 2.9 {
			t.Errorf("%s: x = %v, %v", m.Name(), iterateOf(p), err)
		}
	}
	p, at := begun(t, scaled(0, 1), 0) // f has no curvature
	ssg := &SSG{}
	require.NoError(t, ssg.Init(p, at))
	if err := ssg.measure(p, at); err != nil || ssg.c != 1 {
		t.Errorf("c = %v, %v", ssg.c, err)
	}
}

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
