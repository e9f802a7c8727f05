package decide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/internal/vec"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// reporting is a method that reports a multiplier.
type reporting struct {
	trainer.Method
	nu []float64
}

func (r reporting) Report() trainer.Report { return trainer.Report{Nu: r.nu} }

// TestRoundsSearchNoMultiplier checks that a round leaves its certificate with the method's own
// multiplier, and that the end of the run looks for a better one.
func TestRoundsSearchNoMultiplier(t *testing.T) {
	f := fourRows(t, 3)
	l := require.Value(newLoop(f.Smooth, &method.ALM{}, trainer.Settings{Iterations: 12}, f))(t)
	require.Value(l.round(t.Context()))(t)
	own := l.result.Certificate
	if own.Own != nil || !slices.Equal(own.Nu, l.m.Report().Nu) {
		t.Errorf("the round's certificate: %+v, the method's own multiplier %v", own, l.m.Report().Nu)
	}
	require.NoError(t, l.finish())
	if c := l.result.Certificate; !(c.Epsilon < own.Epsilon) || c.Own == nil || c.Own.Epsilon != own.Epsilon {
		t.Errorf("the certificate of the run %+v, of its round %+v", c, own)
	}
}

// TestFinish finishes runs whose best round is the last, an earlier one, and one before a resume.
func TestFinish(t *testing.T) {
	proof := &certify.Infeasibility{Relaxation: 3}
	for name, change := range map[string]func(l *loop, want *trainer.Result){
		"last":     func(*loop, *trainer.Result) {},
		"at limit": func(l *loop, want *trainer.Result) { l.at.Iteration, want.Status = 100, trainer.IterationLimit },
		"time": func(l *loop, want *trainer.Result) {
			l.result.Result.Status, want.Status = trainer.TimeLimit, trainer.TimeLimit
		},
		"earlier": func(l *loop, want *trainer.Result) {
			last := *l.result.Result
			last.Attainable, last.Notes, last.Warnings, last.Certificate.Nu, last.Trend.Multipliers = false, nil, nil, []float64{7, 7}, 0.5
			l.result.Result, want.Trend.Multipliers = &last, 0.5
		},
		"resumed": func(l *loop, want *trainer.Result) {
			l.best.kept, l.best.result = l.best.result, nil
			l.result.Result = &trainer.Result{Status: trainer.IterationLimit, Iterations: 50, State: want.State}
			want.Trend, want.Certificate, want.Objective = trainer.Trend{}, certify.Certificate{}, 2
		},
		"resumed without summary": func(l *loop, want *trainer.Result) {
			l.best.result = nil
			want.Certificate, want.Objective = certify.Certificate{}, 2
		},
		"the tolerance of a round": func(l *loop, _ *trainer.Result) { l.result.Result.Status = trainer.Converged },
		"the tolerance": func(l *loop, want *trainer.Result) {
			l.result.Result.Status, l.asked, want.Status = trainer.Converged, 7, trainer.Converged
		},
		"infeasible": func(l *loop, want *trainer.Result) {
			l.conflict.proof = proof
			want.Status, want.Infeasible, want.Warnings = trainer.Infeasible, proof, trainer.Warnings{{Text: "told"}}
		},
		"the objective of Start": func(l *loop, want *trainer.Result) {
			l.best.start, l.rounds = true, 2
			want.Certificate, want.Objective, want.BestFeasible = certify.Certificate{}, 2, nil
		},
		"a round after Start": func(l *loop, _ *trainer.Result) { l.f.Start = []float64{1, 1} },
		"a multiplier that may be improved": func(l *loop, want *trainer.Result) {
			l.m = reporting{nu: []float64{3, 3}}
			want.Certificate, want.Objective = certify.Certificate{}, 2
		},
	} {
		f := fourRows(t, -1)
		last := &trainer.Result{Status: trainer.IterationLimit, Iterations: 50, Seconds: 1, State: &trainer.State{Method: "m"}, Objective: 44, Attainable: true, Warnings: trainer.Warnings{{Text: "end"}},
			Notes: []string{"note"}, Decay: trainer.Decay{Stationarity: 1, Infeasibility: 2, Complementarity: 3}, BestFeasible: &trainer.Best{Iteration: 4},
			Certificate: certify.Certificate{Nu: []float64{5, 6}, Epsilon: 7}, Trend: trainer.Trend{Multipliers: 0.25}}
		want := *last
		l := &loop{p: termsAt(t, -1), m: reporting{}, f: f, set: trainer.Settings{Iterations: 100}, result: &Result{Result: last},
			shifts: []float64{8, 9}, at: problem.Point{Iteration: 50, GradientEvaluations: 60}, seconds: 70, warnings: warnings{told: trainer.Warnings{{Text: "told"}}},
			best: &solution{round: Round{Iteration: 30, Output: 30, Shifts: []float64{0.5, 1}}, x: []float64{2}, nu: []float64{0.5, 1}, result: last}}
		want.Status, want.Seconds, want.Output, want.Warnings = trainer.RoundsEnded, 70, 30, trainer.Warnings{{Text: "told"}, {Text: "end"}}
		change(l, &want)
		if name == "resumed without summary" {
			last := *last
			l.result.Result = &last
		}
		require.NoError(t, f.Smooth.Map().SetObjective(0, []float64{1, 1}))
		require.NoError(t, l.finish())
		// At x = 2: f = 2, and the excesses 2 - 1/4 and 4 - 2 - 1/2 less the shifts.
		at := affineOf(t, 2, problem.AffineRow{Coefficients: []float64{1, 0}, Bound: 0.75}, problem.AffineRow{Coefficients: []float64{-1, 1}, Bound: 1.5})
		want.Point = problem.NewPoint(at)
		want.Point.Iteration, want.Point.GradientEvaluations = 30, 60
		require.NoError(t, want.Point.Forward(at))
		if want.Certificate.Nu == nil {
			var err error
			if want.Certificate, err = certify.Better(at, &want.Point, l.best.nu, nil, certify.Settings{}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(&want, l.result.Result, cmp.AllowUnexported(problem.Point{}, trainer.Trend{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if want := name == "the objective of Start"; l.result.OfStart != want {
			t.Errorf("%s: of Start: %t", name, l.result.OfStart)
		}
		if x, y := iterate(l.p), iterate(f.Smooth); x[0] != 2 || y[0] != 2 || !slices.Equal(f.Smooth.Map().Shifts(), []float64{0.5, 1}) || !slices.Equal(l.shifts, []float64{0.5, 1}) {
			t.Errorf("%s: weights %v and %v, shifts %v", name, x, y, f.Smooth.Map().Shifts())
		}
	}
}

// slow is a recorder that takes its time, and lists the steps of a run.
type slow struct {
	takes   time.Duration
	records int
	steps   []string
}

func (s *slow) Record(*trainer.Record) error { s.records++; time.Sleep(s.takes); return nil }
func (s *slow) Stage(name string)            { s.steps = append(s.steps, name) }

// TestTimes books slow counts under the rounds, slow records under the records, and names each long
// step. The clock of the test moves while somebody sleeps, and at no other time.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 20 * time.Millisecond
		f, began, counts := fourRows(t, 3), time.Now(), 0
		count := f.Scores
		f.Scores = func() ([]float64, error) { counts++; time.Sleep(takes); return count() }
		f.Rounds = 2
		r := &slow{takes: takes}
		result := require.Value(Train(t.Context(), f.Smooth, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 30, RecordEvery: 10, Recorder: r}, f))(t)
		rounds, records := takes.Seconds()*float64(counts), takes.Seconds()*float64(r.records)
		x := result.Times
		if counts < 2 || r.records < 2 || math.Abs(x.Rounds-rounds) > 1e-9 || math.Abs(x.Records-records) > 1e-9 || math.Abs(time.Since(began).Seconds()-rounds-records) > 1e-9 {
			t.Errorf("%+v, want %v s of rounds and %v s of records", x, rounds, records)
		}
		var want []string
		for k := range result.Rounds {
			want = append(want, "", fmt.Sprintf("ending round %d", k+1))
		}
		want = append(want, fmt.Sprintf("certifying round %d", result.Best+1))
		if len(result.Rounds) < 2 || !slices.Equal(r.steps, want) {
			t.Errorf("the steps %q, want %q", r.steps, want)
		}
	})
}

// failing is a recorder that keeps the records and returns an error.
type failing struct{ records []trainer.Record }

var errFull = errors.New("full")

func (f *failing) Record(r *trainer.Record) error {
	f.records = append(f.records, *r)
	return errFull
}

// TestRecorder passes on records with the seconds of the rounds before, but not the record that a
// round repeats, and marks the end of the start.
func TestRecorder(t *testing.T) {
	w, to := &warnings{}, &failing{}
	r := &recorder{to: to, seconds: 10, repeated: 5, warnings: w}
	if err := r.Record(&trainer.Record{Iteration: 5, Seconds: 1}); err != nil || len(to.records) != 0 || !w.closing {
		t.Errorf("the repeated record: %v, %v, closing %v", err, to.records, w.closing)
	}
	own := &trainer.Record{Iteration: 6, Seconds: 2}
	if err := r.Record(own); !errors.Is(err, errFull) || len(to.records) != 1 || to.records[0].Seconds != 12 || own.Seconds != 2 {
		t.Errorf("%v, %+v, %+v", err, to.records, own)
	}
	if err := (&recorder{repeated: -1, warnings: w}).Record(own); err != nil {
		t.Errorf("without a receiver: %v", err)
	}
}

// TestWarnings passes on warnings of a start once, those of an end only from the best round, and
// none about an infeasible start.
func TestWarnings(t *testing.T) {
	var told trainer.Warnings
	w := &warnings{tell: func(w trainer.Warning) { told = append(told, w) }}
	a, b, c := trainer.Warning{Text: "a"}, trainer.Warning{Text: "b"}, trainer.Warning{Text: "c"}
	w.warn(a)
	w.warn(a)
	w.warn(trainer.Warning{Code: trainer.WarnInfeasibleStart, Text: "x"})
	w.closing = true
	w.warn(trainer.Warning{Text: "end"})
	w.begin()
	w.warn(b)
	if got := w.finish(trainer.Warnings{c, a}); !slices.Equal(got, trainer.Warnings{a, b, c}) || !slices.Equal(told, got) {
		t.Errorf("told %v, returned %v", told, got)
	}
	quiet := &warnings{}
	if quiet.warn(a); !slices.Equal(quiet.told, trainer.Warnings{a}) {
		t.Errorf("without a receiver: %v", quiet.told)
	}
	if d := duration(1.5); d != 1500*time.Millisecond {
		t.Errorf("1.5 s are %v", d)
	}
}

// still is a method that warns before a run and never moves.
type still struct{}

func (still) Name() string                               { return "still" }
func (still) Needs() trainer.Needs                       { return trainer.Needs{} }
func (still) Init(problem.Problem, *problem.Point) error { return nil }
func (still) Report() trainer.Report                     { return trainer.NewReport(math.NaN(), nil) }
func (still) VisitState(problem.StateVisitor)            {}
func (still) Iterate(p problem.Problem, at *problem.Point) error {
	return at.Forward(p)
}
func (still) Diagnose(context.Context, problem.Problem, *problem.Point) ([]string, error) {
	return []string{"at the start"}, nil
}

// A round passes on the warnings of its start, and its seconds are those of all rounds.
func TestSolveARound(t *testing.T) {
	f := fourRows(t, 0)
	l := require.Value(newLoop(f.Smooth, still{}, trainer.Settings{Iterations: 40}, f))(t)
	l.seconds, l.warnings.closing = 100, true // after an earlier round
	require.Value(l.solve(t.Context()))(t)
	if !slices.Equal(l.warnings.told.Texts(), []string{"at the start"}) {
		t.Errorf("warnings %q", l.warnings.told)
	}
	if l.result.Seconds != l.seconds || l.seconds < 100 {
		t.Errorf("%v seconds in the result, %v in all rounds", l.result.Seconds, l.seconds)
	}
}

// If the scores of a row are equal, the Hessian is singular along the slope. The Newton step moves
// the intercepts.
func TestSoftmaxNewtonOfEqualScores(t *testing.T) {
	f := newSoftmaxFit(rowsOf([]float64{1, 1, 1, 1, 2, 2}, []int{0, 1, 1}, 2))
	step, slope, ok := f.newton([]float64{0, 0})
	// The targets of class 1 are 1/3, 3/4 and 3/4, at probabilities of 1/2.
	if want := (1./3 + 2*3./4 - 3./2) / (3. / 4); !ok || !(math.Abs(step[1]-want) < 1e-9) || !(slope < 0) {
		t.Errorf("step %v, slope %v, %v, want an intercept's step of %v", step, slope, ok, want)
	}
}

// deep hides that functions have no hidden layers.
type deep struct{ problem.Problem }

// After the round of Start, the method begins anew at the last weights, even if Settings.Output
// returns another record: the multipliers are 0 and the penalty is the first one. Quasi-Newton
// steps keep their pairs with hidden layers only, and compute the gradient again.
func TestTheMethodBeginsAnewAfterStart(t *testing.T) {
	for name, c := range map[string]struct {
		hidden  bool
		penalty float64
		output  trainer.Output
	}{"without hidden layers": {false, 10, ""}, "with hidden layers": {true, 1, ""}, "another output": {true, 1, trainer.OutputRandom}} {
		f := fourRows(t, 3)
		f.Start = []float64{-1, 0} // -x under x <= 1/4
		var p problem.Problem = f.Smooth
		if c.hidden {
			p = deep{p}
		}
		l := require.Value(newLoop(p, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 60, RecordEvery: 3, Output: c.output}, f))(t)
		if again, err := l.round(t.Context()); err != nil || !again {
			t.Fatalf("%s: again %v, %v", name, again, err)
		}
		before, after := l.result.State, l.state
		if vec.Norm(before.Numbers["alm.multipliers"]) == 0 || before.Numbers["quasi.pairs"][0] == 0 {
			t.Fatalf("%s: the round of Start has the multipliers %v and %v pairs", name, before.Numbers["alm.multipliers"], before.Numbers["quasi.pairs"])
		}
		if got := after.Numbers["alm.multipliers"]; vec.Norm(got) != 0 {
			t.Errorf("%s: the multipliers are %v", name, got)
		}
		if got := after.Numbers["alm.penalty"][0]; got != c.penalty {
			t.Errorf("%s: the penalty is %v, want %v", name, got, c.penalty)
		}
		want := 0.0
		if c.hidden {
			want = before.Numbers["quasi.pairs"][0]
		}
		if got := after.Numbers["quasi.pairs"][0]; got != want {
			t.Errorf("%s: %v pairs, want %v", name, got, want)
		}
		if after.Numbers["quasi.current"][0] != 0 || after.Numbers["quasi.known"][0] != 0 {
			t.Errorf("%s: the gradient is that of Start", name)
		}
		if got, want := after.Vectors["iterate"], before.Vectors["iterate"]; !slices.Equal(got, want) {
			t.Errorf("%s: the weights are %v, want %v", name, got, want)
		} else if c.output != "" && slices.Equal(want, l.best.x) {
			t.Errorf("%s: the output is the last iterate", name)
		}
	}
}

// weighing is a method with a penalty.
type weighing struct {
	trainer.Method
	penalty float64
}

func (m *weighing) CurrentPenalty() float64 { return m.penalty }
func (m *weighing) BeginWith(c float64)     { m.penalty = c }

// A round is stuck after 10 checks in a row in which a bound is exceeded, the violation has not
// halved, and the decisions are no better than at the weights of the loss; or if the penalty has
// grown to that of a round that begins anew. With a method that has no penalty, the round goes on.
func TestStuck(t *testing.T) {
	const worse, equal, ahead = -0.1, 0, 0.1 // the objective of the loss minus that of the decisions
	rests := slices.Repeat([]float64{0.2}, 12)
	for name, c := range map[string]struct {
		m          trainer.Method
		loss       float64
		first      float64 // penalty
		restarts   int
		violations []float64
		want       int // the check that ends the round; 0: none
		inVain     bool
	}{
		"the violation rests":           {m: &weighing{penalty: 10}, loss: worse, violations: rests, want: 10},
		"the decisions are as good":     {m: &weighing{penalty: 10}, loss: equal, violations: rests, want: 10},
		"the decisions are better":      {m: &weighing{penalty: 10}, loss: ahead, violations: rests},
		"the violation falls by little": {m: &weighing{penalty: 10}, loss: worse, violations: []float64{0.2, 0.19, 0.18, 0.17, 0.16, 0.15, 0.14, 0.13, 0.12, 0.11}, want: 10},
		"the violation halves":          {m: &weighing{penalty: 10}, loss: worse, violations: append(slices.Repeat([]float64{0.4}, 9), slices.Repeat([]float64{0.19}, 9)...)},
		"it rises and halves":           {m: &weighing{penalty: 10}, loss: worse, violations: []float64{0.2, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.24, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
		"the bound is met for a moment": {m: &weighing{penalty: 10}, loss: worse, violations: slices.Concat(slices.Repeat([]float64{0.2}, 9), []float64{0.01}, slices.Repeat([]float64{0.2}, 9))},
		"the penalty has grown":         {m: &weighing{penalty: 1000}, loss: ahead, first: 10, violations: []float64{0.2}, want: 1},
		"the first penalty is large":    {m: &weighing{penalty: 1000}, loss: ahead, first: 1000, violations: []float64{0.2}},
		"it has begun anew":             {m: &weighing{penalty: 10000}, loss: ahead, first: 10, restarts: 1, violations: []float64{0.2}},
		"no penalty":                    {m: &method.GDA{}, loss: worse, violations: rests, inVain: true},
	} {
		f := fourRows(t, 0)
		l := &loop{p: f.Smooth, m: c.m, f: f, shifts: []float64{0, 0}, set: trainer.Settings{Tolerance: 0.0125}, restarts: c.restarts,
			loss: &loss{penalty: c.first}}
		r := require.Value(l.count())(t)
		l.loss.violation, l.loss.worth = r.Exact.Violation, r.Exact.worth()+c.loss
		got := 0
		for k, v := range c.violations {
			stuck := require.Value(l.stuck([]float64{v, -0.5}))(t)
			if stuck && got == 0 {
				got = k + 1
			}
		}
		if got != c.want || l.stagnation.inVain != c.inVain {
			t.Errorf("%s: check %d ends the round, want %d; in vain %v", name, got, c.want, l.stagnation.inVain)
		}
	}
}

// A round that begins anew starts from the weights of the loss, with multipliers of 0 and a firm
// penalty, and not for ever. The state keeps what beginning anew needs.
func TestBeginAnew(t *testing.T) {
	f := fourRows(t, 3)
	f.Start = []float64{-1, 0}
	l := require.Value(newLoop(f.Smooth, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 60, CheckEvery: 3}, f))(t)
	if again, err := l.round(t.Context()); err != nil || !again || !l.mayRestart() {
		t.Fatalf("again %v, may begin anew %v, %v", again, l.mayRestart(), err)
	}
	x := slices.Clone(l.state.Vectors["iterate"])
	l.stagnation = stagnation{checks: 7, violation: 0.25, inVain: true}
	saved := l.addRounds(l.state)
	for _, penalty := range []float64{1000, 10000} {
		l.p.Space().Write(problem.Iterate, []float64{9})
		require.NoError(t, l.restart())
		s := l.state
		if !slices.Equal(s.Vectors["iterate"], x) || s.Numbers["alm.penalty"][0] != penalty || s.Numbers["alm.multipliers"][0] != 0 || l.stagnation.checks != 0 {
			t.Errorf("the iterate is %v, want %v; penalty %v, multipliers %v, %+v", s.Vectors["iterate"], x, s.Numbers["alm.penalty"], s.Numbers["alm.multipliers"], l.stagnation)
		}
	}
	if l.mayRestart() {
		t.Error("a third round may begin anew")
	}
	again := require.Value(newLoop(f.Smooth, l.m, trainer.Settings{Iterations: 60, Resume: saved}, f))(t)
	if w := (stagnation{checks: 7, violation: 0.25, inVain: true}); again.stagnation != w || again.restarts != 0 || !slices.Equal(again.loss.x, x) ||
		again.loss.worth != l.loss.worth || again.loss.penalty != 10 || again.loss.violation != l.loss.violation {
		t.Errorf("resumed: %+v, %d, %+v, want %+v", again.stagnation, again.restarts, again.loss, l.loss)
	}
}
