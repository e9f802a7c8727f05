package method_test

import (
	"errors"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

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
