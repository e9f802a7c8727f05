package trainer

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

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
	if len(r.Warnings) != 1 || r.Warnings[0].Code != WarnInfeasibleStart || !strings.HasPrefix(r.Warnings[0].Text, "the start is infeasible: the largest violation is 3 ") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// The best feasible record is the first with the least objective, and a violation of exactly the
// tolerance is feasible. An objective of 1.8 times that of equal scores is not, because the
// model no longer decides for a class.
func TestBestFeasibleByHand(t *testing.T) {
	for _, c := range []struct {
		start     float64
		moves     []float64
		tolerance float64
		want      int // -1: none
		collapse  float64
	}{
		{-0.5, []float64{1, -1, 0.75}, 0.5, 3, 0}, {-0.5, []float64{1, -1}, 0.5, 0, 0}, {1.5, []float64{1}, 0.5, 0, 0}, {1.5, []float64{1}, 0.25, -1, 0},
		{-0.5, []float64{1, -1}, 0.5, 0, 0.0695}, {-0.5, []float64{1, -1}, 0.5, -1, 0.0694}, // f = 1/8
	} {
		r := trained(t, begin(t, square(problem.Regularizer{}), c.start), &scripted{moves: c.moves, nu: []float64{0}},
			Settings{Iterations: len(c.moves), RecordEvery: 1, FeasibilityTolerance: c.tolerance, CollapseAbove: c.collapse})
		got := -1
		if r.BestFeasible != nil {
			got = r.BestFeasible.Iteration
		}
		if got != c.want {
			t.Errorf("from %v by %v: the best record is %d, want %d", c.start, c.moves, got, c.want)
		}
		if warned := len(r.Warnings) > 0; warned != (c.start-1 > c.tolerance || c.want < 0 && c.collapse > 0) {
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
	// A check sees the returned point, whose epsilon is 1/2, from the second iterate on.
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

// Solved ends a run at a check if both f and the residual are at most Solved, and neither at a
// plateau, nor far below 0, nor on coarse passes or mini-batches. The last record has the iterate.
func TestSolvedByHand(t *testing.T) {
	above := func(f float64) func(p problem.Functions) problem.Functions {
		return func(p problem.Functions) problem.Functions {
			own := p.F
			p.F = func(x []float64) float64 { return own(x) + f }
			return p
		}
	}
	coarse := func(p problem.Problem) problem.Problem { return &offset{Problem: p, coarse: true} }
	for name, c := range map[string]struct {
		change func(problem.Functions) problem.Functions
		wrap   func(problem.Problem) problem.Problem
		m      Method
		full   bool
		want   int
	}{
		"solved": {want: 3}, "a plateau": {change: above(0.2), want: 9}, "below 0": {change: above(-0.2), want: 9},
		"batches": {full: true, want: 9}, "coarse": {wrap: coarse, m: &coarsened{scripted{moves: []float64{-1, -1, -1.95, 0}, nu: []float64{0}}}, want: 9},
	} {
		fn := square(problem.Regularizer{})
		if c.change != nil {
			fn = c.change(fn)
		}
		p, l := begin(t, fn, 4), &journal{}
		if c.wrap != nil {
			p = c.wrap(p)
		}
		m := cmp.Or[Method](c.m, &scripted{moves: []float64{-1, -1, -1.95, 0}, nu: []float64{0}}) // f = 0.00125, and the residual is 0.05
		s := Settings{Iterations: 9, RecordEvery: 9, CheckEvery: 1, Solved: 0.06, Recorder: l}
		if c.full {
			s.Full = begin(t, fn, 4)
		}
		r := trained(t, p, m, s)
		if r.Iterations != c.want || (r.Status == Converged) != (c.want == 3) || l.records[len(l.records)-1].Iteration != c.want {
			t.Errorf("%s: %v after %d, %d records", name, r.Status, r.Iterations, len(l.records))
		}
	}
	for solved, want := range map[float64]int{0.05: 3, 0.04: 9} { // f is small enough, and the residual is not
		r := trained(t, begin(t, square(problem.Regularizer{}), 4), &scripted{moves: []float64{-1, -1, -1.953125, 0}, nu: []float64{0}},
			Settings{Iterations: 9, CheckEvery: 1, Solved: solved})
		if r.Iterations != want {
			t.Errorf("solved at %v: %v after %d, want %d", solved, r.Status, r.Iterations, want)
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
	if met, err := r.meets(0); met || err != nil {
		t.Errorf("a check without a tolerance: %v, %v", met, err)
	}
}

// Each setting out of its range is refused.
func TestSettingsOutOfRange(t *testing.T) {
	nan := math.NaN()
	for i, s := range []Settings{
		{Iterations: -1}, {RecordEvery: -1}, {CheckEvery: -1}, {Gradients: -1}, {RecordWork: -1}, {RecordWork: nan}, {LeastRecords: -1}, {RecordShare: -1}, {RecordShare: nan},
		{Tolerance: -1}, {Tolerance: nan}, {Solved: -1}, {Solved: nan}, {FeasibilityTolerance: -1}, {FeasibilityTolerance: nan}, {TimeLimit: -1},
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

// group is a problem that draws groups.
type group struct{ problem.Problem }

func (group) Sample(int) error                       { return nil }
func (group) GroupFeatures() []float64               { return nil }
func (group) DecisionViolations() ([]float64, error) { return nil, nil }

func TestNeedsOneDrawnGroup(t *testing.T) {
	one := begin(t, square(problem.Regularizer{}), 0)
	for name, c := range map[string]struct {
		p  problem.Problem
		ok bool
	}{"a group": {group{one}, true}, "no group": {one, false}} {
		if err := (Needs{Of: "m", Group: true}).Check(c.p); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
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
	for _, s.NearEvery = range []int{0, 1} {
		if r, err := Train(t.Context(), begin(t, square(problem.Regularizer{}), 0), &scripted{}, s); !errors.Is(err, problem.ErrSettings) || r != nil {
			t.Errorf("near stationarity of -1 iterations, every %d: %v, %v", s.NearEvery, r, err)
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
