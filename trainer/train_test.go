package trainer_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

func TestRecordsComeAtTheStartEveryAndLast(t *testing.T) {
	for _, test := range []struct {
		Iterations, every int
		want              []int
	}{
		{0, 0, []int{0}},
		{7, 3, []int{0, 3, 6, 7}},
		{6, 3, []int{0, 3, 6}},
		{5, 0, []int{0, 1, 2, 3, 4, 5}},
		{3, 10, []int{0, 3}},
	} {
		l := &testkit.Journal{}
		r := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{},
			trainer.Settings{Iterations: test.Iterations, RecordEvery: test.every, Recorder: trainer.Recorders{l}}))(t)
		if !slices.Equal(l.Iterations, test.want) || len(l.Ticks) != test.Iterations || r.Status != trainer.IterationLimit {
			t.Errorf("%d iterations, every %d: records %v, want %v; %d ticks; %v",
				test.Iterations, test.every, l.Iterations, test.want, len(l.Ticks), r.Status)
		}
	}
	l := &testkit.Journal{}
	require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}},
		trainer.Settings{Iterations: 1000, Recorder: l}))(t)
	if len(l.Records) != 201 {
		t.Errorf("%d records by default in 1000 iterations, want 201", len(l.Records))
	}
	if r := l.Records[0]; r.Delta != nil || r.StepSize != nil || r.MeanStationarity != nil {
		t.Errorf("the start has a delta, a step size or means: %+v", r)
	}
	if r := l.Records[1]; r.Delta == nil || r.StepSize == nil || r.MeanStationarity == nil || r.GradientEvaluations != 6 {
		t.Errorf("record 5 lacks a delta, a step size or means, or does not count 5 gradients and a probe: %+v", r)
	}
}

// restless are steps that never come to rest.
var restless = step.Settings{Kind: step.Nesterov}

// A run that a time limit ends long before its last iteration has more than two records.
func TestRecordsComeByTimeToo(t *testing.T) {
	const limit = 200 * time.Millisecond
	run := func(every int) []int {
		l := &testkit.Journal{}
		r, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: restless},
			trainer.Settings{Iterations: 1 << 40, TimeLimit: limit, RecordEvery: every, Recorder: l})
		if err != nil || r.Status != trainer.TimeLimit {
			t.Fatalf("%v, error %v", r.Status, err)
		}
		return l.Iterations
	}
	// An idle machine gives about 200; a busy one may interrupt the run for most of the limit.
	if n := len(run(0)); n <= 2 || n > 202 {
		t.Errorf("%d records by default, want more than the start and the last, and at most 202", n)
	}
	if n := len(run(1 << 39)); n != 2 {
		t.Errorf("%d records where every 2^39 iterations were asked for, want the start and the last", n)
	}
}

// Automatic records are the farther apart the more work they are, but at least 20 remain, and each
// of them is a check. Records that choose the output are not spread.
func TestIntervals(t *testing.T) {
	for _, test := range []struct {
		set           trainer.Settings
		record, check int
	}{
		{trainer.Settings{Iterations: 1000}, 5, 5},
		{trainer.Settings{Iterations: 1000, RecordWork: 0.2}, 5, 5},
		{trainer.Settings{Iterations: 1000, RecordWork: 2.1}, 25, 5},
		{trainer.Settings{Iterations: 100, RecordWork: 1}, 5, 1},
		{trainer.Settings{Iterations: 100, RecordWork: 1, LeastRecords: 5}, 20, 1}, // the start, 4 early ones, 4 and the last
		{trainer.Settings{Iterations: 1000, RecordWork: 1e9}, 50, 5},
		{trainer.Settings{Iterations: 300, RecordWork: 3}, 15, 1},
		{trainer.Settings{Iterations: 300, RecordWork: 3, LeastRecords: 100}, 3, 1},
		{trainer.Settings{Iterations: 30, RecordWork: 3}, 1, 1},
		{trainer.Settings{RecordWork: 3}, 1, 1},
		{trainer.Settings{Iterations: 100, Planned: 1000, RecordWork: 1e9}, 50, 5},
		{trainer.Settings{Iterations: 1000, RecordWork: 9, RecordEvery: 7}, 7, 5},
		{trainer.Settings{Iterations: 1000, RecordWork: 9, RecordEvery: 7, CheckEvery: 3}, 7, 3},
		{trainer.Settings{Iterations: 1000, RecordWork: 9, CheckEvery: 3}, 48, 3},
		{trainer.Settings{Iterations: 1000, RecordWork: 9, Patience: 3}, 5, 5},
		{trainer.Settings{Iterations: 1000, RecordWork: 9, Output: trainer.OutputBestTrain}, 5, 5},
		{trainer.Settings{Iterations: 480, IterationsPerEpoch: 8, RecordWork: 48, Output: trainer.OutputBestTrain}, 24, 24}, // 20 checks
		{trainer.Settings{Iterations: 480, IterationsPerEpoch: 8, RecordWork: 4, Patience: 3}, 2, 2},
		{trainer.Settings{Iterations: 480, IterationsPerEpoch: 8, RecordWork: 16, Tolerance: 1}, 24, 8},
		{trainer.Settings{Iterations: 480, RecordWork: 16, Tolerance: 1}, 24, 2},
		{trainer.Settings{Iterations: 480, IterationsPerEpoch: 8, RecordWork: 48, Patience: 3, CheckEvery: 5}, 5, 5},
	} {
		if record, check := test.set.Intervals(); record != test.record || check != test.check {
			t.Errorf("%+v: a record every %d and a check every %d, want %d and %d", test.set, record, check, test.record, test.check)
		}
	}
}

// A run ends at the same iteration with the same certificate, however far apart its records are,
// and the last iterate has a record.
func TestChecksBetweenRecords(t *testing.T) {
	run := func(record int) (*trainer.Result, []int) {
		l := &testkit.Journal{}
		r, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{},
			trainer.Settings{Iterations: 1 << 40, RecordEvery: record, CheckEvery: 7, Tolerance: 1e-6, Recorder: l})
		if err != nil || r.Status != trainer.Converged {
			t.Fatalf("%v, error %v", r.Status, err)
		}
		return r, l.Iterations
	}
	often, _ := run(7)
	seldom, records := run(1 << 39)
	if often.Iterations != seldom.Iterations || often.Certificate.Epsilon != seldom.Certificate.Epsilon || seldom.Iterations%7 != 0 {
		t.Errorf("with few records %d iterations and epsilon %v, want %d and %v",
			seldom.Iterations, seldom.Certificate.Epsilon, often.Iterations, often.Certificate.Epsilon)
	}
	if !slices.Equal(records, []int{0, seldom.Iterations}) {
		t.Errorf("records %v, want the start and the last iterate", records)
	}
}

// A deadline ends a run whose records take all the time, and by default the records then take a
// small share of the time.
func TestDeadline(t *testing.T) {
	const limit = 200 * time.Millisecond
	began, measured := time.Now(), 0
	r, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: restless},
		trainer.Settings{Iterations: 1 << 40, RecordEvery: 1, Deadline: began.Add(limit), Measure: func() (map[string]float64, error) {
			measured++
			time.Sleep(limit / 10)
			return nil, nil
		}})
	if err != nil || r.Status != trainer.TimeLimit || r.Seconds >= limit.Seconds() || measured > 11 {
		t.Errorf("%v after %v training seconds and %d records, error %v", r.Status, r.Seconds, measured, err)
	}
	l := &testkit.Journal{After: func(*trainer.Record) error { time.Sleep(limit / 20); return nil }}
	if r, err = trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: restless},
		trainer.Settings{Iterations: 1 << 40, Deadline: time.Now().Add(limit), Recorder: l}); err != nil || r.Status != trainer.TimeLimit {
		t.Fatalf("%v, error %v", r.Status, err)
	}
	if n := len(l.Iterations); n < 2 || n > 5 { // the start, the last, and a tenth of the time
		t.Errorf("%d records, want 2 to 5", n)
	}
	past, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{},
		trainer.Settings{Iterations: 9, Deadline: time.Now()})
	if err != nil || past.Status != trainer.TimeLimit || past.Iterations != 0 {
		t.Errorf("a deadline in the past: %v after %d iterations, error %v", past.Status, past.Iterations, err)
	}
}

func TestStatuses(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	for _, test := range []struct {
		name string
		ctx  context.Context
		set  trainer.Settings
		want trainer.Status
		at   int // -1: any iteration
	}{
		{"limit", context.Background(), trainer.Settings{Iterations: 3}, trainer.IterationLimit, 3},
		{"time", context.Background(), trainer.Settings{Iterations: 1 << 40, RecordEvery: 1 << 30, TimeLimit: time.Millisecond},
			trainer.TimeLimit, -1},
		{"gradients", context.Background(), trainer.Settings{Iterations: 1 << 40, Gradients: 11}, // one of them is the probe of the first step
			trainer.GradientLimit, 10},
		{"tolerance", context.Background(), trainer.Settings{Iterations: 1 << 40, CheckEvery: 7, Tolerance: 1e-6}, trainer.Converged, -1},
		{"cancelled", cancelled, trainer.Settings{Iterations: 100, RecordEvery: 10, Recorder: &testkit.Journal{After: func(r *trainer.Record) error {
			if r.Iteration == 20 {
				cancel()
			}
			return nil
		}}}, trainer.Interrupted, 21},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := require.Value(trainer.Train(test.ctx, testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, test.set))(t)
			if r.Status != test.want || test.at >= 0 && r.Iterations != test.at {
				t.Errorf("%v at %d, want %v at %d", r.Status, r.Iterations, test.want, test.at)
			}
			if r.State == nil {
				t.Error("no state to go on from")
			}
		})
	}
}

func TestRecorderErrorStops(t *testing.T) {
	full := errors.New("disk full")
	l := &testkit.Journal{After: func(r *trainer.Record) error {
		if r.Iteration == 4 {
			return full
		}
		return nil
	}}
	r, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{},
		trainer.Settings{Iterations: 9, RecordEvery: 2, Recorder: l})
	if !errors.Is(err, full) || r.Status != trainer.Failed || r.Iterations != 4 {
		t.Errorf("error %v, result %+v", err, r)
	}
}

// The error for a value that is not finite names the term and the iteration.
func TestNonFiniteNamesTermAndIteration(t *testing.T) {
	gradient := step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.5}
	count := 0
	after := func(k int, bad, good float64) float64 { // good before the k-th forward pass, then bad
		if count++; count > k {
			return bad
		}
		return good
	}
	for _, test := range []struct {
		name      string
		change    func(fn *problem.Functions)
		term      string
		iteration int
	}{
		{"f", func(fn *problem.Functions) {
			fn.F = func(x []float64) float64 { return after(1+3, math.Inf(1), x[0]) }
		}, "objective", 4},
		{"f at the start", func(fn *problem.Functions) {
			fn.F = func([]float64) float64 { return math.NaN() }
		}, "objective", 0},
		{"g", func(fn *problem.Functions) {
			fn.M = 2
			fn.G = func(dst, x []float64) { dst[0], dst[1] = x[0]-1, after(1+2, math.NaN(), -1) }
		}, "constraint 2", 3},
		{"gradient", func(fn *problem.Functions) {
			fn.F = func([]float64) float64 { return 0 }
			fn.G = func(dst, _ []float64) { dst[0] = -1 }
			fn.Gradient = func(dst, x []float64) { dst[0] = after(5, math.NaN(), x[0]) }
		}, "gradient", 2}, // each record takes two gradients
	} {
		t.Run(test.name, func(t *testing.T) {
			count = 0
			fn := testkit.Line()
			test.change(&fn)
			r, err := trainer.Train(context.Background(), testkit.Start(t, fn, 0), &method.Penalty{Primal: gradient},
				trainer.Settings{Iterations: 9, RecordEvery: 1})
			var bad *problem.NonFiniteError
			if !errors.As(err, &bad) || !errors.Is(err, problem.ErrNonFinite) {
				t.Fatalf("error %v, want a NonFiniteError", err)
			}
			if bad.Term != test.term || bad.Iteration != test.iteration {
				t.Errorf("%v: the %s at %d, want the %s at %d", err, bad.Term, bad.Iteration, test.term, test.iteration)
			}
			if test.iteration > 0 && (r == nil || r.Status != trainer.Failed) {
				t.Errorf("result %+v, want the status failed", r)
			}
		})
	}
}

// A NaN in a gradient inside the proxlinear step ends the run with an error, not a panic.
func TestNonFiniteInProxLinear(t *testing.T) {
	fn, count := testkit.HandFunctions(), 0
	gradient := fn.Gradient
	fn.Pieces = problem.Abs(0.1, 0.1)
	fn.JacobianT = func(dst, _, _ []float64) { dst[0], dst[1] = 1, 1 }
	fn.Gradient = func(dst, x []float64) {
		gradient(dst, x)
		if count++; count > 20 {
			dst[0] = math.NaN()
		}
	}
	_, err := trainer.Train(context.Background(), testkit.Start(t, fn, 1, 1), &method.PLADA{}, trainer.Settings{Iterations: 50, RecordEvery: 10})
	if !errors.Is(err, problem.ErrNonFinite) {
		t.Errorf("error %v, want ErrNonFinite", err)
	}
	fn.JacobianT = func(dst, _, _ []float64) { dst[0], dst[1] = math.NaN(), 1 }
	count = -1000
	if _, err := trainer.Train(context.Background(), testkit.Start(t, fn, 1, 1), &method.PLADA{},
		trainer.Settings{Iterations: 50, RecordEvery: 10}); !errors.Is(err, problem.ErrNonFinite) {
		t.Errorf("error %v, want ErrNonFinite", err)
	}
}

// stages is a recorder that takes its time, and lists the steps of a run.
type stages struct{ names []string }

func (s *stages) Record(*trainer.Record) error { time.Sleep(10 * time.Millisecond); return nil }
func (s *stages) Stage(name string)            { s.names = append(s.names, name) }

// TestTimes books slow records and a slow certificate under their names, and names the certificate.
// The clock of the test moves while somebody sleeps, and at no other time.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, r, slow := testkit.Line(), &stages{}, 0
		gradient := fn.Gradient
		fn.Gradient = func(dst, x []float64) {
			if gradient(dst, x); slow > 0 {
				slow++
				time.Sleep(5 * time.Millisecond)
			}
		}
		end := func(x *trainer.Record) error {
			if x.Iteration == 20 {
				slow = 1
			}
			return nil
		}
		set := trainer.Settings{Iterations: 20, RecordEvery: 10, Recorder: trainer.Recorders{&testkit.Journal{After: end}, r}}
		result := require.Value(trainer.Train(t.Context(), testkit.Start(t, fn, 0), &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, set))(t)
		certificates := 0.005 * float64(slow-1)
		if x := result.Times; math.Abs(x.Records-0.03) > 1e-9 || certificates == 0 || math.Abs(x.Certificates-certificates) > 1e-9 || x.Rounds != 0 {
			t.Errorf("%+v, want records of 0.03 s and certificates of %v s", x, certificates)
		}
		if !slices.Equal(r.names, []string{"certifying"}) {
			t.Errorf("the steps %q", r.names)
		}
	})
}

func TestOutputs(t *testing.T) {
	run := func(output trainer.Output, seed uint64) (*trainer.Result, float64, *testkit.Journal) {
		l, p := &testkit.Journal{}, testkit.Start(t, testkit.Line(), 0)
		r := require.Value(trainer.Train(context.Background(), p, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{
			Iterations: 50, RecordEvery: 1, Output: output, Seed: seed, Recorder: l}))(t)
		x := testkit.Iterate(p)[0]
		if want := l.Records[r.Output].Objective; r.Objective != want || r.Point.Constraints[0] != x-1 {
			t.Errorf("%s: objective %v at iteration %d and g %v, recorded %v", output, r.Objective, r.Output, r.Point.Constraints, want)
		}
		recorded := l.Records[r.Output].Certificate
		c, improved := r.Certificate, r.Certificate.Own != nil
		if !slices.Equal(c.MethodNu(), recorded.Nu) || improved && c.Own.Epsilon != recorded.Epsilon ||
			improved != (c.Epsilon < recorded.Epsilon) || !improved && output != trainer.OutputRandom {
			t.Fatalf("%s: the certificate %+v of record %d is not the better of the record's, %+v, and that of least squares", output, c, r.Output, recorded)
		}
		return r, x, l
	}
	last, _, _ := run(trainer.OutputLast, 0)
	if last.Output != 50 {
		t.Errorf("the last iterate is %d", last.Output)
	}
	for _, output := range []trainer.Output{trainer.OutputLast, trainer.OutputBest} { // a part of a run
		l := &testkit.Journal{}
		r, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}},
			trainer.Settings{Iterations: 50, RecordEvery: 1, Output: output, Recorder: l, OwnMultiplier: true})
		if err != nil || r.Certificate.Own != nil || !slices.Equal(r.Certificate.Nu, l.Records[r.Output].Certificate.Nu) {
			t.Errorf("%s: the certificate %+v does not have the method's own multiplier: %v", output, r.Certificate, err)
		}
	}
	best, bestX, l := run(trainer.OutputBest, 0)
	want := 0
	for i, r := range l.Records {
		if r.MaxViolation <= trainer.DefaultFeasibilityTolerance && r.Objective < l.Records[want].Objective {
			want = i
		}
	}
	if best.Output != want || best.BestFeasible.Iteration != want || best.BestFeasible.Objective != l.Records[want].Objective || want == 50 {
		t.Errorf("the best iterate is %d (%+v), want %d", best.Output, best.BestFeasible, want)
	}
	if !slices.Equal(best.BestFeasible.X, []float64{bestX}) || !slices.Equal(last.BestFeasible.X, []float64{bestX}) {
		t.Errorf("the best feasible record has the iterates %v and %v, want %v", best.BestFeasible.X, last.BestFeasible.X, bestX)
	}
	// The random iterate is a function of the seed and is uniform on 1..50. Chi squared with 4 degrees
	// of freedom is larger than 23.5 with probability 1e-4.
	const draws = 1000
	var counts [5]float64
	for seed := range uint64(draws) {
		r, _, _ := run(trainer.OutputRandom, seed)
		if r.Output < 1 || r.Output > 50 {
			t.Fatalf("seed %d: iterate %d", seed, r.Output)
		}
		counts[(r.Output-1)/10]++
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - draws/5) * (n - draws/5) / (draws / 5)
	}
	if chi > 23.5 {
		t.Errorf("the random iterates %v in fifths are not uniform: chi squared %.1f", counts, chi)
	}
	one, x, _ := run(trainer.OutputRandom, 7)
	if again, y, _ := run(trainer.OutputRandom, 7); one.Output != again.Output || x != y {
		t.Errorf("seed 7 gave %d and %d", one.Output, again.Output)
	}
}

func TestBestFeasibleIsNilWhereNoneIs(t *testing.T) {
	fn := testkit.Line()
	fn.G = func(dst, _ []float64) { dst[0] = 1 }
	fn.JacobianT = func(dst, _, _ []float64) { dst[0] = 0 }
	r := require.Value(trainer.Train(context.Background(), testkit.Start(t, fn, 0), &method.GDA{}, trainer.Settings{Iterations: 5, Output: trainer.OutputBest}))(t)
	if r.BestFeasible != nil || r.Output != 5 || !testkit.Mentions(r.Warnings.Texts(), "no recorded iterate was feasible") {
		t.Errorf("%+v", r)
	}
}

func TestMeasuresAreRecorded(t *testing.T) {
	l := &testkit.Journal{}
	require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{},
		trainer.Settings{Iterations: 2, Recorder: l, IterationsPerEpoch: 4,
			Measure: func() (map[string]float64, error) { return map[string]float64{"error": 0.25}, nil }}))(t)
	if l.Records[2].Measures["error"] != 0.25 || l.Records[2].Epoch != 0.5 {
		t.Errorf("%+v", l.Records[2])
	}
}
