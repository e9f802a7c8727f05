package decide_test

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

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
