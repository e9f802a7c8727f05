package decide

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// affineOf returns the problem of one variable x with f = x^2/2, the terms x and x^2, and bounds on
// the terms.
func affineOf(t *testing.T, x float64, rows ...problem.AffineRow) *problem.Affine {
	t.Helper()
	m := require.Value(problem.NewAffineMap(2, rows))(t)
	return require.Value(problem.NewAffine(termsAt(t, x), m))(t)
}

func termsAt(t *testing.T, x float64) problem.Problem {
	return testkit.Start(t, problem.Functions{N: 1, M: 2,
		F:         func(x []float64) float64 { return x[0] * x[0] / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] },
		G:         func(dst, x []float64) { dst[0], dst[1] = x[0], x[0]*x[0] },
		JacobianT: func(dst, x, w []float64) { dst[0] = w[0] + 2*x[0]*w[1] },
	}, x)
}

// fourRows returns a feedback of four rows with the scores x+3, x+1, x-1 and x-3. The rates are the
// share of positive decisions of all rows and of the first two rows, and the error. The bounds are
// d_0 <= 1/4 and d_1 - d_0 <= 1/2.
func fourRows(t *testing.T, x float64) Feedback {
	t.Helper()
	rows := []problem.AffineRow{{Coefficients: []float64{1, 0}, Bound: 0.25}, {Coefficients: []float64{-1, 1}, Bound: 0.5}}
	smooth := affineOf(t, x, rows...)
	r := require.Value(NewRates(4, 2, make([]float64, 3), func(i int) []Entry {
		if i < 2 {
			return []Entry{{Rate: 0, Class: 1, Weight: 0.25}, {Rate: 1, Class: 1, Weight: 0.5}, {Rate: 2, Class: 0, Weight: 0.25}}
		}
		return []Entry{{Rate: 0, Class: 1, Weight: 0.25}, {Rate: 2, Class: 1, Weight: 0.25}}
	}))(t)
	target := &Target{Objective: problem.AffineRow{Coefficients: []float64{0, 0, 1}}}
	for j, row := range rows {
		row.Coefficients = append(slices.Clone(row.Coefficients), 0)
		target.Bounds = append(target.Bounds, Bound{AffineRow: row, Row: []float64{0.25, 0.5}[j]})
	}
	return Feedback{Smooth: smooth, Rates: r, Target: target, Scores: func() ([]float64, error) {
		x := iterate(smooth)[0]
		return []float64{x + 3, x + 1, x - 1, x - 3}, nil
	}}
}

// TestNewLoop checks the defaults of the rounds, the tolerance of a round and the intervals.
func TestNewLoop(t *testing.T) {
	for _, tc := range []struct {
		rounds, want  int
		row           float64
		given, wanted float64 // tolerances
		set           trainer.Settings
		every, check  int
	}{
		{rounds: 0, want: 6, row: 0.25, wanted: 0.0125, set: trainer.Settings{Iterations: 4000}, every: 20, check: 20},
		{rounds: -1, want: 0, row: 0.25, given: 0.5, wanted: 0.5, set: trainer.Settings{Iterations: 6000, TimeLimit: 1}, every: 30, check: 30},
		{rounds: -2, want: 0, row: 1e-6, wanted: 1e-5, set: trainer.Settings{Iterations: 4000, Deadline: time.Now()}, every: 20, check: 20},
		{rounds: 1, want: 1, row: 0, wanted: 0, set: trainer.Settings{Iterations: 4000, RecordEvery: 7}, every: 7, check: 20},
		{rounds: 3, want: 3, row: 0, given: 1e-9, wanted: 1e-9, set: trainer.Settings{Iterations: 4000, CheckEvery: 5}, every: 5, check: 5},
	} {
		f := fourRows(t, 0)
		f.Rounds = tc.rounds
		f.Target.Bounds[0].Row, f.Target.Bounds[1].Row = tc.row, 2*tc.row
		told := ""
		tc.set.Tolerance, tc.set.Warn, tc.set.ResumeAt.GradientEvaluations = tc.given, func(w trainer.Warning) { told = w.Text }, 9
		l := require.Value(newLoop(f.Smooth, nil, tc.set, f))(t)
		every, check := l.limits().Intervals()
		if l.f.Rounds != tc.want || math.Abs(l.set.Tolerance-tc.wanted) > 1e-18 || every != tc.every || check != tc.check {
			t.Errorf("%+v: %d rounds, tolerance %v, a record every %d, a check every %d", tc, l.f.Rounds, l.set.Tolerance, every, check)
		}
		if l.theta != 1 || l.before != math.MaxFloat64 || l.repeated != -1 || l.gradients != 9 || l.result.Best != -1 {
			t.Errorf("the start is %+v", l)
		}
		if l.set.Warn(trainer.Warning{Text: "note"}); told != "note" {
			t.Errorf("a warning of the start arrives as %q", told)
		}
	}
	f := fourRows(t, 0)
	f.Target.Bounds = f.Target.Bounds[:1]
	if _, err := newLoop(f.Smooth, nil, trainer.Settings{}, f); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("one bound for two constraints: %v", err)
	}
}

// TestRow takes the least positive weight of a row.
func TestRow(t *testing.T) {
	for _, tc := range []struct {
		rows []float64
		want float64
	}{{nil, 0}, {[]float64{0, 0}, 0}, {[]float64{0, 0.5, 0.25}, 0.25}, {[]float64{0.5, -1}, 0.5}} {
		target := &Target{}
		for _, row := range tc.rows {
			target.Bounds = append(target.Bounds, Bound{Row: row})
		}
		if got := target.row(); got != tc.want {
			t.Errorf("rows %v: %v, want %v", tc.rows, got, tc.want)
		}
	}
}

// TestShiftByHand checks the shifts c + theta ((h - d) - c) after a round whose excess has not
// fallen. theta is halved, and the round is the best one, or the last one if the best is that of
// Start.
func TestShiftByHand(t *testing.T) {
	for start, want := range map[bool]float64{false: 1.5, true: 2.5} {
		best := &solution{start: start, round: Round{Shifts: []float64{1}, Smooth: []float64{5}, Decisions: []float64{3}}, state: &trainer.State{Method: "best"}}
		last := &Round{Shifts: []float64{3}, Smooth: []float64{6}, Decisions: []float64{4}}
		l := &loop{theta: 1, before: 0.1, shifts: make([]float64, 1), best: best, state: &trainer.State{Method: "last"}}
		l.shift(last, 0.2)
		if l.theta != 0.5 || l.before != 0.2 || l.shifts[0] != want || (l.state.Method == "last") != start {
			t.Errorf("the best round is that of Start: %v: theta %v, shift %v, want %v, from the %s round", start, l.theta, l.shifts[0], want, l.state.Method)
		}
	}
}

// TestLimitsOfARound checks the shares of the limits by hand: a third in the first round, and equal
// parts of the rest. With Start, a round before them has a third, and they share the rest in this
// way.
func TestLimitsOfARound(t *testing.T) {
	began := time.Now()
	l := &loop{f: Feedback{Rounds: 6}, began: began, set: trainer.Settings{Iterations: 100, Gradients: 10, TimeLimit: 9 * time.Second, Deadline: began.Add(18 * time.Hour)}}
	for _, tc := range []struct {
		rounds, gradients     int
		seconds               float64
		iterations, evaluated int
		time, deadline        time.Duration
	}{
		{0, 0, 0, 34, 4, 3 * time.Second, 6 * time.Hour},
		{0, 3, 1.5, 34, 4, 1500 * time.Millisecond, 6 * time.Hour},
		{0, 4, 5, 34, 5, 1, 6 * time.Hour},
		{3, 4, 5, 67, 7, time.Second, 12 * time.Hour},
		{6, 4, 5, 100, 10, 4 * time.Second, 18 * time.Hour},
		{7, 4, 5, 100, 10, 4 * time.Second, 18 * time.Hour},
	} {
		l.rounds, l.gradients, l.seconds = tc.rounds, tc.gradients, tc.seconds
		s := l.limits()
		near := func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond }
		if s.Iterations != tc.iterations || s.Gradients != tc.evaluated || !near(s.TimeLimit, tc.time) || s.TimeLimit < 1 || !near(s.Deadline.Sub(began), tc.deadline) {
			t.Errorf("%+v: %d iterations, %d gradients, %v, %v", tc, s.Iterations, s.Gradients, s.TimeLimit, s.Deadline.Sub(began))
		}
	}
	l.set = trainer.Settings{Iterations: 100}
	if s := l.limits(); s.Gradients != 0 || s.TimeLimit != 0 || !s.Deadline.IsZero() {
		t.Errorf("without limits: %+v", s)
	}
	if l = (&loop{}); l.share() != 1 {
		t.Errorf("the share of a single round is %v", l.share())
	}
	l.f.Start, l.f.Rounds = []float64{1}, 2
	for rounds, want := range []float64{1. / 3, 5. / 9, 7. / 9, 1} {
		if l.rounds = rounds; math.Abs(l.share()-want) > 1e-15 {
			t.Errorf("with the objective of Start, round %d ends at the share %v, want %v", rounds, l.share(), want)
		}
		if got := l.limits().Tolerance; got != []float64{1e-3, 0}[min(rounds, 1)] {
			t.Errorf("with the objective of Start, round %d ends at the epsilon %v", rounds, got)
		}
	}
}

// TestSpent checks each limit at equality and below.
func TestSpent(t *testing.T) {
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	for i, tc := range []struct {
		at      problem.Point
		seconds float64
		set     trainer.Settings
		want    bool
	}{
		{problem.Point{Iteration: 9}, 0, trainer.Settings{Iterations: 10}, false},
		{problem.Point{Iteration: 10}, 0, trainer.Settings{Iterations: 10}, true},
		{problem.Point{}, 1.5, trainer.Settings{Iterations: 10}, false},
		{problem.Point{}, 1.5, trainer.Settings{Iterations: 10, TimeLimit: 2 * time.Second}, false},
		{problem.Point{}, 1.5, trainer.Settings{Iterations: 10, TimeLimit: 1500 * time.Millisecond}, true},
		{problem.Point{GradientEvaluations: 5}, 0, trainer.Settings{Iterations: 10}, false},
		{problem.Point{GradientEvaluations: 5}, 0, trainer.Settings{Iterations: 10, Gradients: 6}, false},
		{problem.Point{GradientEvaluations: 5}, 0, trainer.Settings{Iterations: 10, Gradients: 5}, true},
		{problem.Point{}, 0, trainer.Settings{Iterations: 10, Deadline: future}, false},
		{problem.Point{}, 0, trainer.Settings{Iterations: 10, Deadline: past}, true},
	} {
		if got := (&loop{at: tc.at, seconds: tc.seconds, set: tc.set}).spent(); got != tc.want {
			t.Errorf("case %d: %v, want %v", i, got, tc.want)
		}
	}
}

// TestExcess checks the excess beyond a row, and what counts as an unused bound, at equality.
func TestExcess(t *testing.T) {
	f := fourRows(t, 0)
	for _, tc := range []struct {
		decisions, nu []float64
		bound, slack  float64 // of the first bound
		largest       float64
		unused        bool
	}{
		{[]float64{0.5, -0.25}, []float64{0, 1}, 0.25, 0, 0.25, false},
		{[]float64{0.5, 0.875}, nil, 0.25, 0, 0.375, false},
		{[]float64{0.5, -1}, nil, 0.25, 0.375, 0.125, false}, // the slack is larger than a row
		{[]float64{-0.25, -1}, []float64{1}, 0.25, 0, -0.5, false},
		{[]float64{-0.375, -1}, []float64{1}, 0.25, 0, -0.625, true},
		{[]float64{-0.375, -1}, []float64{1e-6, 0}, 0.25, 0, -0.625, false},
		{[]float64{-0.375, -1}, []float64{0, 0.5}, 0.25, 0, -0.625, true},
		{[]float64{-0.75, -1}, []float64{1, 0}, -8, 0, -1, false}, // a tenth of the bound is 0.8
		{[]float64{-0.875, -1}, []float64{1, 0}, -8, 0, -1.125, true},
		{[]float64{-0.875, -0.5}, []float64{0, 1}, 0.25, 0, -1, false},
	} {
		f.Target.Bounds[0].Bound, f.Target.Bounds[0].Slack = tc.bound, tc.slack
		l := &loop{f: f, result: &Result{Result: &trainer.Result{Certificate: certify.Certificate{Nu: tc.nu}}}}
		largest, unused := l.excess(&Round{Decisions: tc.decisions})
		if math.Abs(largest-(tc.largest-1e-9)) > 1e-15 || unused != tc.unused {
			t.Errorf("%+v: excess %v, unused %v", tc, largest, unused)
		}
	}
}

// TestMeasure measures a round at x = 2 by hand: the trained problem has the weights, the smooth
// problem other ones.
func TestMeasure(t *testing.T) {
	f := fourRows(t, -7)
	amounts := []float64{0.0625, 0.125}
	f.Tighten = func(d []float64) []float64 {
		if !slices.Equal(d, []float64{0.75, 1}) {
			t.Errorf("Tighten gets the rates %v", d)
		}
		return amounts
	}
	f.Resolution = 0.01
	l := &loop{p: termsAt(t, 2), f: f, shifts: []float64{0.1, 0.2}, theta: 0.5, result: &Result{Rounds: []Round{{}}}, at: problem.Point{Iteration: 12}}
	got := require.Value(l.measure())(t)
	exact := require.Value(Offsets(f.Rates.(*Rates), f.Target.Tightened(amounts), []float64{5, 3, 1, -1}, 0.01))(t)
	want := Round{Iteration: 12, Theta: 0.5, Shifts: []float64{0.1, 0.2}, Smooth: []float64{1.75, 1.5}, Decisions: []float64{0.5625, -0.125}, Objective: 0.25, Exact: *exact}
	if diff := cmp.Diff(want, *got); diff != "" || len(l.result.Rounds) != 2 || got != &l.result.Rounds[1] {
		t.Errorf("the round of %d (-want +got):\n%s", len(l.result.Rounds), diff)
	}
	l.shifts[0] = 9
	if x := iterate(f.Smooth); x[0] != 2 || got.Shifts[0] != 0.1 {
		t.Errorf("the smooth problem is at %v, the round has the shifts %v", x, got.Shifts)
	}
}

// TestSearchConflict searches the bounds x <= -1 and -x <= -1 from x = 3, which no point meets, and
// x <= 0, which points meet, under the limits of the cost.
func TestSearchConflict(t *testing.T) {
	never := []problem.AffineRow{{Coefficients: []float64{1, 0}, Bound: -1}, {Coefficients: []float64{-1, 0}, Bound: -1}}
	attained := []problem.AffineRow{{Coefficients: []float64{1, 0}}}
	cost := func(rows []problem.AffineRow, steps int) float64 {
		o, err := certify.SearchFeasible(t.Context(), affineOf(t, 3, rows...), certify.InfeasibleSettings{Iterations: steps, Tolerance: 1e-3})
		if err != nil || (o.Certificate == nil) == (len(rows) == 2) {
			t.Fatalf("%+v, %v", o, err)
		}
		return float64(o.Evaluations) / 2
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	begun := require.Value(certify.SearchFeasible(cancelled, affineOf(t, 3, never...), certify.InfeasibleSettings{Iterations: 250}))(t)
	for name, tc := range map[string]struct {
		rows   []problem.AffineRow
		change func(l *loop)
		last   bool
		spent  float64 // additional cost
		inARow int

		cancelled bool
	}{
		"proof":                 {rows: never, spent: cost(never, 250), inARow: 2},
		"many iterations":       {rows: never, change: func(l *loop) { l.at.GradientEvaluations, l.at.Iteration = 3, 1000 }, spent: cost(never, 250), inARow: 2},
		"no proof":              {rows: attained, spent: cost(attained, 250)},
		"just enough steps":     {rows: never, change: func(l *loop) { l.conflict.spent = 200 }, spent: cost(never, 50), inARow: 2},
		"too few steps":         {rows: never, change: func(l *loop) { l.conflict.spent = 200.5 }},
		"few steps at the end":  {rows: never, change: func(l *loop) { l.conflict.spent = 249 }, last: true, spent: cost(never, 50), inARow: 2},
		"ignored":               {rows: never, change: func(l *loop) { l.set.IgnoreConflict = true }},
		"the decisions meet it": {rows: never, change: func(l *loop) { l.best.round.Exact.Violation = 0 }},
		"within tolerance":      {rows: never, change: func(l *loop) { l.result.Certificate.Infeasibility = 1e-3 }},
		"own tolerance":         {rows: never, change: func(l *loop) { l.set.FeasibilityTolerance, l.result.Certificate.Infeasibility = 0.5, 0.25 }},
		"cancelled":             {rows: never, cancelled: true, spent: float64(begun.Evaluations) / 2},
	} {
		l := &loop{f: Feedback{Smooth: affineOf(t, 3, tc.rows...)}, at: problem.Point{GradientEvaluations: 1000, Iteration: 10},
			result: &Result{Result: &trainer.Result{Certificate: certify.Certificate{Infeasibility: 2}}}, best: &solution{round: Round{Exact: Exact{Violation: 0.25}}},
			conflict: conflict{inARow: 1, proof: &certify.Infeasibility{}}}
		if tc.change != nil {
			tc.change(l)
		}
		before, ctx := l.conflict.spent, t.Context()
		if tc.cancelled {
			ctx = cancelled
		}
		require.NoError(t, l.searchConflict(ctx, tc.last))
		if c := l.conflict; c.spent-before != tc.spent || c.inARow != tc.inARow || (c.proof != nil) != (tc.inARow > 0) {
			t.Errorf("%s: cost %v, %d in a row, proof %+v; want %v, %d", name, c.spent-before, c.inARow, c.proof, tc.spent, tc.inARow)
		}
		if tc.inARow > 0 && math.Abs(l.conflict.proof.Relaxation-1) > 1e-6 {
			t.Errorf("%s: %+v, want the relaxation 1", name, l.conflict.proof)
		}
	}
}

// After a round of quasi-Newton steps that its limit ends, an update of the multipliers is overdue.
// It is not after a round that ends by itself, or with the objective of Start.
func TestTheUpdateIsOverdue(t *testing.T) {
	for name, c := range map[string]struct {
		tolerance float64
		start     []float64
		want      float64
	}{"limit": {0, nil, 1}, "tolerance": {1e3, nil, 0}, "start": {0, []float64{0, 1}, 0}} {
		f := fourRows(t, 3)
		f.Start = c.start
		l := require.Value(newLoop(f.Smooth, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 12, Tolerance: c.tolerance}, f))(t)
		l.set.Tolerance = c.tolerance // in place of a part of a row
		again, err := l.round(t.Context())
		if err != nil || !again {
			t.Fatalf("%s: again %v, %v", name, again, err)
		}
		if got := l.state.Numbers["outer.overdue"]; !slices.Equal(got, []float64{c.want}) {
			t.Errorf("%s: overdue %v, want %v", name, got, c.want)
		}
	}
}
