package method_test

import (
	"context"
	"strings"
	"testing"

	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// declared is a problem that says whether it has kinks.
type declared struct {
	problem.Problem
	kinks bool
}

func (d declared) NonSmooth() bool { return d.kinks }

// sampled is a problem whose steps see a sample.
type sampled struct{ problem.Problem }

func (sampled) Sample(int) error { return nil }

// The choice depends on the method, on its settings and on the problem. A run takes the chosen
// step.
func TestChoosePrimal(t *testing.T) {
	smooth := testkit.Named(t, "qp-one-active")
	kinked := testkit.Named(t, "abs-kink")
	on := func(tp testproblems.Problem, change func(*problem.Functions)) problem.Problem {
		fn := testkit.FunctionsOf(tp)
		if change != nil {
			change(&fn)
		}
		return testkit.New(t, fn, tp.Start)
	}
	regularized := func(r problem.Regularizer) problem.Problem {
		return on(smooth, func(fn *problem.Functions) { fn.Regularizer = r })
	}
	primal := func(s step.Settings) trainer.Method { return &method.ALM{Primal: s} }
	for name, test := range map[string]struct {
		m    trainer.Method
		p    problem.Problem
		want step.Kind
		note string
	}{
		"smooth":             {&method.ALM{}, on(smooth, nil), step.LBFGS, "lbfgs"},
		"first penalty":      {&method.ALM{Penalty: 3}, on(smooth, nil), step.LBFGS, "lbfgs"},
		"unconstrained":      {&method.Unconstrained{}, on(smooth, nil), step.LBFGS, "lbfgs"},
		"ball":               {&method.ALM{}, regularized(problem.Regularizer{Kind: problem.Ball, Radius: 9}), step.LBFGS, "lbfgs"},
		"l1":                 {&method.ALM{}, regularized(problem.Regularizer{Kind: problem.L1, Weight: 1}), step.Nesterov, "the regularizer is l1"},
		"kinks":              {&method.ALM{}, declared{on(smooth, nil), true}, step.Nesterov, "kinks"},
		"pieces":             {&method.ALM{}, on(kinked, nil), step.Nesterov, "kinks"},
		"sample":             {&method.ALM{}, sampled{on(smooth, nil)}, step.Nesterov, "sample of the rows"},
		"ppala":              {&method.PPALA{}, on(smooth, nil), step.Nesterov, ""},
		"plada":              {&method.PLADA{}, on(kinked, nil), step.Nesterov, ""},
		"plada, inner":       {&method.PLADA{XStep: method.Inner}, on(kinked, nil), step.Gradient, ""},
		"eta":                {primal(step.Settings{Eta: 0.1}), on(smooth, nil), step.Nesterov, ""},
		"momentum":           {primal(step.Settings{Momentum: 0.5}), on(smooth, nil), step.Nesterov, ""},
		"inner steps of alm": {&method.ALM{Inner: 3}, on(smooth, nil), step.Nesterov, ""},
		"gda":                {&method.GDA{}, on(smooth, nil), step.Nesterov, ""},
		"given":              {primal(step.Settings{Kind: step.Adam}), on(smooth, nil), step.Adam, ""},
	} {
		t.Run(name, func(t *testing.T) {
			note := method.ChoosePrimal(test.m, test.p)
			got := test.m.(trainer.DualRule).PrimalStep().Kind
			if got != test.want || !strings.Contains(note, test.note) {
				t.Errorf("%v, %q; want %v and a note with %q", got, note, test.want, test.note)
			}
			if again := method.ChoosePrimal(test.m, test.p); again != note {
				t.Errorf("%q, and for the step that was chosen %q", note, again)
			}
		})
	}
	m := &method.ALM{}
	if _, err := trainer.Train(context.Background(), on(smooth, nil), m, trainer.Settings{Iterations: 3}); err != nil || m.Primal.Kind != step.LBFGS {
		t.Errorf("a run takes %v, %v", m.Primal.Kind, err)
	}
}

// Only quasi-Newton steps keep earlier vectors.
func TestHistory(t *testing.T) {
	lbfgs := step.Settings{Kind: step.LBFGS}
	for name, test := range map[string]struct {
		m    trainer.Method
		want int
	}{
		"lbfgs":                    {&method.ALM{Primal: lbfgs}, lbfgs.History()},
		"nesterov":                 {&method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, 0},
		"the method's own step":    {&method.GDPA{}, 0},
		"without a choice of step": {&method.SSG{}, 0},
	} {
		if got := method.History(test.m); got != test.want {
			t.Errorf("%s: %d vectors, want %d", name, got, test.want)
		}
	}
}
