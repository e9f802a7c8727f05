package trainer_test

import (
	"errors"
	"strings"
	"testing"

	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// If a problem does not meet a method's need, the error names the method and the need.
func TestNeeds(t *testing.T) {
	smooth := testkit.Start(t, testkit.Line(), 0)
	absolute := testkit.Line()
	absolute.Pieces = problem.Abs(1)
	pieces := testkit.Start(t, absolute, 0)
	absolute.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: 1}
	regularized := testkit.Start(t, absolute, 0)
	proxLinear := &method.PLADA{XStep: method.ProxLinear}
	for _, c := range []struct {
		name string
		m    trainer.Method
		p    problem.Problem
		want string // "" if the problem meets the need
	}{
		{"nothing", &method.ALM{}, smooth, ""},
		{"pieces", proxLinear, pieces, ""},
		{"no pieces", proxLinear, smooth, "PLADA's x-step proxlinear needs constraints that are maxima"},
		{"regularizer", proxLinear, regularized, "PLADA's x-step proxlinear needs a regularizer in [none]; the problem has l1"},
		{"group", &method.MultiplierModel{}, smooth, "the multiplier model needs one drawn group"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.m.Needs().Check(c.p)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			testkit.Refused(t, c.p, c.m, trainer.Settings{})
		})
	}
}
