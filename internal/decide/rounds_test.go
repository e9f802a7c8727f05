package decide_test

import (
	"context"
	"testing"

	"ppal/internal/decide"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
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
