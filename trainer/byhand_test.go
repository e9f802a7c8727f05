package trainer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// scripted is a method that adds a given number to x in each iteration.
type scripted struct {
	moves     []float64 // the last move repeats
	nu        []float64
	gradients int       // gradient evaluations of an iteration
	k         int       // iterations
	seen      []float64 // f before each iteration
	needs     Needs
}

func (m *scripted) Name() string                               { return "scripted" }
func (m *scripted) Needs() Needs                               { return m.needs }
func (m *scripted) Init(problem.Problem, *problem.Point) error { return nil }
func (m *scripted) VisitState(v problem.StateVisitor)          { v.Count("k", &m.k) }
func (m *scripted) Report() Report                             { r := NewReport(math.NaN(), nil); r.Nu = m.nu; return r }
func (m *scripted) Iterate(p problem.Problem, at *problem.Point) error {
	m.seen = append(m.seen, at.Objective)
	x := make([]float64, 1)
	p.Space().Read(x, problem.Iterate)
	x[0] += m.moves[min(m.k, len(m.moves)-1)]
	m.k++
	at.GradientEvaluations += m.gradients
	p.Space().Write(problem.Iterate, x)
	return at.Forward(p)
}

// journal keeps the records.
type journal struct {
	records []Record
	after   func(r *Record)
}

func (l *journal) Record(r *Record) error {
	own := *r
	own.Constraints = slices.Clone(r.Constraints)
	l.records = append(l.records, own)
	if l.after != nil {
		l.after(r)
	}
	return nil
}

func (l *journal) iterations() (k []int) {
	for _, r := range l.records {
		k = append(k, r.Iteration)
	}
	return k
}

// counted is a problem that counts its vectors in use and its forward passes.
type counted struct {
	problem.Problem
	space       problem.Space
	vectors     *countedVectors
	evaluations int
}

type countedVectors struct {
	problem.Vectors
	made, used int
}

func (c *counted) Space() *problem.Space { return &c.space }
func (c *counted) Forward(g []float64) (float64, error) {
	c.evaluations++
	return c.Problem.Forward(g)
}
func (c *countedVectors) New() problem.Vector   { c.made++; c.used++; return c.Vectors.New() }
func (c *countedVectors) Free(v problem.Vector) { c.used--; c.Vectors.Free(v) }

func count(p problem.Problem) *counted {
	own := &countedVectors{Vectors: p.Space().Vectors}
	return &counted{Problem: p, space: problem.Space{Vectors: own, Regularizer: p.Space().Regularizer}, vectors: own}
}

// square is min x^2/2 + r s.t. x - 1 <= 0.
func square(r problem.Regularizer) problem.Functions {
	return problem.Functions{N: 1, M: 1, Regularizer: r,
		F:         func(x []float64) float64 { return x[0] * x[0] / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] },
		G:         func(dst, x []float64) { dst[0] = x[0] - 1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}
}

func begin(t *testing.T, fn problem.Functions, x float64) problem.Problem {
	t.Helper()
	p, err := fn.New([]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func iterate(p problem.Problem) float64 {
	x := make([]float64, 1)
	p.Space().Read(x, problem.Iterate)
	return x[0]
}

func trained(t *testing.T, p problem.Problem, m Method, s Settings) *Result {
	t.Helper()
	r, err := Train(t.Context(), p, m, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The iterates 4, 2, 0.5, 1, 1 of f = x^2/2 with r = |x|/2 and x <= 1. The best feasible record is
// the third.
func TestRecordsByHand(t *testing.T) {
	l := &journal{}
	p := begin(t, square(problem.Regularizer{Kind: problem.L1, Weight: 0.5}), 4)
	r := trained(t, p, &scripted{moves: []float64{-2, -1.5, 0.5, 0}, nu: []float64{2}, gradients: 3},
		Settings{Iterations: 4, RecordEvery: 1, Output: OutputBest, Recorder: l})
	for i, want := range []struct{ f, g, stationarity, complementarity float64 }{
		{10, 3, 6.5, 6}, {3, 1, 4.5, 2}, {0.375, -0.5, 3, 1}, {1, 0, 3.5, 0}, {1, 0, 3.5, 0}} {
		got := l.records[i]
		if got.Iteration != i || got.Epoch != float64(i) || got.GradientEvaluations != 3*i || got.Objective != want.f || got.Constraints[0] != want.g ||
			got.MaxViolation != max(0, want.g) || got.Infeasibility != max(0, want.g) || got.Stationarity != want.stationarity ||
			got.Complementarity != want.complementarity {
			t.Errorf("record %d: %+v, want %+v", i, got, want)
		}
	}
	if r.Output != 2 || r.BestFeasible.Objective != 0.375 || r.Objective != 0.375 || iterate(p) != 0.5 || r.Point.Objective != 0.125 || r.Point.Iteration != 4 {
		t.Errorf("the output is %d, %+v with the objective %v, x = %v", r.Output, r.BestFeasible, r.Objective, iterate(p))
	}
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], InfeasibleStart+": the largest violation is 3 ") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// The best feasible record is the first with the least objective, and a violation of exactly the
// tolerance is feasible.
func TestBestFeasibleByHand(t *testing.T) {
	for _, c := range []struct {
		start     float64
		moves     []float64
		tolerance float64
		want      int // -1: none
	}{
		{-0.5, []float64{1, -1, 0.75}, 0.5, 3}, {-0.5, []float64{1, -1}, 0.5, 0}, {1.5, []float64{1}, 0.5, 0}, {1.5, []float64{1}, 0.25, -1},
	} {
		r := trained(t, begin(t, square(problem.Regularizer{}), c.start), &scripted{moves: c.moves, nu: []float64{0}},
			Settings{Iterations: len(c.moves), RecordEvery: 1, FeasibilityTolerance: c.tolerance})
		got := -1
		if r.BestFeasible != nil {
			got = r.BestFeasible.Iteration
		}
		if got != c.want {
			t.Errorf("from %v by %v: the best record is %d, want %d", c.start, c.moves, got, c.want)
		}
		if warned := len(r.Warnings) > 0; warned != (c.start-1 > c.tolerance) {
			t.Errorf("from %v: warnings %q", c.start, r.Warnings)
		}
	}
}

// A start outside the domain of r moves to the domain before the first record.
func TestStartIsProjected(t *testing.T) {
	l := &journal{}
	trained(t, begin(t, square(problem.Regularizer{Kind: problem.Box, Lower: -1, Upper: 0.5}), 7), &scripted{moves: []float64{0}}, Settings{Recorder: l})
	if l.records[0].Objective != 0.125 {
		t.Errorf("f = %v at the start, want 1/8 at x = 0.5", l.records[0].Objective)
	}
}

// returning returns the point 0.5 from its third iterate on.
type returning struct{ scripted }

func (m *returning) Return(p problem.Problem) bool {
	if m.k < 2 {
		return false
	}
	p.Space().Write(problem.Iterate, []float64{0.5})
	return true
}

// Records and results describe the returned point, and the iterations go on from the iterate.
func TestReturnedPointByHand(t *testing.T) {
	for _, every := range []int{1, 10} {
		l := &journal{}
		p := count(begin(t, square(problem.Regularizer{}), 4))
		m := &returning{scripted{moves: []float64{-1}, nu: []float64{0}}}
		r := trained(t, p, m, Settings{Iterations: 4, RecordEvery: every, CheckEvery: 1, Tolerance: 0.1, Recorder: l})
		want := map[int]float64{0: 8, 1: 4.5, 2: 0.125, 3: 0.125, 4: 0.125}
		for _, record := range l.records {
			if record.Objective != want[record.Iteration] {
				t.Errorf("every %d: f = %v in record %d, want %v", every, record.Objective, record.Iteration, want[record.Iteration])
			}
		}
		if !slices.Equal(m.seen, []float64{8, 4.5, 2, 0.5}) {
			t.Errorf("every %d: iterations from f = %v, want 8, 4.5, 2, 0.5", every, m.seen)
		}
		if r.Objective != 0.125 || iterate(p) != 0.5 || p.vectors.used != 0 {
			t.Errorf("every %d: f = %v, x = %v, %d of %d vectors in use", every, r.Objective, iterate(p), p.vectors.used, p.vectors.made)
		}
		if x := r.State.Vectors["iterate"][0]; x != 0 || r.Status != IterationLimit {
			t.Errorf("every %d: %v at the iterate %v of the state, want 0", every, r.Status, x)
		}
	}
	// A check sees the returned point: its epsilon, 1/2, meets the tolerance from the second iterate on.
	r := trained(t, begin(t, square(problem.Regularizer{}), 4), &returning{scripted{moves: []float64{-0.5}, nu: []float64{0}}},
		Settings{Iterations: 4, RecordEvery: 10, CheckEvery: 1, Tolerance: 0.5})
	if r.Status != Converged || r.Iterations != 2 {
		t.Errorf("%v at %d, want %v at 2", r.Status, r.Iterations, Converged)
	}
}

// A residual of exactly the tolerance meets the tolerance, at records and between records.
func TestToleranceIsInclusive(t *testing.T) {
	for _, every := range []int{1, 10} {
		for _, c := range []struct {
			start, nu, tolerance float64
			met                  bool
		}{
			{0.5, 0, 0.5, true}, // the stationarity x + nu
			{0.5, 0, 0.499, false},
			{1.25, 0, 1.25, true},
			{0.5, 1, 1.5, true}, // the complementarity is 0.5
			{-2, 2, 6, true},    // the complementarity, 2 * 3
			{-2, 2, 5.9, false},
			{2, 0, 2, true},
		} {
			// The first move leads to the point. The start is far away.
			r := trained(t, begin(t, square(problem.Regularizer{}), 100), &scripted{moves: []float64{c.start - 100, 100}, nu: []float64{c.nu}},
				Settings{Iterations: 3, RecordEvery: every, CheckEvery: 1, Tolerance: c.tolerance})
			if met := r.Status == Converged && r.Iterations == 1; met != c.met {
				t.Errorf("every %d, %+v: %v after %d", every, c, r.Status, r.Iterations)
			}
		}
	}
	// The infeasibility, 0.5, is the largest residual: x - 1 = 0.5 and x + 0 = 1.5 cancels by f = 0.
	fn := square(problem.Regularizer{})
	fn.F, fn.Gradient = func([]float64) float64 { return 0 }, func(dst, _ []float64) { dst[0] = 0 }
	for tolerance, met := range map[float64]bool{0.5: true, 0.499: false} {
		r := trained(t, begin(t, fn, 9), &scripted{moves: []float64{-7.5, 9}, nu: []float64{0}},
			Settings{Iterations: 3, RecordEvery: 10, CheckEvery: 1, Tolerance: tolerance})
		if (r.Status == Converged) != met || met && r.Iterations != 1 {
			t.Errorf("infeasibility 0.5 with the tolerance %v: %v after %d", tolerance, r.Status, r.Iterations)
		}
	}
}

// Without a tolerance, a check between records costs no forward pass. A check costs no certificate
// if the constraints exceed the tolerance.
func TestChecksAreCheap(t *testing.T) {
	backwards := 0
	fn := square(problem.Regularizer{})
	gradient := fn.Gradient
	fn.Gradient = func(dst, x []float64) { backwards++; gradient(dst, x) }
	trained(t, begin(t, fn, 3), &scripted{moves: []float64{1}, nu: []float64{0}},
		Settings{Iterations: 9, RecordEvery: 9, CheckEvery: 1, Tolerance: 0.1, IgnoreConflict: true})
	seldom := backwards
	backwards = 0
	trained(t, begin(t, fn, 3), &scripted{moves: []float64{1}, nu: []float64{0}},
		Settings{Iterations: 9, RecordEvery: 9, IgnoreConflict: true})
	if seldom != backwards {
		t.Errorf("%d gradients with checks of infeasible iterates, %d without", seldom, backwards)
	}
	r := &run{} // has no method: a check would fail
	if met, err := r.meets(); met || err != nil {
		t.Errorf("a check without a tolerance: %v, %v", met, err)
	}
}

// weighted is a method with the given weights of its iterates.
type weighted struct {
	scripted
	weights []float64
}

func (m *weighted) OutputWeight(*problem.Point) float64 { return m.weights[m.k-1] }

// The output is a draw in proportion to the weights: the k-th iterate replaces the draw with
// probability w_k/(w_1 + ... + w_k).
func TestWeightedDrawByHand(t *testing.T) {
	weights := []float64{0, 3, 0.5, 2, 4, 0}
	outputs := map[int]bool{}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0x6f757470))
		want, sum := 0, 0.0
		for k, w := range weights {
			sum += w
			if rng.Float64()*sum < w {
				want = k + 1
			}
		}
		p := count(begin(t, square(problem.Regularizer{}), 0))
		r := trained(t, p, &weighted{scripted{moves: []float64{0.125}}, weights}, Settings{Iterations: 6, RecordEvery: 3, Output: OutputRandom, Seed: seed})
		x := float64(want) / 8
		if r.Output != want || iterate(p) != x || r.Objective != x*x/2 || r.Point.Constraints[0] != x-1 || p.vectors.used != 0 {
			t.Errorf("seed %d: iterate %d, x = %v, f = %v, want iterate %d", seed, r.Output, iterate(p), r.Objective, want)
		}
		outputs[r.Output] = true
	}
	if !outputs[2] || !outputs[4] || !outputs[5] || outputs[1] || outputs[6] {
		t.Errorf("outputs %v", outputs)
	}
	const none = "no iterate had a weight"
	r := trained(t, begin(t, square(problem.Regularizer{}), 0), &weighted{scripted{moves: []float64{0.5}}, make([]float64, 9)},
		Settings{Iterations: 2, Output: OutputRandom})
	if r.Output != 2 || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], none) {
		t.Errorf("without a weight: output %d, warnings %q", r.Output, r.Warnings)
	}
	for _, s := range []Settings{{Output: OutputRandom}, {Iterations: 2}} {
		if r := trained(t, begin(t, square(problem.Regularizer{}), 0), &weighted{scripted{moves: []float64{0.5}}, make([]float64, 9)}, s); len(r.Warnings) != 0 {
			t.Errorf("%+v: warnings %q", s, r.Warnings)
		}
	}
}

// speaking is a method with warnings and notes.
type speaking struct{ scripted }

func (m *speaking) Diagnose(problem.Problem, *problem.Point) ([]string, error) {
	return []string{"before"}, nil
}

func (m *speaking) Conclude(*problem.Point, certify.Certificate) (warnings, notes []string) {
	return []string{"after"}, []string{"note"}
}

// Train passes on each warning at once. An infeasible run has no advice, but notes.
func TestWarningsAndNotes(t *testing.T) {
	var heard []string
	r := trained(t, begin(t, square(problem.Regularizer{}), 0), &speaking{scripted{moves: []float64{0}}},
		Settings{Iterations: 1, Warn: func(w string) { heard = append(heard, w) }})
	want := []string{"before", "after"}
	if !slices.Equal(r.Warnings, want) || !slices.Equal(heard, want) || !slices.Equal(r.Notes, []string{"note"}) {
		t.Errorf("warnings %q, heard %q, notes %q", r.Warnings, heard, r.Notes)
	}
	for status, want := range map[Status][]string{Infeasible: nil, IterationLimit: {"after"}} {
		b, err := newRun(begin(t, square(problem.Regularizer{}), 0), &speaking{}, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		b.warnings = nil
		if r, err := b.finish(status, nil); err != nil || !slices.Equal(r.Warnings, want) || len(r.Notes) != 1 {
			t.Errorf("%v: warnings %q, notes %q, error %v", status, r.Warnings, r.Notes, err)
		}
		if r, err := b.finish(status, errors.New("no")); err != nil || r.State != nil || len(r.Notes) != 0 {
			t.Errorf("after an error: %+v, %v", r, err)
		}
	}
}

// A nearly stationary point with an objective of at least CollapseAbove gives a warning.
func TestCollapseByHand(t *testing.T) {
	for _, c := range []struct {
		f, slope, above float64
		want            bool
	}{
		{2, 1e-3, 2, true}, {2, 0.0011, 2, false}, {2, 0, 2.5, false}, {2, 1e-4, 1.5, true}, {2, 0, 0, false}, {0, 0, 0, false},
	} {
		fn := problem.Functions{N: 1, F: func([]float64) float64 { return c.f }, Gradient: func(dst, _ []float64) { dst[0] = c.slope }}
		r := trained(t, begin(t, fn, 1), &scripted{moves: []float64{0}}, Settings{Iterations: 1, CollapseAbove: c.above})
		if got := len(r.Warnings) == 1 && strings.HasPrefix(r.Warnings[0], "collapsed"); got != c.want {
			t.Errorf("%+v: warnings %q", c, r.Warnings)
		}
	}
}

// A run that reaches a limit has the status of the limit, even if its context is cancelled.
func TestLimitsComeBeforeInterruption(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		set  Settings
		want Status
	}{
		{Settings{Iterations: 1}, Interrupted}, {Settings{}, IterationLimit},
		{Settings{Iterations: 1, Deadline: time.Now().Add(-time.Hour)}, TimeLimit},
		{Settings{Iterations: 1, Gradients: 1, ResumeAt: problem.Point{GradientEvaluations: 1}, Resume: &State{Method: "scripted",
			Numbers: map[string][]float64{"k": {0}}, Vectors: map[string][]float64{"iterate": {0}}}}, GradientLimit},
	} {
		r, err := Train(cancelled, begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{0}}, c.set)
		if err != nil || r.Status != c.want || r.Iterations != 0 {
			t.Errorf("%+v: %v after %d, want %v", c.set, r.Status, r.Iterations, c.want)
		}
	}
	b, err := newRun(begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{0}}, Settings{Iterations: 3, TimeLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	b.seconds = 60
	if status, err := b.loop(t.Context()); status != TimeLimit || b.at.Iteration != 0 || err != nil {
		t.Errorf("after exactly the time limit: %v after %d, %v", status, b.at.Iteration, err)
	}
}

// Each setting out of its range is refused.
func TestSettingsOutOfRange(t *testing.T) {
	nan := math.NaN()
	for i, s := range []Settings{
		{Iterations: -1}, {RecordEvery: -1}, {CheckEvery: -1}, {Gradients: -1}, {RecordWork: -1}, {RecordWork: nan}, {LeastRecords: -1},
		{Tolerance: -1}, {Tolerance: nan}, {FeasibilityTolerance: -1}, {FeasibilityTolerance: nan}, {TimeLimit: -1},
		{Certificate: certify.Settings{Sphere: -1}}, {Certificate: certify.Settings{Kink: nan}},
		{IterationsPerEpoch: -1}, {IterationsPerEpoch: nan}, {CollapseAbove: -1}, {CollapseAbove: nan}, {NearEvery: -1}, {Output: "first"},
	} {
		if _, err := Train(t.Context(), begin(t, square(problem.Regularizer{}), 0), &scripted{}, s); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("settings %d: error %v, want ErrSettings", i, err)
		}
	}
	p := count(begin(t, square(problem.Regularizer{}), 0))
	p.space.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: -1}
	if _, err := Train(t.Context(), p, &scripted{}, Settings{}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a ball of the radius -1: error %v, want ErrSettings", err)
	}
}

// group is a problem with one drawn group.
type group struct{ problem.Problem }

func (group) Sample(int) error                    { return nil }
func (group) GroupFeatures() []float64            { return nil }
func (group) DecisionViolation() (float64, error) { return 0, nil }

func TestNeedsOneDrawnGroup(t *testing.T) {
	one := begin(t, square(problem.Regularizer{}), 0)
	fn := square(problem.Regularizer{})
	fn.M = 2
	two := begin(t, fn, 0)
	for name, c := range map[string]struct {
		p  problem.Problem
		ok bool
	}{"a group": {group{one}, true}, "two constraints": {group{two}, false}, "no group": {one, false}} {
		if err := (Needs{Of: "m", Group: true}).Check(c.p); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rule is a dual rule with w_j = 2 lambda_j: lambda is g at the start, and then adds g.
type rule struct {
	lambda []float64
	needs  Needs
}

func (r *rule) Name() string                { return "rule" }
func (r *rule) Needs() Needs                { return r.needs }
func (r *rule) StartDual(g []float64) error { r.lambda = slices.Clone(g); return nil }
func (r *rule) Coefficients(w, _ []float64) { w[0] = 2 * r.lambda[0] }
func (r *rule) UpdateDual(g []float64)      { r.lambda[0] += g[0] }
func (r *rule) Demand() step.Demand         { return step.Demand{} }
func (r *rule) PrimalStep() step.Settings {
	return step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.5}
}
func (r *rule) VisitDual(v problem.StateVisitor) { v.Numbers("lambda", r.lambda) }

// From x = 2, g = 1: lambda = 1 and w = 2. The step goes to x - (x + w)/2 = 0, with g = -1: lambda =
// 0, w = 0 and x = 0. Then lambda = -1, w = -2 and x = 1.
func TestStepperByHand(t *testing.T) {
	p := begin(t, square(problem.Regularizer{}), 2)
	s, w := NewStepper(&rule{}), make([]float64, 1)
	if _, err := s.Capture(p); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a state before the first step: %v", err)
	}
	check := func(s *Stepper, p problem.Problem, x, want float64) {
		t.Helper()
		if err := s.Coefficients(w, []float64{x - 1}); err != nil || w[0] != want || iterate(p) != x {
			t.Errorf("w = %v, x = %v, error %v, want %v at %v", w, iterate(p), err, want, x)
		}
	}
	move := func(s *Stepper, p problem.Problem) {
		t.Helper()
		if err := s.Step(p, w); err != nil {
			t.Fatal(err)
		}
	}
	check(s, p, 2, 2)
	check(s, p, 2, 2) // a second call changes nothing
	move(s, p)
	check(s, p, 0, 0)
	check(s, p, 0, 0)
	weighed, err := s.Capture(p)
	if err != nil {
		t.Fatal(err)
	}
	move(s, p)
	between, err := s.Capture(p)
	if err != nil {
		t.Fatal(err)
	}
	check(s, p, 0, -2)
	move(s, p)
	if iterate(p) != 1 {
		t.Errorf("x = %v, want 1", iterate(p))
	}
	for name, c := range map[string]struct {
		state *State
		w     float64
	}{"weighed": {weighed, 0}, "between": {between, -2}} {
		q := begin(t, square(problem.Regularizer{}), 9)
		r := NewStepper(&rule{})
		if err := r.Restore(q, 1, c.state); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(r, q, 0, c.w)
		move(r, q)
		if want := -c.w / 2; iterate(q) != want {
			t.Errorf("%s: x = %v, want %v", name, iterate(q), want)
		}
		if err := r.Restore(q, 1, c.state); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: a second restore: %v", name, err)
		}
	}
	blind := NewStepper(&rule{needs: Needs{Of: "rule", Evaluations: true}})
	if err := blind.Coefficients(w, []float64{0}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a rule that needs evaluations: %v", err)
	}
}

// A state of another method, without a part, with another count or with another part is refused.
func TestStatesAreRefused(t *testing.T) {
	p := begin(t, square(problem.Regularizer{}), 2)
	good := func() *State { return Capture(p, &scripted{k: 7}) }
	q, m := begin(t, square(problem.Regularizer{}), 0), &scripted{}
	if err := good().Restore(q, m); err != nil || iterate(q) != 2 || m.k != 7 {
		t.Errorf("x = %v, k = %v, error %v", iterate(q), m.k, err)
	}
	for name, c := range map[string]struct {
		change func(s *State)
		want   string
	}{
		"method":     {func(s *State) { s.Method = "other" }, `belongs to the method "other"`},
		"number":     {func(s *State) { delete(s.Numbers, "k") }, `"k" has 0 numbers`},
		"numbers":    {func(s *State) { s.Numbers["k"] = []float64{1, 2} }, `"k" has 2 numbers`},
		"vector":     {func(s *State) { s.Vectors["iterate"] = []float64{1, 2} }, `"iterate" has 2 numbers`},
		"more":       {func(s *State) { s.Vectors["more"] = []float64{1} }, `contains "more"`},
		"two errors": {func(s *State) { delete(s.Vectors, "iterate"); delete(s.Numbers, "k"); s.Numbers["more"] = nil }, `"iterate" has 0 numbers`},
	} {
		s := good()
		c.change(s)
		if err := s.Restore(q, &scripted{}); !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		b := Settings{Iterations: 1, Resume: s}
		if _, err := Train(t.Context(), q, &scripted{}, b); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: a run resumes: %v", name, err)
		}
	}
}

// Records by time are due after a share of the limit, or of the time to the deadline.
func TestTimedByHand(t *testing.T) {
	limited := newTimed(&Settings{TimeLimit: 400 * time.Second})
	if limited.training != 2 || limited.wall != 0 || limited.due(1.999) || !limited.due(2) {
		t.Errorf("%+v", limited)
	}
	if limited.recorded(time.Hour); limited.spent != time.Hour || !limited.last.IsZero() {
		t.Errorf("after a record: %+v", limited)
	}
	if none := newTimed(&Settings{}); none.wall != 0 || !none.last.IsZero() || none.due(1e9) {
		t.Errorf("without limits: %+v", none)
	}
	hours := newTimed(&Settings{Deadline: time.Now().Add(100 * time.Hour)})
	if hours.wall < time.Hour || hours.wall > 2*time.Hour || hours.last != hours.began || hours.due(1e9) {
		t.Errorf("%+v", hours)
	}
	if past := newTimed(&Settings{Deadline: time.Now().Add(-time.Hour)}); past.wall != 1 {
		t.Errorf("a deadline in the past: %+v", past)
	}
	if fixed := newTimed(&Settings{Deadline: time.Now().Add(time.Hour), TimeLimit: 1, RecordEvery: 1}); fixed.wall != 0 || fixed.due(1e9) {
		t.Errorf("records by iterations: %+v", fixed)
	}
	ago := func(hours int) time.Time { return time.Now().Add(-time.Duration(hours) * time.Hour) }
	for _, c := range []struct {
		last  int // hours since the last record
		spent time.Duration
		want  bool
	}{{3, 0, true}, {1, 0, false}, {3, 9 * time.Hour, true}, {3, 11 * time.Hour, false}} {
		w := timed{training: math.Inf(1), wall: 2 * time.Hour, last: ago(c.last), began: ago(100), spent: c.spent}
		if w.due(1e9) != c.want {
			t.Errorf("%+v: not %v", c, c.want)
		}
		if w.recorded(time.Hour); w.spent != c.spent+time.Hour || time.Since(w.last) > time.Hour {
			t.Errorf("%+v after a record: %+v", c, w)
		}
	}
}

// A search has a quarter of the gradient evaluations, less the searches before, and at the end a
// quarter again, at most 500 steps. Evaluations of mini-batches count by the epoch.
func TestSearchStepsByHand(t *testing.T) {
	p := begin(t, square(problem.Regularizer{}), 0)
	for _, c := range []struct {
		gradients, from int
		spent           float64
		batches, ending bool
		want            int
	}{
		{840, 40, 0, false, false, 200}, {840, 40, 30.5, false, false, 169}, {840, 40, 30.5, false, true, 200},
		{9000, 0, 100, false, false, 500}, {9000, 0, 100, false, true, 500}, {840, 40, 5, true, false, 15}, {840, 40, 5, true, true, 20},
	} {
		r := &run{p: p, full: p, from: c.from, set: Settings{IterationsPerEpoch: 10}, conflict: conflict{spent: c.spent}}
		r.at.GradientEvaluations = c.gradients
		if c.batches {
			r.full = begin(t, square(problem.Regularizer{}), 0)
		}
		if got := r.searchSteps(c.ending); got != c.want {
			t.Errorf("%+v: %d steps", c, got)
		}
	}
}

// The condition of a search, at x = 4 in the problem -x <= -1, x <= -1, whose constraints cannot be
// met. A search leaves the cost of its gradient evaluations.
func TestSearchConditions(t *testing.T) {
	fn := problem.Functions{N: 1, M: 2,
		F: func(x []float64) float64 { return x[0] * x[0] / 2 }, Gradient: func(dst, x []float64) { dst[0] = x[0] },
		G:         func(dst, x []float64) { dst[0], dst[1] = x[0]+1, -x[0]+1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] - w[1] }}
	for name, c := range map[string]struct {
		change   func(r *run)
		ending   bool
		searched bool
	}{
		"ending":   {func(*run) {}, true, true},
		"going on": {func(*run) {}, false, false},
		"stalled": {func(r *run) {
			r.conflict.recent, r.conflict.before, r.conflict.started = slices.Repeat([]float64{5}, 10), 5, true
		}, false, true},
		"few steps": {func(r *run) { r.at.GradientEvaluations = 4 }, true, true},
		"no step":   {func(r *run) { r.at.GradientEvaluations = 3 }, true, false},
		"stalled, 49": {func(r *run) {
			r.conflict.recent, r.conflict.before, r.conflict.started = slices.Repeat([]float64{5}, 10), 5, true
			r.at.GradientEvaluations = 199
		}, false, false},
		"stalled, 50": {func(r *run) {
			r.conflict.recent, r.conflict.before, r.conflict.started = slices.Repeat([]float64{5}, 10), 5, true
			r.at.GradientEvaluations = 200
		}, false, true},
		"ignored":           {func(r *run) { r.set.IgnoreConflict = true }, true, false},
		"feasible before":   {func(r *run) { r.best = &Best{} }, true, false},
		"attained":          {func(r *run) { r.conflict.attained = true }, true, false},
		"feasible":          {func(r *run) { r.last.MaxViolation = 0.25 }, true, false},
		"nearly feasible":   {func(r *run) { r.last.MaxViolation = 0.2501 }, true, true},
		"deadline":          {func(r *run) { r.set.Deadline = time.Now().Add(-time.Hour) }, true, false},
		"only mini-batches": {func(r *run) { r.full = group{r.full} }, true, false},
	} {
		p := begin(t, fn, 4)
		r, err := newRun(p, &scripted{}, Settings{FeasibilityTolerance: 0.25})
		if err != nil {
			t.Fatal(err)
		}
		r.at.GradientEvaluations, r.last = 400, Record{Infeasibility: 5, MaxViolation: 5}
		c.change(r)
		proven, err := r.searchConflict(c.ending)
		if err != nil || (r.conflict.spent > 0) != c.searched || proven != (r.conflict.proof != nil) || proven && r.conflict.attained {
			t.Errorf("%s: proven %v, %v, %+v", name, proven, err, r.conflict)
		}
		if n := len(r.conflict.recent); n == 0 || r.conflict.recent[n-1] != 5 {
			t.Errorf("%s: the record is missing in %v", name, r.conflict.recent)
		}
	}
}

// Near stationarity measures at the same rho^ in each record, and for a rho^ of 0 at twice the
// estimate: f has the curvature 1 and no constraint curves, so that rho^ is 2/10.
func TestNearRecordsByHand(t *testing.T) {
	for _, c := range []struct {
		rho, want float64
	}{{0, 0.2}, {3, 3}} {
		l := &journal{}
		s := Settings{Iterations: 7, RecordEvery: 2, NearEvery: 2, Recorder: l}
		s.Near.RhoHat = c.rho
		trained(t, begin(t, square(problem.Regularizer{}), 0.75), &scripted{moves: []float64{-0.125}, nu: []float64{0}}, s)
		for _, r := range l.records {
			due := r.Iteration%4 == 0 || r.Iteration == 7
			if due != (r.NearStationarity != nil) {
				t.Errorf("record %d: %+v", r.Iteration, r.NearStationarity)
				continue
			}
			if !due {
				continue
			}
			// x^ minimises y^2/2 + rho^/2 (y - x)^2.
			x := 0.75 - 0.125*float64(r.Iteration)
			if n := r.NearStationarity; math.Abs(n.RhoHat-c.want) > 1e-6 || math.Abs(n.Distance-math.Abs(x)/(1+c.want)) > 1e-6 || r.NearReason != "" {
				t.Errorf("record %d: %+v, %q", r.Iteration, n, r.NearReason)
			}
		}
	}
	s := Settings{NearEvery: 1}
	s.Near.Iterations = -1
	for _, every := range []int{0, 1} {
		if s.NearEvery = every; true {
			if _, err := Train(t.Context(), begin(t, square(problem.Regularizer{}), 0), &scripted{}, s); !errors.Is(err, problem.ErrSettings) {
				t.Errorf("near stationarity of -1 iterations, every %d: %v", every, err)
			}
		}
	}
}

// Ticks reach the recorders that observe each iteration.
type ticks struct {
	journal
	ticks []int
}

func (l *ticks) Tick(at *problem.Point) { l.ticks = append(l.ticks, at.Iteration) }

func TestRecordersTick(t *testing.T) {
	l := &ticks{}
	trained(t, begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{0}}, Settings{Iterations: 2, Recorder: Recorders{&journal{}, l}})
	if !slices.Equal(l.ticks, []int{1, 2}) || len(l.records) != 3 {
		t.Errorf("ticks %v, records %v", l.ticks, l.iterations())
	}
}

// The records, certificates and results describe the full problem; the method sees the other.
func TestFullProblemByHand(t *testing.T) {
	full := square(problem.Regularizer{})
	full.F = func(x []float64) float64 { return 10 + x[0]*x[0]/2 }
	full.G = func(dst, x []float64) { dst[0] = x[0] - 3 }
	l, m, whole := &journal{}, &scripted{moves: []float64{1, -2}, nu: []float64{0}, gradients: 2}, begin(t, full, 99)
	r := trained(t, begin(t, square(problem.Regularizer{}), 2), m, Settings{Iterations: 2, RecordEvery: 1, Output: OutputBest, Full: whole, IterationsPerEpoch: 4, Recorder: l})
	for i, want := range []struct{ f, g float64 }{{12, -1}, {14.5, 0}, {10.5, -2}} {
		if got := l.records[i]; got.Objective != want.f || got.Constraints[0] != want.g || got.Epoch != float64(i)/4 || got.Iteration != i {
			t.Errorf("record %d: %+v, want %+v", i, got, want)
		}
	}
	if !slices.Equal(m.seen, []float64{2, 4.5}) || r.Objective != 10.5 || r.Point.GradientEvaluations != 4 || r.Point.Iteration != 2 || iterate(whole) != 1 || len(r.Warnings) != 0 {
		t.Errorf("the method saw %v; %+v", m.seen, r)
	}
	first := trained(t, begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{1}, nu: []float64{0}}, Settings{Iterations: 2, RecordEvery: 1, Output: OutputBest, Full: whole})
	if first.Output != 0 || first.Objective != 10 || first.Point.Constraints[0] != -3 || iterate(whole) != 0 {
		t.Errorf("the best iterate: %+v", first)
	}
	full.F = func(x []float64) float64 { return math.NaN() }
	var bad *problem.NonFiniteError
	if _, err := Train(t.Context(), begin(t, square(problem.Regularizer{}), 0), &scripted{}, Settings{Full: begin(t, full, 0)}); !errors.As(err, &bad) {
		t.Errorf("a full problem that is not finite: %v", err)
	}
}

// A resumed run starts at the iteration and the iterate of its state, and does not warn about the
// start again.
func TestResumeByHand(t *testing.T) {
	m, l := &scripted{moves: []float64{1, 2, 3, 4}, nu: []float64{0}, gradients: 5}, &journal{}
	p := begin(t, square(problem.Regularizer{}), 100)
	r := trained(t, p, m, Settings{Iterations: 4, RecordEvery: 1, Recorder: l,
		Resume:   &State{Method: "scripted", Numbers: map[string][]float64{"k": {2}}, Vectors: map[string][]float64{"iterate": {2}}},
		ResumeAt: problem.Point{Iteration: 2, GradientEvaluations: 10}})
	if !slices.Equal(l.iterations(), []int{2, 3, 4}) || iterate(p) != 9 || r.Point.GradientEvaluations != 20 || !slices.Equal(m.seen, []float64{2, 12.5}) ||
		len(r.Warnings) != 0 {
		t.Errorf("records %v, x = %v, %+v, f = %v, warnings %q", l.iterations(), iterate(p), r.Point, m.seen, r.Warnings)
	}
}

// With merits that are not numbers, patience counts from the start.
func TestPatienceWithoutMerits(t *testing.T) {
	nan := math.NaN()
	r := trained(t, begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{0}}, Settings{Iterations: 9, RecordEvery: 1, Patience: 1,
		ValidationMerit: func() Merit { return Merit{nan, nan} }})
	if r.Status != NoImprovement || r.Iterations != 1 {
		t.Errorf("%v after %d, want %v after 1", r.Status, r.Iterations, NoImprovement)
	}
}
