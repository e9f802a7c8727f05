package method_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// runAway trains min -x^2 - x/10 over -1 <= x <= 1. With the first penalty, the augmented
// Lagrangian has no lower bound outside the constraints. The linear term keeps the iterates away
// from the maximum of -x^2.
func runAway(t *testing.T, iterations int) (*trainer.Result, *method.ALM) {
	t.Helper()
	fn := problem.Functions{N: 1, M: 2,
		F:         func(x []float64) float64 { return -x[0]*x[0] - x[0]/10 },
		Gradient:  func(dst, x []float64) { dst[0] = -2*x[0] - 0.1 },
		G:         func(dst, x []float64) { dst[0], dst[1] = x[0]-1, -x[0]-1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] - w[1] }}
	m := &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
	r := require.Value(trainer.Train(context.Background(), testkit.New(t, fn, []float64{0.1}), m, trainer.Settings{Iterations: iterations, RecordEvery: 10}))(t)
	return r, m
}

// The penalty must rise while the violation grows.
func TestThePenaltyRisesWhereTheIteratesRunAway(t *testing.T) {
	if r, _ := runAway(t, 200); math.Abs(r.Objective+1.1) > 0.01 || r.Certificate.Infeasibility > 0.01 {
		t.Errorf("f = %v with a violation of %v, want -1.1", r.Objective, r.Certificate.Infeasibility)
	}
}

// Three longest steps with negative curvature and a growing violation suffice for a larger penalty:
// the coefficient of the constraint is the penalty times the violation.
func TestThePenaltyRisesSoonWithNegativeCurvature(t *testing.T) {
	r, m := runAway(t, 18)
	if g := r.Certificate.Infeasibility; !(g > 0) || m.Report().Nu[0] < 1.99*g {
		t.Errorf("the coefficient is %v at the violation %v, want at least twice that", m.Report().Nu[0], g)
	}
}

// A run ends when its steps are below the rounding of x, because more iterations change nothing:
// not the iterate, not the dual variables, not the count of gradients. OutputRandom still draws
// from all iterates.
func TestARunAtRestEnds(t *testing.T) {
	p, m := testkit.Start(t, testkit.Line(), 0), &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
	r, err := trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 100000, RecordEvery: 100000})
	if err != nil || r.Status != trainer.AtRest || r.Iterations > 300 || r.Certificate.Epsilon > 1e-9 {
		t.Fatalf("%v after %d iterations with epsilon %v, %v", r.Status, r.Iterations, r.Certificate.Epsilon, err)
	}
	x, at := testkit.Iterate(p), r.Point
	multipliers := slices.Clone(m.Report().Multipliers)
	for range 300 {
		require.NoError(t, m.Iterate(p, &at))
	}
	if !slices.Equal(x, testkit.Iterate(p)) || !slices.Equal(multipliers, m.Report().Multipliers) || at.GradientEvaluations != r.Point.GradientEvaluations {
		t.Errorf("after more iterations x = %v, lambda = %v, %d gradients, want %v, %v, %d", testkit.Iterate(p), m.Report().Multipliers,
			at.GradientEvaluations, x, multipliers, r.Point.GradientEvaluations)
	}
	r, err = trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{Primal: step.Settings{Kind: step.LBFGS}},
		trainer.Settings{Iterations: 500, Output: trainer.OutputRandom})
	if err != nil || r.Status != trainer.IterationLimit || r.Iterations != 500 {
		t.Errorf("with a random output: %v after %d iterations, %v", r.Status, r.Iterations, err)
	}
}

// An overdue update moves the multipliers of a violated constraint in the first iteration, whatever
// the step predicts. Without a violation, or if it is not overdue, no update is due.
func TestAnOverdueUpdate(t *testing.T) {
	for _, c := range []struct{ overdue, bound, want float64 }{{0, 1, 0}, {1, 1, 1}, {1, 17, 0}} {
		fn := problem.Functions{N: 1, M: 1, // min cosh(x) over x >= 8 - bound, from -8
			F:         func(x []float64) float64 { return math.Cosh(x[0]) },
			Gradient:  func(dst, x []float64) { dst[0] = math.Sinh(x[0]) },
			G:         func(dst, x []float64) { dst[0] = 8 - c.bound - x[0] },
			JacobianT: func(dst, _, w []float64) { dst[0] = -w[0] }}
		set := trainer.Settings{Iterations: 2, RecordEvery: 100}
		r := require.Value(trainer.Train(context.Background(), testkit.New(t, fn, []float64{-8}), &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, set))(t)
		r.State.Numbers["outer.overdue"] = []float64{c.overdue}
		m := &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
		set.Iterations, set.Resume, set.ResumeAt = 3, r.State, r.Point
		after := require.Value(trainer.Train(context.Background(), testkit.New(t, fn, []float64{-8}), m, set))(t)
		if moved := m.Report().Multipliers[0] > 0; moved != (c.want > 0) {
			t.Errorf("overdue %v, bound %v: the multiplier is %v", c.overdue, c.bound, m.Report().Multipliers[0])
		}
		if got := after.State.Numbers["outer.overdue"]; !slices.Equal(got, []float64{0}) {
			t.Errorf("overdue %v, bound %v: still %v after an iteration", c.overdue, c.bound, got)
		}
	}
}

// remembering is a problem whose backward pass needs the forward pass of the same iterate.
type remembering struct {
	problem.Problem
	points [][]float64 // of the forward passes
}

func (*remembering) NonSmooth() bool { return false }

func (r *remembering) x() []float64 {
	n, _ := r.Dims()
	x := make([]float64, n)
	r.Space().Read(x, problem.Iterate)
	return x
}

func (r *remembering) Forward(g []float64) (float64, error) {
	r.points = append(r.points, r.x())
	return r.Problem.Forward(g)
}

func (r *remembering) Backward(coefficients []float64, d problem.Vector) error {
	if !slices.Equal(r.x(), r.points[len(r.points)-1]) {
		return errors.New("the last forward pass is at another point")
	}
	return r.Problem.Backward(coefficients, d)
}

// valley is a steep form of Rosenbrock's function under x_0 <= -1.3. Its steps are often rejected.
func valley() problem.Functions {
	return problem.Functions{N: 2, M: 1,
		F: func(x []float64) float64 { v := x[1] - x[0]*x[0]; return 1e4*v*v + (1-x[0])*(1-x[0]) },
		Gradient: func(dst, x []float64) {
			v := x[1] - x[0]*x[0]
			dst[0], dst[1] = -4e4*v*x[0]-2*(1-x[0]), 2e4*v
		},
		G:         func(dst, x []float64) { dst[0] = x[0] + 1.3 },
		JacobianT: func(dst, _, w []float64) { dst[0], dst[1] = w[0], 0 }}
}

// After a rejected step, f and g at the iterate are known: only a backward pass at the iterate
// repeats the forward pass. Records and the multiplier updates see the iterate in any case.
func TestRejectedStepsRepeatNoPass(t *testing.T) {
	run := func(every int) *remembering {
		t.Helper()
		r := &remembering{Problem: testkit.Start(t, valley(), -1.2, 1)}
		m := &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
		require.Value(trainer.Train(t.Context(), r, m, trainer.Settings{Iterations: 40, RecordEvery: every, CheckEvery: 40}))(t)
		return r
	}
	few, many := run(40), run(1)
	if !slices.Equal(few.x(), many.x()) {
		t.Errorf("x = %v with few records and %v with many", few.x(), many.x())
	}
	if last := many.points[len(many.points)-1]; !slices.Equal(last, many.x()) {
		t.Errorf("the last record is at %v, and x = %v", last, many.x())
	}
	// A record after a rejected step repeats the pass at the iterate, and nothing else does.
	if len(few.points) != 41 || len(many.points) <= 41 {
		t.Errorf("%d passes with few records, want 41 for 40 steps; %d with many, want more", len(few.points), len(many.points))
	}
}

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
