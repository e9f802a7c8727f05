package decide_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// stopping cancels the run at an iteration.
type stopping struct {
	at   int
	stop context.CancelFunc
}

func (s *stopping) Record(*trainer.Record) error { return nil }
func (s *stopping) Tick(at *problem.Point) {
	if at.Iteration == s.at {
		s.stop()
	}
}

// TestNumberOfRounds starts from weights that violate the bounds, with a tolerance that ends each
// round at its first check. The number of rounds is the limit of the rounds.
func TestNumberOfRounds(t *testing.T) {
	for rounds, want := range map[int]int{-1: 1, 1: 2, 2: 3} {
		l := newLending(t, 300, 2, 0.02)
		l.problem.Space().Write(problem.Iterate, []float64{3, 3, 0})
		l.feedback.Rounds = rounds
		r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1000, Tolerance: 1e3}, l.feedback)
		if err != nil || len(r.Rounds) != want || r.Iterations != 0 || r.Status != trainer.Converged {
			t.Errorf("at most %d rounds after the first: %v", rounds, err)
		}
	}
}

// TestGradientsEndTheRounds allows two gradients, which the first iteration uses. No other round
// follows.
func TestGradientsEndTheRounds(t *testing.T) {
	l := newLending(t, 300, 2, 0.02)
	l.problem.Space().Write(problem.Iterate, []float64{3, 3, 0})
	r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1000, Gradients: 2}, l.feedback)
	if err != nil || len(r.Rounds) != 1 || r.Point.GradientEvaluations != 2 || r.Status != trainer.GradientLimit {
		t.Errorf("%v: %d gradients in %d rounds, %v", r.Status, r.Point.GradientEvaluations, len(r.Rounds), err)
	}
}

// TestInterruptedRunsSearchNoConflict interrupts a run whose bounds cannot be met. The run ends
// without a search for a proof.
func TestInterruptedRunsSearchNoConflict(t *testing.T) {
	l := newLending(t, 300, 2, -0.1)
	ctx, stop := context.WithCancel(t.Context())
	r, err := decide.Train(ctx, l.problem, &method.ALM{}, trainer.Settings{Iterations: 1500, Recorder: &stopping{50, stop}}, l.feedback)
	if err != nil || r.Status != trainer.Interrupted || r.Infeasible != nil || r.Iterations != 50 {
		t.Errorf("%v after %d iterations: %+v, %v", r.Status, r.Iterations, r.Infeasible, err)
	}
}

// TestPatienceEndsTheRun ends the run with the round in which the merit on validation rows does not
// improve.
func TestPatienceEndsTheRun(t *testing.T) {
	l := newLending(t, 300, 2, 0.02)
	r, err := decide.Train(t.Context(), l.problem, &method.ALM{},
		trainer.Settings{Iterations: 300, RecordEvery: 1, Patience: 3, ValidationMerit: func() trainer.Merit { return trainer.Merit{} }}, l.feedback)
	if err != nil || len(r.Rounds) != 1 || r.Status != trainer.NoImprovement || r.Iterations > 5 {
		t.Errorf("%+v, %v", r, err)
	}
	l = newLending(t, 300, 2, 0.02)
	l.feedback.Start = []float64{0, 3}
	r, err = decide.Train(t.Context(), l.problem, &method.ALM{},
		trainer.Settings{Iterations: 300, RecordEvery: 1, Patience: 3, ValidationMerit: func() trainer.Merit { return trainer.Merit{} }}, l.feedback)
	if err != nil || len(r.Rounds) != 2 || r.Status != trainer.NoImprovement {
		t.Errorf("with Start: %+v, %v", r, err)
	}
}

// TestStartDoesNotEndTheRun ends the round of Start at its first check, at weights whose decisions
// meet the bounds. The next round follows.
func TestStartDoesNotEndTheRun(t *testing.T) {
	l := newLending(t, 300, 2, 1)
	l.feedback.Start = []float64{0, 1}
	for j := range l.feedback.Target.Bounds {
		l.feedback.Target.Bounds[j].Row = 2 // no bound counts as unused
	}
	r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1000, Tolerance: 1e3}, l.feedback)
	if err != nil || len(r.Rounds) != 2 || r.Status != trainer.Converged {
		t.Errorf("%d rounds, want 2: %v", len(r.Rounds), err)
	}
}

// TestDecisionsEndTheRun ends each round at its first check, from weights that violate the second
// bound. The run ends after the first round if one row is so heavy that the decisions count as
// within a row of the bound, and goes on otherwise. The row of the first bound is so heavy that the
// bound never counts as unused.
func TestDecisionsEndTheRun(t *testing.T) {
	for want, row := range map[int]float64{1: 2, 3: 1e-3} {
		l := newLending(t, 300, 2, 0.02)
		l.problem.Space().Write(problem.Iterate, []float64{3, 3, 0})
		l.feedback.Target.Bounds[0].Row, l.feedback.Target.Bounds[1].Row, l.feedback.Rounds = 2, row, 2
		r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1000, Tolerance: 1e3}, l.feedback)
		if err != nil || len(r.Rounds) != want || r.Status != trainer.Converged {
			t.Errorf("a row of %v: %d rounds, want %d: %v", row, len(r.Rounds), want, err)
		}
	}
}

// TestQuasiNewtonFollowsTheShifts solves each round until the steps are below rounding. The next
// round must move all the same: its smooth rates follow its own bounds.
func TestQuasiNewtonFollowsTheShifts(t *testing.T) {
	l := newLending(t, 600, 3, 0.02)
	m := &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
	r := require.Value(decide.Train(t.Context(), l.problem, m, trainer.Settings{Iterations: 1800, RecordEvery: 1800}, l.feedback))(t)
	l.check(t, "lbfgs", r)
	if len(r.Rounds) < 2 {
		t.Fatalf("%d rounds, want 2 or more", len(r.Rounds))
	}
	for k, after := range r.Rounds[1:] {
		before := r.Rounds[k]
		if slices.Equal(before.Shifts, after.Shifts) {
			continue
		}
		if slices.Equal(before.Smooth, after.Smooth) {
			t.Errorf("round %d has other shifts than the round before and the same smooth rates, %v", k+2, after.Smooth)
		}
		for j, h := range after.Smooth {
			if excess := h - after.Shifts[j]; excess > 1e-3 || math.IsNaN(excess) {
				t.Errorf("round %d exceeds its own bound %d by %v", k+2, j, excess)
			}
		}
	}
}

// TestRoundsEndAtTheLeastTolerance makes a row light. The first round ends with a certificate
// within 1e-5, far from the limit of its iterations, although a twentieth of a row is much less.
func TestRoundsEndAtTheLeastTolerance(t *testing.T) {
	l := newLending(t, 600, 2, 0.02)
	for j := range l.feedback.Target.Bounds {
		l.feedback.Target.Bounds[j].Row = 1e-18
	}
	l.feedback.Rounds = -1
	m := &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
	r := require.Value(decide.Train(t.Context(), l.problem, m, trainer.Settings{Iterations: 3000, RecordEvery: 1}, l.feedback))(t)
	if e := r.Certificate.Epsilon; r.Status != trainer.RoundsEnded || r.Iterations >= 1000 || e > 1e-5 || e < 1e-9 {
		t.Errorf("%s after %d iterations with epsilon %v, want the tolerance 1e-5 to end the round", r.Status, r.Iterations, e)
	}
}

// Two groups cannot each have the smaller rate by 0.1. The run stops after two whole rounds, and
// the proof names both bounds and the relaxation 0.1. A run whose bounds the decisions meet has no
// proof.
func TestConflictingBounds(t *testing.T) {
	train := func(bound float64, ignore bool) *decide.Result {
		l := newLending(t, 600, 2, bound)
		r := require.Value(decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1500, IgnoreConflict: ignore}, l.feedback))(t)
		l.check(t, "conflict", r)
		return r
	}
	r := train(-0.1, false)
	c := r.Infeasible
	if r.Status != trainer.Infeasible || c == nil || r.Iterations >= 1500 || len(r.Rounds) != 2 || r.Rounds[0].Iteration > 500 {
		t.Fatalf("%v after %d iterations and %d rounds: %+v", r.Status, r.Iterations, len(r.Rounds), c)
	}
	if math.Abs(c.Relaxation-0.1) > 0.01 || math.Abs(c.Shares[0]-0.5) > 0.05 || math.Abs(c.Shares[0]+c.Shares[1]-1) > 1e-9 {
		t.Errorf("%+v", c)
	}
	if r := train(-0.1, true); r.Status == trainer.Infeasible || r.Infeasible != nil {
		t.Errorf("with IgnoreConflict: %v after %d iterations", r.Status, r.Iterations)
	}
	if r := train(0.02, false); r.Status == trainer.Infeasible || r.Infeasible != nil {
		t.Errorf("bounds that can be met: %v, %+v", r.Status, r.Infeasible)
	}
}

// Two proofs end a run after a round with other shifts: the round of Start has the same bounds as
// the round after it, and does not count.
func TestConflictAfterStart(t *testing.T) {
	l := newLending(t, 600, 2, -0.1)
	l.feedback.Start = []float64{0, 3}
	r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1500}, l.feedback)
	if err != nil || r.Status != trainer.Infeasible || len(r.Rounds) != 3 || r.Rounds[2].Shifts[0] == 0 {
		t.Errorf("%v after %d rounds: %+v, %v", r.Status, len(r.Rounds), r.Rounds, err)
	}
}

// If the bounds cannot be met, no warning advises more iterations. With this small delta, every
// round ends with such a warning.
func TestConflictNeedsNoIterations(t *testing.T) {
	const advice = "use more --iterations"
	warnings := func(ignore bool) string {
		l := newLending(t, 600, 2, -0.1)
		m := &method.PPALA{Perturbation: method.Perturbation{Delta: method.DeltaHarmonic, Delta0: 0.01}}
		r, err := decide.Train(t.Context(), l.problem, m, trainer.Settings{Iterations: 300, IgnoreConflict: ignore}, l.feedback)
		if err != nil || (r.Status == trainer.Infeasible) == ignore {
			t.Fatalf("ignore %v: %v, %v", ignore, r.Status, err)
		}
		return strings.Join(r.Warnings.Texts(), "\n")
	}
	if text := warnings(false); strings.Contains(text, advice) {
		t.Errorf("infeasible: %s", text)
	}
	if text := warnings(true); !strings.Contains(text, advice) {
		t.Errorf("not known to be infeasible: %q", text)
	}
}

// judged counts the calls of Judge and returns its merits, by call. The last merit repeats.
type judged struct {
	merits  []float64
	calls   int
	offsets [][]float64
}

func (j *judged) judge(offsets []float64) (trainer.Merit, error) {
	m := j.merits[min(j.calls, len(j.merits)-1)]
	j.calls++
	j.offsets = append(j.offsets, append([]float64{}, offsets...))
	return trainer.Merit{Objective: m}, nil
}

// The weights of the run are the judged weights with the best merit of all rounds, also if rounds
// end later with better training rows, and Patience waits for a merit that exceeds the best merit
// of all rounds. A round after that of Start that Patience ended begins at the best weights.
func TestTheJudgedWeightsAreReturned(t *testing.T) {
	for name, c := range map[string]struct {
		merits        []float64 // by check, the start included; each round judges its first iterate
		patience      int
		output, after int // the iteration of the weights, and of the end; 0: any
		start         bool
	}{
		"the best of the first round":    {[]float64{9, 5, 3, 4, 4, 4, 4}, 3, 2, 5, false},
		"the best in the round of Start": {[]float64{9, 5, 3, 4, 4, 4, 6, 5, 5, 5, 5}, 3, 2, 7, true},
		"better after Start":             {[]float64{9, 5, 3, 4, 4, 4, 6, 2, 5, 5, 5}, 3, 6, 9, true},
		"without patience":               {append([]float64{9, 5, 3}, 4), 0, 2, 0, true},
	} {
		l, j := newLending(t, 300, 2, 0.02), &judged{merits: c.merits}
		if c.start {
			l.feedback.Start = []float64{0, 3}
		}
		l.feedback.Judge = j.judge
		s := trainer.Settings{Iterations: 300, CheckEvery: 1, Patience: c.patience, Output: trainer.OutputBestValidation}
		var at []float64
		s.Recorder = recording(func(r *trainer.Record) {
			if r.Iteration == c.output && at == nil {
				at = l.weights()
			}
		})
		r := require.Value(decide.Train(t.Context(), l.problem, &method.ALM{}, s, l.feedback))(t)
		if r.Output != c.output || c.after > 0 && r.Iterations != c.after {
			t.Errorf("%s: output %d after %d iterations, want %d after %d", name, r.Output, r.Iterations, c.output, c.after)
		}
		if got := l.weights(); !close(got, at) {
			t.Errorf("%s: the weights are %v, want %v of iteration %d", name, got, at, c.output)
		}
		if j.calls == 0 || len(j.offsets[0]) != 1 {
			t.Errorf("%s: %d calls of Judge with %v", name, j.calls, j.offsets)
		}
	}
}

// recording is a recorder that calls a function.
type recording func(*trainer.Record)

func (f recording) Record(r *trainer.Record) error { f(r); return nil }

func close(x, y []float64) bool {
	for i := range x {
		if len(x) != len(y) || math.Abs(x[i]-y[i]) > 1e-12 {
			return false
		}
	}
	return true
}

// deep hides that functions have no hidden layers.
type deep struct{ problem.Problem }

// A run that continues from a checkpoint in any round gives the records, the weights, the shifts
// and the result of the run that was not interrupted, to the bit.
func TestCheckpointIsBitIdentical(t *testing.T) {
	ppala := func() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }
	plada := func() trainer.Method { return &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}} }
	lbfgs := func() trainer.Method { return &method.ALM{Primal: step.Settings{Kind: step.LBFGS}} }
	// Due is called at each iteration; a round begins with the last iteration of the round before.
	few, many := []int{33, 101, 155}, []int{4, 60, 71, 72, 73, 85, 120, 160, 200}
	other := []float64{-1, 0, 1}
	for name, of := range map[string]struct {
		fresh  func() trainer.Method
		start  []float64
		hidden bool
		asked  []int
	}{
		"ppala": {ppala, nil, false, many}, "plada": {plada, nil, false, few}, "ppala, another start": {ppala, other, false, few},
		"lbfgs": {lbfgs, nil, false, []int{5, 20}}, "lbfgs, another start": {lbfgs, other, false, []int{5, 20}},
		"lbfgs, another start, hidden layers": {lbfgs, other, true, []int{5, 20}},
	} {
		run := func(s trainer.Settings, c *testkit.Checkpoints) (*decide.Result, []float64) {
			l := newLending(t, 600, 3, 0.02)
			l.feedback.Start = of.start
			p := problem.Problem(l.problem)
			if of.hidden {
				p = deep{p}
			}
			s.Iterations, s.RecordEvery, s.Checkpointer, s.Recorder = 210, 5, c, c
			r := require.Value(decide.Train(t.Context(), p, of.fresh(), s, l.feedback))(t)
			l.check(t, name, r)
			r.Seconds, r.Times = 0, trainer.Times{}
			return r, slices.Concat(l.weights(), l.smooth.Map().Shifts())
		}
		whole := &testkit.Checkpoints{Asked: of.asked}
		want, x := run(trainer.Settings{}, whole)
		// A round that its limit ends gives a checkpoint, too. Quasi-Newton steps end earlier.
		if len(want.Rounds) < 3 || len(whole.States) < len(of.asked) || name == "ppala" && len(whole.States) == len(of.asked) {
			t.Fatalf("%s: %d rounds, %d checkpoints", name, len(want.Rounds), len(whole.States))
		}
		for i, state := range whole.States {
			at := whole.Points[i].Iteration
			rest := &testkit.Checkpoints{}
			got, y := run(trainer.Settings{Resume: state, ResumeAt: whole.Points[i]}, rest)
			for what, diff := range map[string]string{
				"records": cmp.Diff(whole.After(i), rest.Records, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()),
				"weights": cmp.Diff(x, y, cmp.Comparer(testkit.SameBits)),
				"result":  cmp.Diff(want.Result, got.Result, cmp.Comparer(testkit.SameBits), cmp.AllowUnexported(problem.Point{}), cmpopts.EquateEmpty()),
				"best":    cmp.Diff(want.Rounds[want.Best], got.Rounds[got.Best]),
			} {
				if diff != "" {
					t.Errorf("%s, from iteration %d: the %s differ (-whole +resumed):\n%s", name, at, what, diff)
				}
			}
		}
	}
}

// TestResumeRefusesOtherBounds checks the error for a state of another problem.
func TestResumeRefusesOtherBounds(t *testing.T) {
	l := newLending(t, 300, 2, 0.02)
	r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 30}, l.feedback)
	require.NoError(t, err)
	other := newLending(t, 300, 3, 0.02)
	_, err = decide.Train(t.Context(), other.problem, &method.ALM{}, trainer.Settings{Iterations: 60, Resume: r.State}, other.feedback)
	if !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a state of 2 bounds for 6: %v", err)
	}
}
