package decide_test

import (
	"errors"
	"slices"
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
