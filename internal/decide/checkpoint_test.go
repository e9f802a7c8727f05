package decide_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/decide"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// A run that continues from a checkpoint in any round gives the records, the weights and the result
// of the run that was not interrupted, to the bit.
func TestCheckpointIsBitIdentical(t *testing.T) {
	run := func(s trainer.Settings, c *testkit.Checkpoints) (*decide.Result, []float64) {
		l := newLending(t, 600, 3, 0.02)
		s.Iterations, s.RecordEvery, s.Checkpointer, s.Recorder = 210, 5, c, c
		r, err := decide.Train(t.Context(), l.problem, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, s, l.feedback)
		if err != nil {
			t.Fatal(err)
		}
		r.Seconds, r.Times = 0, trainer.Times{}
		return r, slices.Concat(l.weights(), l.smooth.Map().Shifts())
	}
	// Due is called at each iteration; a round begins with the last iteration of the round before.
	whole := &testkit.Checkpoints{Asked: []int{4, 60, 71, 72, 73, 85, 120, 160, 200}}
	want, x := run(trainer.Settings{}, whole)
	if len(want.Rounds) < 3 || len(whole.States) <= len(whole.Asked) { // a round that its limit ends gives one, too
		t.Fatalf("%d rounds, %d checkpoints", len(want.Rounds), len(whole.States))
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
				t.Errorf("from iteration %d: the %s differ (-whole +resumed):\n%s", at, what, diff)
			}
		}
	}
}
