package method_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

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

// Half of the steps, a restore of their state in a fresh problem and method, and the other half
// equal all steps to the bit.
func TestResumeIsBitIdentical(t *testing.T) {
	for name, method := range resumable() {
		for form, make := range map[string]func(testing.TB, problem.Functions, []float64) problem.Problem{
			"float64": testkit.New, "float32": testkit.NewNarrow} {
			tp := testkit.Named(t, "abs-branch-and-kink")
			if strings.HasSuffix(name, "lbfgs") {
				tp = tp.Split() // quasi-Newton steps need smooth constraints
			}
			t.Run(name+" "+form, func(t *testing.T) { resumes(t, tp, method, make) })
		}
	}
	t.Run("plada shares of pieces", func(t *testing.T) {
		resumes(t, testkit.Named(t, "max-of-abs"), func() trainer.Method { return &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}} }, testkit.New)
	})
}

func resumes(t *testing.T, tp testproblems.Problem, method func() trainer.Method,
	make func(testing.TB, problem.Functions, []float64) problem.Problem) {
	fn := testkit.FunctionsOf(tp)
	run := func(s trainer.Settings) (*trainer.Result, []float64) {
		p := make(t, fn, tp.Start)
		r, err := trainer.Train(context.Background(), p, method(), s)
		if err != nil {
			t.Fatal(err)
		}
		return r, testkit.Iterate(p)
	}
	whole, want := run(trainer.Settings{Iterations: 200})
	half, _ := run(trainer.Settings{Iterations: whole.Iterations / 2}) // quasi-Newton steps come to rest before 200
	rest, got := run(trainer.Settings{Iterations: 200, Resume: half.State, ResumeAt: half.Point})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("x differs (-whole +halves):\n%s", diff)
	}
	if diff := cmp.Diff(whole.State, rest.State, cmp.Comparer(testkit.SameBits)); diff != "" {
		t.Errorf("the state differs:\n%s", diff)
	}
	if diff := cmp.Diff(whole.Certificate, rest.Certificate); diff != "" {
		t.Errorf("the certificate differs:\n%s", diff)
	}
	if whole.Point.GradientEvaluations != rest.Point.GradientEvaluations || rest.Iterations != whole.Iterations {
		t.Errorf("%d gradients in %d iterations, want %d in %d",
			rest.Point.GradientEvaluations, rest.Iterations, whole.Point.GradientEvaluations, whole.Iterations)
	}
}

func TestRestoreRefusesOtherStates(t *testing.T) {
	smooth, other := testkit.Named(t, "qp-several-active"), testkit.Named(t, "qp-one-active")
	state := func(m trainer.Method) *trainer.State {
		r, err := trainer.Train(context.Background(), testkit.ProblemOf(t, smooth), m, trainer.Settings{Iterations: 3})
		if err != nil {
			t.Fatal(err)
		}
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
	r, err := trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 10})
	if err != nil {
		t.Fatal(err)
	}
	before := trainer.Capture(p, m)
	if diff := cmp.Diff(r.State, before, cmp.Comparer(testkit.SameBits)); diff != "" {
		t.Errorf("Result.State is not what Capture gives:\n%s", diff)
	}
	at := r.Point
	for range 3 {
		if err := m.Iterate(p, &at); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(r.State, before, cmp.Comparer(testkit.SameBits)); diff != "" {
		t.Errorf("a state changed with the run:\n%s", diff)
	}
}
