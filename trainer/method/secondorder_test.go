package method_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
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
