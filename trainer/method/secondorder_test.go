package method_test

import (
	"context"
	"math"
	"testing"

	"ppal/trainer"
	"ppal/trainer/internal/testkit"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// With the first penalty, the augmented Lagrangian of min -x^2 over -1 <= x <= 1 has no lower bound
// outside the constraints. The penalty must rise while the violation grows.
func TestThePenaltyRisesWhereTheIteratesRunAway(t *testing.T) {
	fn := problem.Functions{N: 1, M: 2,
		F:         func(x []float64) float64 { return -x[0] * x[0] },
		Gradient:  func(dst, x []float64) { dst[0] = -2 * x[0] },
		G:         func(dst, x []float64) { dst[0], dst[1] = x[0]-1, -x[0]-1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] - w[1] }}
	r, err := trainer.Train(context.Background(), testkit.New(t, fn, []float64{0.1}),
		&method.PPALA{Primal: step.Settings{Kind: step.LBFGS}}, trainer.Settings{Iterations: 90, RecordEvery: 10})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Objective+1) > 0.01 || r.Certificate.Infeasibility > 0.01 {
		t.Errorf("f = %v with a violation of %v, want -1", r.Objective, r.Certificate.Infeasibility)
	}
}

// A run at rest ends at the limit on gradients, although its steps evaluate none.
func TestARunAtRestReachesTheLimitOnGradients(t *testing.T) {
	r, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: step.Settings{Kind: step.LBFGS}},
		trainer.Settings{Iterations: 100000, RecordEvery: 100000, Gradients: 300})
	if err != nil || r.Status != trainer.GradientLimit || r.Iterations > 300 {
		t.Errorf("%v after %d iterations, %v", r.Status, r.Iterations, err)
	}
}
