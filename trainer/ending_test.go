package trainer

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// Records by time are due after a share of the limit, or of the time to the deadline.
func TestTimedByHand(t *testing.T) {
	limited := newTimed(&Settings{TimeLimit: 400 * time.Second}, time.Now)
	if limited.training != 2 || limited.wall != 0 || limited.due(1.999) || !limited.due(2) {
		t.Errorf("%+v", limited)
	}
	if limited.recorded(time.Hour); limited.spent != time.Hour || !limited.last.IsZero() {
		t.Errorf("after a record: %+v", limited)
	}
	if none := newTimed(&Settings{}, time.Now); none.wall != 0 || !none.last.IsZero() || none.due(1e9) {
		t.Errorf("without limits: %+v", none)
	}
	hours := newTimed(&Settings{Deadline: time.Now().Add(100 * time.Hour)}, time.Now)
	if hours.wall < time.Hour || hours.wall > 2*time.Hour || hours.last != hours.began || hours.due(1e9) {
		t.Errorf("%+v", hours)
	}
	if past := newTimed(&Settings{Deadline: time.Now().Add(-time.Hour)}, time.Now); past.wall != 1 {
		t.Errorf("a deadline in the past: %+v", past)
	}
	if fixed := newTimed(&Settings{Deadline: time.Now().Add(time.Hour), TimeLimit: 1, RecordEvery: 1}, time.Now); fixed.wall != 0 || fixed.due(1e9) {
		t.Errorf("records by iterations: %+v", fixed)
	}
	ago := func(hours int) time.Time { return time.Now().Add(-time.Duration(hours) * time.Hour) }
	for _, c := range []struct {
		last  int // hours since the last record
		spent time.Duration
		want  bool
	}{{3, 0, true}, {1, 0, false}, {3, 9 * time.Hour, true}, {3, 11 * time.Hour, false}} {
		w := timed{now: time.Now, training: math.Inf(1), wall: 2 * time.Hour, last: ago(c.last), began: ago(100), spent: c.spent}
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
		"feasible before":   {func(r *run) { r.conflict.met = true }, true, false},
		"attained":          {func(r *run) { r.conflict.attained = true }, true, false},
		"feasible":          {func(r *run) { r.last.MaxViolation = 0.25 }, true, false},
		"nearly feasible":   {func(r *run) { r.last.MaxViolation = 0.2501 }, true, true},
		"deadline":          {func(r *run) { r.set.Deadline = time.Now().Add(-time.Hour) }, true, false},
		"only mini-batches": {func(r *run) { r.full = group{r.full} }, true, false},
	} {
		p := begin(t, fn, 4)
		r := require.Value(newRun(t.Context(), p, &scripted{}, Settings{FeasibilityTolerance: 0.25}))(t)
		r.at.GradientEvaluations, r.recorded, r.last = 400, 0, Record{Infeasibility: 5, MaxViolation: 5}
		c.change(r)
		steps := r.searchSteps(c.ending)
		o := require.Value(certify.SearchFeasible(t.Context(), begin(t, fn, 4), certify.InfeasibleSettings{Iterations: steps, Tolerance: 0.25}))(t)
		cost := float64(o.Evaluations) / 2
		proven, err := r.searchConflict(c.ending)
		if err != nil || r.conflict.spent != 0 && r.conflict.spent != cost || (r.conflict.spent > 0) != c.searched || proven != (r.conflict.proof != nil) || proven && r.conflict.attained {
			t.Errorf("%s: proven %v, %v, %+v", name, proven, err, r.conflict)
		}
		if n := len(r.conflict.recent); n == 0 || r.conflict.recent[n-1] != 5 {
			t.Errorf("%s: the record is missing in %v", name, r.conflict.recent)
		}
	}
}

// A run that reaches a limit searches for a point that meets the constraints; an interrupted run
// does not.
func TestSearchAtTheEnd(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		set     Settings
		seconds float64
		ctx     context.Context
		want    Status
	}{
		{Settings{}, 0, t.Context(), IterationLimit}, {Settings{Iterations: 9, Gradients: 40}, 0, t.Context(), GradientLimit},
		{Settings{Iterations: 9, TimeLimit: time.Minute}, 60, t.Context(), TimeLimit}, {Settings{Iterations: 9}, 0, cancelled, Interrupted},
	} {
		b := require.Value(newRun(c.ctx, begin(t, square(problem.Regularizer{}), 4), &scripted{moves: []float64{0}}, c.set))(t)
		b.seconds, b.at.GradientEvaluations = c.seconds, 40
		if status, err := b.loop(); err != nil || status != c.want || b.conflict.attained != (c.want != Interrupted) {
			t.Errorf("%v, error %v: attained %v", status, err, b.conflict.attained)
		}
	}
}

// restful is a method that comes to rest after an iteration.
type restful struct {
	scripted
	after int
}

func (m *restful) Resting() bool { return m.k >= m.after }

// A run at rest ends after the iteration, with a record of it, also if it is interrupted there. A
// limit has the precedence. A run that draws its output goes on, unless only a limit on gradients,
// which a method at rest never reaches, would end it.
func TestTheEndAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		set       Settings
		interrupt bool
		want      Status
		end       int
	}{
		"at rest":                   {Settings{Iterations: 20}, false, AtRest, 7},
		"between records":           {Settings{Iterations: 20, RecordEvery: 5}, false, AtRest, 7},
		"interrupted":               {Settings{Iterations: 20}, true, AtRest, 7},
		"the last iteration":        {Settings{Iterations: 7}, false, IterationLimit, 7},
		"random output":             {Settings{Iterations: 20, Output: OutputRandom}, false, IterationLimit, 20},
		"random output, gradients":  {Settings{Iterations: 20, Output: OutputRandom, Gradients: 9}, false, AtRest, 7},
		"gradients that it reaches": {Settings{Iterations: 20, Gradients: 3}, false, GradientLimit, 3},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		l, m := &journal{}, &restful{scripted{moves: []float64{0.5}, gradients: 1}, 7}
		if c.interrupt {
			l.after = func(r *Record) {
				if r.Iteration == 6 {
					cancel()
				}
			}
			c.set.RecordEvery = 6
		}
		c.set.Recorder = l
		b := require.Value(newRun(ctx, begin(t, square(problem.Regularizer{}), 4), m, c.set))(t)
		status, err := b.loop()
		cancel()
		if k := l.iterations(); err != nil || status != c.want || b.at.Iteration != c.end || k[len(k)-1] != c.end {
			t.Errorf("%s: %v after %d iterations with the records %v, want %v after %d (%v)", name, status, b.at.Iteration, k, c.want, c.end, err)
		}
	}
}

// Warnings of a state return with their codes; a text without a code is a warning without a code.
func TestWarningsOfAState(t *testing.T) {
	want := Warnings{NewWarning(WarnSettings, "a tab\tin the text", "use \"less\""), {Text: "no code"}}
	if diff := cmp.Diff(want, DecodeWarnings(want.Encode())); diff != "" {
		t.Error(diff)
	}
	if got := DecodeWarnings([]string{"a sentence"}); len(got) != 1 || got[0] != (Warning{Text: "a sentence"}) {
		t.Errorf("%q", got)
	}
	if !want.Has(WarnSettings) || want.Has(WarnOutput) {
		t.Error("Has looks at other codes")
	}
}

// Records before the last one have the values and measures of the sample, and are no candidates
// for the best iterate. The last record has the values of all rows with the sample's gradient. A
// setting whose records decide something does without the sample.
func TestSample(t *testing.T) {
	other := square(problem.Regularizer{})
	f := other.F
	other.F = func(x []float64) float64 { return f(x) + 10 }
	other.Gradient = func(dst, x []float64) { dst[0] = 3 * x[0] }
	measures := func(v float64) func() (map[string]float64, error) {
		return func() (map[string]float64, error) { return map[string]float64{"rows": v}, nil }
	}
	run := func(set func(*Settings)) (*Result, []Record) {
		l := &journal{}
		s := Settings{Iterations: 4, RecordWork: 1e-3, Measure: measures(9), OwnMultiplier: true, Recorder: l}
		s.Sample = &Sample{Problem: begin(t, other, 4), Rows: 5, Measure: measures(5)}
		set(&s)
		r := require.Value(Train(t.Context(), begin(t, square(problem.Regularizer{}), 4), &scripted{moves: []float64{-4, 1, 1, 0}, nu: []float64{0}}, s))(t)
		return r, l.records
	}
	r, records := run(func(*Settings) {})
	if len(records) != 5 {
		t.Fatalf("%d records", len(records))
	}
	for i, want := range []struct{ f, rows float64 }{{18, 5}, {10, 5}, {10.5, 5}, {12, 5}, {2, 9}} {
		if got := records[i]; got.Objective != want.f || got.Measures["rows"] != want.rows || got.Sample != 5 {
			t.Errorf("record %d has f = %v, measures %v and a sample of %d rows, want %+v", i, got.Objective, got.Measures, got.Sample, want)
		}
	}
	if r.BestFeasible != nil || r.Objective != 2 || r.Certificate.Stationarity != 6 || r.Point.Objective != 2 {
		t.Errorf("%+v", r)
	}
	if r, _ := run(func(s *Settings) { s.OwnMultiplier = false }); r.Certificate.Stationarity == 6 {
		t.Error("the certificate of the result has the sample's gradient")
	}
	for name, set := range map[string]func(*Settings){
		"record-every": func(s *Settings) { s.RecordEvery = 1 },
		"tolerance":    func(s *Settings) { s.Tolerance = 1e-9 },
		"best":         func(s *Settings) { s.Output = OutputBest },
		"random":       func(s *Settings) { s.Output = OutputRandom },
	} {
		_, records := run(set)
		for _, got := range records {
			if got.Sample != 0 || got.Objective >= 10 || got.Measures["rows"] != 9 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// offset is a problem whose coarse passes add 1 to f and to the constraint.
type offset struct {
	problem.Problem
	coarse bool
}

func (o *offset) Grades() []problem.Grade {
	return []problem.Grade{{Share: 1, Roundoff: 1e-5}, {Share: 1}}
}
func (o *offset) SetGrade(k int) { o.coarse = k == 0 }

func (o *offset) Grade() int {
	if o.coarse {
		return 0
	}
	return 1
}

func (o *offset) Forward(g []float64) (float64, error) {
	f, err := o.Problem.Forward(g)
	if o.coarse {
		f++
		g[0]++
	}
	return f, err
}

// coarsened is a method whose passes are coarse.
type coarsened struct{ scripted }

func (m *coarsened) Iterate(p problem.Problem, at *problem.Point) error {
	problem.FeaturesOf(p).Graded.SetGrade(0)
	return m.scripted.Iterate(p, at)
}

// Records, checks of the tolerance and results have accurate values. The method goes on with its
// own coarse values, so that the interval of records does not change the run.
func TestCoarsePassesAreNotMeasured(t *testing.T) {
	for _, every := range []int{1, 2} {
		p := &offset{Problem: begin(t, square(problem.Regularizer{}), 4), coarse: true}
		m := &coarsened{scripted{moves: []float64{-1}}}
		l := &journal{}
		m.nu = []float64{0}
		r := trained(t, p, m, Settings{Iterations: 4, RecordEvery: every, CheckEvery: 1, Tolerance: 1e-3, Recorder: l})
		if want := []float64{8, 5.5, 3, 1.5}; !slices.Equal(m.seen, want) {
			t.Errorf("every %d: the method saw f = %v, want %v", every, m.seen, want)
		}
		for _, record := range l.records {
			x := 4 - float64(record.Iteration)
			if record.Objective != x*x/2 || record.Constraints[0] != x-1 {
				t.Errorf("every %d: record %+v, want f = %v", every, record, x*x/2)
			}
		}
		if r.Status != Converged || r.Iterations != 4 || r.Objective != 0 || r.Point.Objective != 0 || r.Point.Constraints[0] != -1 || p.coarse {
			t.Errorf("every %d: %+v at %+v, coarse %v", every, r, r.Point, p.coarse)
		}
	}
}
