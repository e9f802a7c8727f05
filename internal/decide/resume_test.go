package decide_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"ppal/internal/decide"
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

// deep hides that functions have no hidden layers.
type deep struct{ problem.Problem }

// TestResumeRepeatsTheBits interrupts a run in every round and resumes it. The weights, the shifts
// and the decisions equal those of the uninterrupted run to the bit.
func TestResumeRepeatsTheBits(t *testing.T) {
	ppala := func() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }
	plada := func() trainer.Method { return &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}} }
	lbfgs := func() trainer.Method { return &method.ALM{Primal: step.Settings{Kind: step.LBFGS}} }
	other := []float64{-1, 0, 1}
	for name, of := range map[string]struct {
		fresh  func() trainer.Method
		start  []float64
		hidden bool
	}{
		"ppala": {ppala, nil, false}, "plada": {plada, nil, false}, "ppala, another start": {ppala, other, false},
		"lbfgs": {lbfgs, nil, false}, "lbfgs, another start": {lbfgs, other, false}, "lbfgs, another start, hidden layers": {lbfgs, other, true},
	} {
		fresh, settings := of.fresh, trainer.Settings{Iterations: 210, RecordEvery: 5}
		newRun := func() *lending {
			l := newLending(t, 600, 3, 0.02)
			l.feedback.Start = of.start
			if of.hidden {
				l.problem = deep{l.problem}
			}
			return l
		}
		whole := newRun()
		want, err := decide.Train(t.Context(), whole.problem, fresh(), settings, whole.feedback)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []int{33, 77, 101, 155, 201} { // of the 210 iterations; quasi-Newton runs are shorter
			at := share * want.Iterations / 210
			ctx, stop := context.WithCancel(t.Context())
			l := newRun()
			set := settings
			set.Recorder = &stopping{at, stop}
			part, err := decide.Train(ctx, l.problem, fresh(), set, l.feedback)
			if err != nil || part.Status != trainer.Interrupted || part.Iterations != at {
				t.Fatalf("%s: %q after %d iterations, want an interruption at %d: %v", name, part.Status, part.Iterations, at, err)
			}
			l.check(t, name, part)
			next := newRun()
			set = settings
			set.Resume, set.ResumeAt = part.State, problem.Point{Iteration: part.Iterations, GradientEvaluations: part.Point.GradientEvaluations}
			got, err := decide.Train(t.Context(), next.problem, fresh(), set, next.feedback)
			if err != nil {
				t.Fatal(err)
			}
			next.check(t, name, got)
			if !slices.Equal(next.weights(), whole.weights()) || !slices.Equal(next.smooth.Map().Shifts(), whole.smooth.Map().Shifts()) {
				t.Errorf("%s, resumed at %d: weights %v, want %v", name, at, next.weights(), whole.weights())
			}
			if a, b := got.Rounds[got.Best], want.Rounds[want.Best]; a.Iteration != b.Iteration || a.Exact.After != b.Exact.After ||
				got.Point.GradientEvaluations != want.Point.GradientEvaluations || got.Certificate.Epsilon != want.Certificate.Epsilon {
				t.Errorf("%s, resumed at %d: best %+v, want %+v", name, at, a, b)
			}
			if !maps.EqualFunc(got.State.Numbers, want.State.Numbers, slices.Equal) {
				t.Errorf("%s, resumed at %d: another state of the rounds", name, at)
			}
		}
	}
}

// TestResumeRefusesOtherBounds checks the error for a state of another problem.
func TestResumeRefusesOtherBounds(t *testing.T) {
	l := newLending(t, 300, 2, 0.02)
	r, err := decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 30}, l.feedback)
	if err != nil {
		t.Fatal(err)
	}
	other := newLending(t, 300, 3, 0.02)
	_, err = decide.Train(t.Context(), other.problem, &method.ALM{}, trainer.Settings{Iterations: 60, Resume: r.State}, other.feedback)
	if !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a state of 2 bounds for 6: %v", err)
	}
}
