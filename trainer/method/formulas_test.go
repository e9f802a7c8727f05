package method

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// begun returns the problem of fn at start with its forward pass.
func begun(t *testing.T, fn problem.Functions, start ...float64) (problem.Problem, *problem.Point) {
	t.Helper()
	fn.N = len(start)
	p := require.Value(fn.New(start))(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	return p, &at
}

func iterateOf(p problem.Problem) []float64 {
	x := make([]float64, p.Space().Len())
	p.Space().Read(x, problem.Iterate)
	return x
}

// scaled is f = a x^2/2 subject to c (x - 1) <= 0.
func scaled(a, c float64) problem.Functions {
	return problem.Functions{M: 1, F: func(x []float64) float64 { return a * x[0] * x[0] / 2 }, Gradient: func(d, x []float64) { d[0] = a * x[0] },
		G: func(g, x []float64) { g[0] = c * (x[0] - 1) }, JacobianT: func(d, _, w []float64) { d[0] = c * w[0] }}
}

// The dual step of PLADA by hand: nu = max(0, lambda - u/tau), u = max(0, u - tau lambda) and s =
// min(sigma_0/rho, delta/((lambda - mu)^2 + 1)) = 1/8.
func TestPLADADualStepByHand(t *testing.T) {
	m := &PLADA{Sigma0: 0.5}
	m.dual = perturbed{set: Perturbation{DeltaP: 1, DeltaQ: 1}, rho: 4, tau: 0.125, k: 1,
		lambda: []float64{3}, mu: []float64{2}, u: []float64{0.25}, nu: []float64{0}}
	m.UpdateDual([]float64{-0.5})
	if d := m.dual; d.nu[0] != 1 || d.u[0] != 0 || d.mu[0] != 2.125 || d.lambda[0] != 2.125-2 || d.delta != 0.5 {
		t.Errorf("%+v", d)
	}
}

// On 4 batches in a pass, iteration k of PPALA and PLADA takes delta_{k/4}/4, and the warning
// compares delta_{k/4}. ALM then moves lambda by c g/4 in each iteration; with Inner 8, by c g/8.
func TestDualStepOnBatches(t *testing.T) {
	for _, m := range []interface {
		batchRule
		trainer.Method
	}{&PPALA{Primal: step.Settings{Kind: step.Gradient}}, &PLADA{Primal: step.Settings{Kind: step.Gradient}}} {
		p := newSlopes(t, []float64{1, 1, 1, 1})
		at := problem.NewPoint(p)
		require.NoError(t, at.SampleAndForward(p, 0))
		require.NoError(t, m.Init(p, &at))
		for range 9 {
			m.UpdateDual([]float64{0.5})
		}
		if got, want := m.Report().Delta, 0.25/(deltaFast*8/4+1); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: delta is %v after 9 iterations, want %v", m.Name(), got, want)
		}
	}
	d := perturbed{rho: 2, k: 8, batches: 4, delta: 0.026, lambda: []float64{1}, mu: []float64{0}}
	if warnings, _ := d.conclude(&problem.Point{Constraints: []float64{0.25}}, 0.125); len(warnings) != 0 {
		t.Errorf("%q, but delta of a pass is above the limit", warnings)
	}
	for inner, want := range map[int]float64{1: 0.5 + 3*2/4., 8: 0.5 + 3*2/8.} {
		m := &ALM{Penalty: 2, Inner: inner}
		require.NoError(t, m.StartDual([]float64{0}))
		m.lambda[0] = 0.5
		m.onBatches(4)
		for range 3 {
			m.UpdateDual([]float64{1})
		}
		if m.lambda[0] != want {
			t.Errorf("inner %d: lambda is %v, want %v", inner, m.lambda[0], want)
		}
	}
}

// The dual state of PPALA and PLADA by hand.
func TestPerturbedByHand(t *testing.T) {
	for _, c := range []struct {
		lambda   []float64 // after the update
		negative int
	}{{[]float64{0, 0}, 0}, {[]float64{1, -1}, 1}, {[]float64{-1, 1}, 1}, {[]float64{-1, -1}, 1}, {[]float64{1, 2}, 0}} {
		d := perturbed{rho: 1, lambda: make([]float64, 2), mu: make([]float64, 2), u: make([]float64, 2)}
		if d.advance(0.5, c.lambda); d.negative != c.negative || d.k != 1 || !slices.Equal(d.lambda, c.lambda) {
			t.Errorf("lambda = %v: %+v", c.lambda, d)
		}
	}
	for k, nu := range []bool{false, true} {
		d := perturbed{k: k, nu: []float64{1}}
		if r := d.report(0.5); (r.Nu != nil) != nu || r.StepSize != 0.5 {
			t.Errorf("k = %d: %+v", k, r)
		}
	}
}

// ALM with quasi-Newton steps by hand: lambda = max(0, lambda + c g), c doubles up to 1e6, and the
// first c is the caller's, the default or Penalty.
func TestALMByHand(t *testing.T) {
	m := &ALM{}
	require.NoError(t, m.StartDual(make([]float64, 3)))
	m.c = 4
	copy(m.lambda, []float64{2, 0, 1})
	if !m.updateOuter([]float64{-1, 1, 0.5}) || !slices.Equal(m.lambda, []float64{0, 4, 3}) {
		t.Errorf("lambda = %v", m.lambda)
	}
	for c, want := range map[float64]float64{1: 2, 0.9e6: 1.8e6, 1e6: 1e6, 1.2e6: 1.2e6} {
		if m := (&ALM{c: c}); m.tighten() != (want != c) || m.c != want {
			t.Errorf("c = %v becomes %v", c, m.c)
		}
	}
	p, at := begun(t, scaled(1, 1), 3)
	if m := (&ALM{Penalty: 3}); m.Init(p, at) != nil || m.c != 3 {
		t.Errorf("Penalty 3: c = %v", m.c)
	}
	for _, lbfgs := range []bool{true, false} {
		m := &ALM{Tolerance: 0.5}
		if !lbfgs {
			m.Primal.Kind = step.Gradient
		}
		if err := m.Init(p, at); err != nil || (m.second != nil) != lbfgs || lbfgs && (m.second.tolerance != toleranceShare*0.5 || m.c != DefaultALMPenalty) {
			t.Errorf("%+v, %v", m, err)
		}
		if r := m.Report(); r.Nu != nil {
			t.Errorf("at the start: %+v", r)
		}
		if m.settle([]float64{2}); !slices.Equal(m.Report().Nu, []float64{2}) {
			t.Errorf("%+v", m.Report())
		}
	}
}

// The warnings and notes at the limits of the theorems and of the lag.
func TestPerturbedWarningsByHand(t *testing.T) {
	for name, c := range map[string]struct {
		tau, q float64
		want   string
	}{"inside": {0.4, 0.7, ""}, "tau": {0.5, 0.7, "--tau"}, "q": {0.4, 2.0 / 3, "--delta-q"}} {
		d := perturbed{set: Perturbation{Alpha: 2, Beta: 0.5, DeltaQ: c.q}, tau: c.tau, rho: 1}
		if text := strings.Join(d.diagnose(0.5), ""); (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for name, c := range map[string]struct {
		violation, lag, delta float64
		warns                 bool
	}{
		"all at the limits": {0.25, 0.125, lagDelta, true}, "the tolerance": {0.125, 0.125, lagDelta, false}, "a short lag": {0.25, 0.124, lagDelta, false},
		"a larger delta": {0.25, 0.125, 0.11, false}, "before the first update": {0.25, 0, math.NaN(), false},
	} {
		d := perturbed{rho: 2, k: 8, negative: 2, delta: c.delta, lambda: []float64{2 * c.lag}, mu: []float64{0}}
		warnings, notes := d.conclude(&problem.Point{Constraints: []float64{c.violation}}, 0.125)
		if (len(warnings) == 1) != c.warns || len(notes) != 1 || !strings.Contains(notes[0], " 25.0% ") {
			t.Errorf("%s: %q, %q", name, warnings, notes)
		}
	}
	for set, want := range map[Perturbation]string{{}: "lower --delta-p", {Delta: DeltaHarmonic}: "raise --delta0"} {
		d := perturbed{set: set, rho: 2, k: 8, delta: lagDelta, lambda: []float64{1}, mu: []float64{0}}
		if warnings, _ := d.conclude(&problem.Point{Constraints: []float64{0.25}}, 0.125); len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("%+v: %q, want %q", set, warnings, want)
		}
	}
	d := perturbed{rho: 2, k: 8}
	if warnings, notes := d.conclude(&problem.Point{}, 1); len(warnings)+len(notes) != 0 {
		t.Errorf("%q, %q", warnings, notes)
	}
}

// What PLADA needs from a problem, and the x-step that it chooses: proxlinear for at most four
// terms, without Adam and without a regularizer.
func TestPLADAXSteps(t *testing.T) {
	gaps := func(m int, r problem.Regularizer) problem.Problem {
		p, _ := begun(t, problem.Functions{M: m, Pieces: problem.Abs(make([]float64, m)...), Regularizer: r,
			F: func([]float64) float64 { return 0 }, Gradient: func(d, _ []float64) { clear(d) },
			G: func(g, _ []float64) { clear(g) }, JacobianT: func(d, _, _ []float64) { clear(d) }}, 1)
		return p
	}
	none := problem.Regularizer{}
	adam := step.Settings{Kind: step.Adam}
	for name, c := range map[string]struct {
		m    PLADA
		p    problem.Problem
		want XStep
	}{
		"four":    {PLADA{}, gaps(4, none), ProxLinear},
		"five":    {PLADA{}, gaps(5, none), Subgradient},
		"adam":    {PLADA{Primal: adam}, gaps(1, none), Subgradient},
		"a ball":  {PLADA{}, gaps(1, problem.Regularizer{Kind: problem.Ball, Radius: 1}), Subgradient},
		"smooth":  {PLADA{}, func() problem.Problem { p, _ := begun(t, scaled(1, 1), 1); return p }(), Subgradient},
		"its own": {PLADA{XStep: ProxLinear, Primal: adam}, gaps(5, none), ProxLinear},
	} {
		if got := c.m.xStep(c.p); got != c.want {
			t.Errorf("%s: x-step %v, want %v", name, got, c.want)
		}
	}
	for _, c := range []struct {
		m    PLADA
		want string
	}{{PLADA{}, ""}, {PLADA{XStep: Inner}, "inner"}, {PLADA{XStep: ProxLinear}, "proxlinear"}} {
		if needs := c.m.Needs(); (needs.Of == "") != (c.want == "") || !strings.Contains(needs.Of, c.want) || needs.Evaluations != (c.want != "") {
			t.Errorf("%+v needs %+v", c.m, needs)
		}
	}
	for x, want := range map[XStep]float64{Inner: deltaFast, Subgradient: deltaRamped} {
		m := &PLADA{XStep: x}
		if err := m.StartDual([]float64{1}); err != nil || m.dual.set.DeltaP != want {
			t.Errorf("x-step %v: p = %v, want %v, %v", x, m.dual.set.DeltaP, want, err)
		}
	}
}

// The closing notes of PLADA: a share of mu's step above 1, and negative multipliers in proxlinear.
func TestPLADAConcludes(t *testing.T) {
	for _, c := range []struct {
		box     bool
		largest float64
		held    int
		want    [2]int // warnings and notes
	}{{true, 1.1, 0, [2]int{1, 0}}, {true, 1, 0, [2]int{0, 0}}, {false, 1.1, 0, [2]int{0, 0}}, {true, 1, 3, [2]int{0, 1}}, {false, 0.5, 1, [2]int{0, 1}}} {
		m := &PLADA{BoxStep: c.box}
		m.step, m.dual = &step.ProxLinearStep{Held: c.held}, perturbed{largestStep: c.largest, rho: 1}
		if warnings, notes := m.Conclude(&problem.Point{}, certify.Certificate{}); len(warnings) != c.want[0] || len(notes) != c.want[1] {
			t.Errorf("%+v: %q, %q", c, warnings, notes)
		}
	}
	m := &PLADA{} // the lag of mu is a warning, too
	m.dual = perturbed{rho: 1, k: 1, delta: 0.01, lambda: []float64{1}, mu: []float64{0}}
	if warnings, _ := m.Conclude(&problem.Point{Constraints: []float64{0.5}}, certify.Certificate{}); len(warnings) != 1 {
		t.Errorf("%q", warnings)
	}
}

// Only a fixed step size costs gradients for its warning.
func TestDiagnoseCosts(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		set := step.Settings{Kind: step.Gradient, Fixed: fixed, Eta: 1e-9}
		for _, m := range []interface {
			trainer.Method
			trainer.Diagnoser
		}{&PPALA{Primal: set}, &PLADA{Primal: set}} {
			fn, gradients := scaled(1, 1), 0
			slope := fn.Gradient
			fn.Gradient = func(d, x []float64) { gradients++; slope(d, x) }
			p, at := begun(t, fn, 3)
			require.NoError(t, m.Init(p, at))
			if warnings, err := m.Diagnose(t.Context(), p, at); err != nil || len(warnings) != 0 || (gradients > 0) != fixed {
				t.Errorf("%T, fixed %v: %d gradients, %q, %v", m, fixed, gradients, warnings, err)
			}
		}
	}
}

// The notes and the steps of methods that choose, and of methods that do not.
func TestChoiceNotes(t *testing.T) {
	p, _ := begun(t, scaled(1, 1), 3)
	batches := &counting{Problem: p}
	for i, c := range []struct {
		m    trainer.Method
		p    problem.Problem
		want string
	}{
		{&SSG{}, p, ""}, {&GDPA{}, p, ""}, {&GDA{}, p, ""}, {&PPALA{}, p, ""}, {&PLADA{}, p, ""}, {&ALM{}, p, "The primal step is lbfgs."},
		{&ALM{Primal: step.Settings{Kind: step.Nesterov}}, p, "The primal step is nesterov."},
		{&ALM{Primal: step.Settings{Kind: step.Adam}}, p, ""}, {&ALM{Primal: step.Settings{Kind: step.Gradient}}, p, ""},
		{&ALM{}, hidden{p}, "The primal step is nesterov, because the steps see a sample of the rows."},
		{&Unconstrained{}, batches, "The primal step is nesterov, because the steps see a sample of the rows."},
	} {
		if got := ChoosePrimal(c.m, c.p); got != c.want {
			t.Errorf("case %d, %T: %q, want %q", i, c.m, got, c.want)
		}
	}
	for _, m := range []interface {
		dualMethod
		quasiNewton
	}{&ALM{}, &Unconstrained{}} {
		p, at := begun(t, scaled(1, 1), 3)
		if err := m.Init(p, at); err != nil || m.PrimalStep().Kind != step.LBFGS {
			t.Errorf("%T takes %v, %v", m, m.PrimalStep().Kind, err)
		}
	}
	at := problem.NewPoint(p)
	for _, m := range []trainer.Method{&GDA{Primal: step.Settings{Kind: step.LBFGS}}, &PPALA{Primal: step.Settings{Kind: step.LBFGS}},
		&PLADA{Primal: step.Settings{Kind: step.LBFGS}}} {
		if err := m.Init(p, &at); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%T with quasi-Newton steps: %v", m, err)
		}
	}
}

// hidden is a problem with batches that does not say whether it is smooth.
type hidden struct{ problem.Problem }

func (hidden) Sample(int) error { return nil }

// Settings of first-order steps choose a first-order step, one at a time.
func TestFirstOrderOnly(t *testing.T) {
	for c, want := range map[chooser]step.Kind{&PLADA{}: step.Nesterov, &PLADA{XStep: Inner}: step.Gradient, &PPALA{}: step.Nesterov,
		&ALM{}: step.Auto, &ALM{Inner: 3}: step.Nesterov, &Unconstrained{}: step.Auto} {
		if got := primalOf(c); got != want {
			t.Errorf("%T: %v, want %v", c, got, want)
		}
	}
	for i, set := range []step.Settings{{Eta: 1}, {Fixed: true}, {Momentum: 0.5}} {
		if got := primalOf(&ALM{Primal: set}); got != step.Nesterov {
			t.Errorf("case %d: %v", i, got)
		}
	}
	for m, want := range map[trainer.Method]trainer.Needs{&Unconstrained{}: {}, &ALM{Primal: step.Settings{Kind: step.LBFGS}}: {Of: "the primal step lbfgs", Evaluations: true}} {
		if got := m.Needs(); got.Of != want.Of || got.Evaluations != want.Evaluations {
			t.Errorf("%T: %+v", m, got)
		}
	}
}

// GDPA's demand, ALM's count and Penalty's first coefficients.
func TestBaselinesByHand(t *testing.T) {
	for i, c := range []struct {
		m    GDPA
		want float64
	}{{GDPA{Step: 0.5, r: 7}, 0.25}, {GDPA{Step: 0.5, r: 7, ConstantStep: true}, 0.5}, {GDPA{Step: 0.5, Automatic: true}, 0}, {GDPA{ConstantStep: true}, DefaultGDPAStep}} {
		if got := c.m.Demand(); got.ScheduledStep != c.want {
			t.Errorf("case %d: %+v", i, got)
		}
	}
	alm := &ALM{Inner: 2, Penalty: 3}
	require.NoError(t, alm.StartDual([]float64{2}))
	for k, want := range []float64{0, 6, 6, 12} {
		if alm.UpdateDual([]float64{2}); alm.k != k+1 || alm.lambda[0] != want {
			t.Errorf("k = %d, lambda = %v, want %v", alm.k, alm.lambda, want)
		}
	}
	penalty := &Penalty{Coefficient: 3}
	if err := penalty.StartDual([]float64{2, -1}); err != nil || !slices.Equal(penalty.w, []float64{6, 0}) {
		t.Errorf("%v, %v", penalty.w, err)
	}
	w, free := []float64{1, 2}, &Unconstrained{}
	if free.Coefficients(w, w); w[0] != 0 || w[1] != 0 || free.updateOuter(w) || free.tighten() {
		t.Errorf("unconstrained: %v", w)
	}
}

// Of equal constraints, SSG steps on the first. A violation equal to the tolerance counts as
// feasible.
func TestSwitchingByHand(t *testing.T) {
	if v, j := largestConstraint([]float64{1, 3, 3}); v != 3 || j != 1 {
		t.Errorf("%v at %d", v, j)
	}
	ssg := &SSG{Tolerance: 0.25, ViolationRule: StepConstant, ViolationStep: 0.5}
	if !ssg.counts(0.25) || ssg.counts(0.26) {
		t.Error("the tolerance")
	}
	p, at := begun(t, scaled(1, 2), 3)
	require.NoError(t, ssg.Init(p, at))
	ssg.c = 1
	if err := ssg.Iterate(p, at); err != nil || iterateOf(p)[0] != 2 || ssg.last != 0.5 {
		t.Errorf("x = %v after a step of %v, %v", iterateOf(p), ssg.last, err)
	}
}

// layered hides that functions have no hidden layers.
type layered struct{ problem.Problem }

// The first penalty of quasi-Newton steps is 10 without hidden layers, and 1 for other problems. It
// does not grow without bound.
func TestFirstPenalty(t *testing.T) {
	for _, hides := range []bool{false, true} {
		p, at := begun(t, scaled(1, 1), 3)
		want := 10.0
		if hides {
			p, want = layered{p}, 1
		}
		m := &ALM{}
		require.NoError(t, m.Init(p, at))
		if m.c != want {
			t.Errorf("hides %v: c = %v, want %v", hides, m.c, want)
		}
		for range 100 {
			m.tighten()
		}
		if m.c < mostPenalty || m.c > 2*mostPenalty {
			t.Errorf("hides %v: the largest c is %v, want about %v", hides, m.c, float64(mostPenalty))
		}
	}
}
