package method_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// A run that continues from any of its checkpoints gives the records, the weights and the result of
// the run that was not interrupted, to the bit: for every method, every output and both precisions.
func TestCheckpointIsBitIdentical(t *testing.T) {
	for name, make := range resumable() {
		t.Run(name, func(t *testing.T) {
			tp := testkit.Named(t, "abs-branch-and-kink")
			if strings.HasSuffix(name, "lbfgs") {
				tp = tp.Split() // quasi-Newton steps need smooth constraints
			}
			settings := []trainer.Settings{{Output: trainer.OutputRandom, Seed: 3}}
			if name == "ppala" { // these settings do not depend on the method
				settings = append(settings, trainer.Settings{Output: trainer.OutputLast, NearEvery: 4},
					trainer.Settings{Output: trainer.OutputBest, FeasibilityTolerance: 0.5},
					trainer.Settings{Output: trainer.OutputBestTrain, Tolerance: 1e-12})
			}
			for _, s := range settings {
				s.Iterations, s.RecordEvery = 80, 7
				checkpointed(t, tp, make, s, testkit.New)
			}
			checkpointed(t, tp, make, trainer.Settings{Iterations: 80, RecordEvery: 7}, testkit.NewNarrow)
		})
	}
	checkpointed(t, testkit.Named(t, "max-of-abs"), func() trainer.Method { return &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}} },
		trainer.Settings{Iterations: 80, RecordEvery: 7}, testkit.New) // shares of pieces
}

// A run that its limit ends keeps the state of its end: it continues under a longer limit to the
// records, the weights and the result of a run that had this limit from the start. This holds for
// every method.
func TestExtendedRunIsBitIdentical(t *testing.T) {
	for name, make := range resumable() {
		t.Run(name, func(t *testing.T) {
			tp := testkit.Named(t, "abs-branch-and-kink")
			if strings.HasSuffix(name, "lbfgs") {
				tp = tp.Split() // quasi-Newton steps need smooth constraints
			}
			run := func(s trainer.Settings) (*trainer.Result, []float64, *testkit.Checkpoints) {
				c := &testkit.Checkpoints{}
				p := testkit.New(t, testkit.FunctionsOf(tp), tp.Start)
				s.RecordEvery, s.Output, s.Seed, s.Checkpointer, s.Recorder = 7, trainer.OutputRandom, 3, c, c
				r := require.Value(trainer.Train(context.Background(), p, make(), s))(t)
				r.Seconds, r.Times = 0, trainer.Times{}
				return r, testkit.Iterate(p), c
			}
			want, x, whole := run(trainer.Settings{Iterations: 80})
			short, _, before := run(trainer.Settings{Iterations: 11})
			if short.Status != trainer.IterationLimit || len(before.States) != 1 || before.Points[0].Iteration != 11 {
				t.Fatalf("%q after %d iterations with %d states, want a state at the limit", short.Status, short.Iterations, len(before.States))
			}
			got, y, after := run(trainer.Settings{Iterations: 80, Resume: before.States[0], ResumeAt: before.Points[0]})
			records := append(before.Records[:len(before.Records)-1:len(before.Records)-1], after.Records...) // without the record of the limit
			for what, diff := range map[string]string{
				"records": cmp.Diff(whole.Records, records, cmpopts.EquateNaNs()),
				"weights": cmp.Diff(x, y, cmp.Comparer(testkit.SameBits)),
				"result": cmp.Diff(want, got, cmp.Comparer(testkit.SameBits), cmp.AllowUnexported(problem.Point{}),
					cmpopts.EquateEmpty()),
			} {
				if diff != "" {
					t.Errorf("the %s differ (-whole +extended):\n%s", what, diff)
				}
			}
		})
	}
}

// checkpointed runs a method once without an interruption, and once from each of its checkpoints.
func checkpointed(t *testing.T, tp testproblems.Problem, method func() trainer.Method, s trainer.Settings,
	form func(testing.TB, problem.Functions, []float64) problem.Problem) {
	fn := testkit.FunctionsOf(tp)
	run := func(s trainer.Settings, c *testkit.Checkpoints) (*trainer.Result, []float64) {
		p := form(t, fn, tp.Start)
		s.Checkpointer, s.Recorder = c, c
		r := require.Value(trainer.Train(context.Background(), p, method(), s))(t)
		r.Seconds, r.Times = 0, trainer.Times{}
		return r, testkit.Iterate(p)
	}
	whole := &testkit.Checkpoints{Asked: []int{2, 50}} // a record is due at iteration 49
	want, x := run(s, whole)
	if len(whole.States) == 0 { // a run may end before the second
		t.Fatal("no checkpoint")
	}
	for i, state := range whole.States {
		s.Resume, s.ResumeAt = state, whole.Points[i]
		rest := &testkit.Checkpoints{}
		got, y := run(s, rest)
		at := whole.Points[i].Iteration
		for what, diff := range map[string]string{
			"records": cmp.Diff(whole.After(i), rest.Records, cmpopts.EquateNaNs()),
			"weights": cmp.Diff(x, y, cmp.Comparer(testkit.SameBits)),
			"result": cmp.Diff(want, got, cmp.Comparer(testkit.SameBits), cmp.AllowUnexported(problem.Point{}),
				cmpopts.EquateEmpty()),
		} {
			if diff != "" {
				t.Errorf("%s, from iteration %d: the %s differ (-whole +resumed):\n%s", s.Output, at, what, diff)
			}
		}
	}
}
