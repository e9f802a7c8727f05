package method_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// resumable returns the methods and primal steps that have different state.
func resumable() map[string]func() trainer.Method {
	all := map[string]func() trainer.Method{
		"ppala fixed": func() trainer.Method {
			return &method.PPALA{Primal: step.Settings{Fixed: true, Eta: 0.01}}
		},
		"ppala adam":      func() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Adam}} },
		"gdpa published":  func() trainer.Method { return &method.GDPA{} },
		"ipp-ssg growing": func() trainer.Method { return &method.IPPSSG{} }, // at first the mean is x_c alone
	}
	for _, e := range table() {
		all[e.name] = e.make
	}
	return all
}

func TestRestoreRefusesOtherStates(t *testing.T) {
	smooth, other := testkit.Named(t, "qp-several-active"), testkit.Named(t, "qp-one-active")
	state := func(m trainer.Method) *trainer.State {
		r := require.Value(trainer.Train(context.Background(), testkit.ProblemOf(t, smooth), m, trainer.Settings{Iterations: 3}))(t)
		return r.State
	}
	momentum, gradient := step.Settings{Kind: step.Nesterov}, step.Settings{Kind: step.Gradient}
	for _, test := range []struct {
		name      string
		from, to  trainer.Method
		elsewhere bool
		want      string
	}{
		{"another method", &method.PPALA{}, &method.PLADA{}, false, `the method "ppala", not "plada"`},
		{"more state", &method.PPALA{Primal: momentum}, &method.PPALA{Primal: gradient}, false, `"primal.length"`},
		{"less state", &method.PPALA{Primal: gradient}, &method.PPALA{Primal: momentum}, false, `"primal.momentum"`},
		{"another problem", &method.PPALA{}, &method.PPALA{}, true, "want"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := testkit.ProblemOf(t, smooth)
			if test.elsewhere {
				p = testkit.ProblemOf(t, other)
			}
			_, err := trainer.Train(context.Background(), p, test.to, trainer.Settings{Iterations: 5, Resume: state(test.from)})
			if !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want ErrSettings with %q", err, test.want)
			}
		})
	}
}

func TestStateHoldsCopies(t *testing.T) {
	p, m := testkit.ProblemOf(t, testkit.Named(t, "qp-one-active")), &method.PPALA{}
	r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 10}))(t)
	before := trainer.Capture(p, m)
	if diff := cmp.Diff(r.State, before, cmp.Comparer(testkit.SameBits)); diff != "" {
		t.Errorf("Result.State is not what Capture gives:\n%s", diff)
	}
	at := r.Point
	for range 3 {
		require.NoError(t, m.Iterate(p, &at))
	}
	if diff := cmp.Diff(r.State, before, cmp.Comparer(testkit.SameBits)); diff != "" {
		t.Errorf("a state changed with the run:\n%s", diff)
	}
}

// The names and the lengths of every state are the format of the checkpoint: a change makes old
// checkpoints unreadable, and a missing name changes a resumed run. The file also has the counts of
// gradients. After a change that is meant, raise rundir.CheckpointVersion and run the test with
// -update.
func TestStateNames(t *testing.T) {
	var text strings.Builder
	all := resumable()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tp := testkit.Named(t, "qp-vertex")
		if strings.HasPrefix(name, "plada") {
			tp = testkit.Named(t, "max-of-abs") // a state with shares of pieces
		}
		r := require.Value(trainer.Train(context.Background(), testkit.New(t, testkit.FunctionsOf(tp), tp.Start), all[name](),
			trainer.Settings{Iterations: 12, Output: trainer.OutputBest}))(t)
		fmt.Fprintf(&text, "%s: %d gradients in %d iterations\n", name, r.Point.GradientEvaluations, r.Iterations)
		for _, n := range slices.Sorted(maps.Keys(r.State.Numbers)) {
			fmt.Fprintf(&text, "  %s %d\n", n, len(r.State.Numbers[n]))
		}
		for _, n := range slices.Sorted(maps.Keys(r.State.Vectors)) {
			fmt.Fprintf(&text, "  vector %s\n", n)
		}
	}
	require.Golden(t, "testdata/states.txt", text.String())
}
