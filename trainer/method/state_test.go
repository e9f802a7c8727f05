package method_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/internal/testkit"
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
