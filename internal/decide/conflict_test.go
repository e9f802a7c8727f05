package decide_test

import (
	"math"
	"strings"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
)

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
