package cpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// On every level and for any number of threads, the device agrees with Gorgonia's machine in
// float64.
func TestFairnessAgreesWithGorgonia(t *testing.T) {
	cases := graphcases.Fairness(8, 301, 700)
	of := constraints.Margins{Objective: constraints.Hinge, Constraints: constraints.Sigmoid}
	for _, alone := range []graphcases.Goal{graphcases.Groups(0.1, of), graphcases.MeanOfGroups(0.1, of)} {
		cases = append(cases, graphcases.Fair("rows alone", models.Spec{Inputs: 5, Outputs: 1}, 700, graphcases.Values, alone,
			graphcases.Scattered(700, 13, 0)))
	}
	for _, c := range cases {
		want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
		for _, level := range levels() {
			for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
				threads := 1 + int(level)
				got := numbers(t, compile(t, c, dtype, engine(t, level, threads)))
				agree(t, fmt.Sprintf("%s, %v, %d threads, %v", c.Name, level, threads, dtype), got, want, bound)
			}
		}
	}
}

// After 200 iterations in float64 both engines have the same weights up to rounding. The cases are
// PLADA with the exact x-step for |h| - eps, and a bound on each of 40 groups.
func TestFairTrainingAgreesWithGorgonia(t *testing.T) {
	require.NoRace(t, "TestFairnessAgreesWithGorgonia runs the same goroutines")
	const n = 300
	const hinge = constraints.Hinge
	parity := graphcases.Parity(0.01, constraints.Margins{Objective: constraints.Logistic, Constraints: constraints.Sigmoid, Form: constraints.Absolute})
	groups := graphcases.Groups(0.01, constraints.Margins{Objective: hinge, Constraints: hinge})
	linear := models.Spec{Inputs: 6, Outputs: 1}
	network := models.Spec{Inputs: 6, Hidden: []int{5}, Outputs: 1, Activation: models.ReLU}
	for _, c := range []struct {
		graphcases.Case
		zero float64 // f at zero weights
		step method.XStep
	}{
		{graphcases.Fair("parity", linear, n, graphcases.Values, parity, graphcases.Halves(n)), math.Ln2, method.ProxLinear},
		{graphcases.Fair("groups", network, n, graphcases.Values, groups, graphcases.Scattered(n, 40, 0.2)), 1, method.Subgradient},
	} {
		run := func(e graph.Engine) ([]float64, problem.Point) {
			var p problem.Problem = compile(t, c.Case, tensor.Float64, e)
			if c.Pieces != nil {
				p = piecewise(t, p, c.Pieces)
			}
			r := require.Value(trainer.Train(context.Background(), p, &method.PLADA{XStep: c.step}, trainer.Settings{Iterations: 200}))(t)
			size, _ := p.Dims()
			x := make([]float64, size)
			p.Space().Read(x, problem.Iterate)
			return x, r.Point
		}
		got, at := run(engine(t, kernel.Best(), 2))
		want, _ := run(graph.Tape{})
		if d := distance(got, want); d > 1e-6 { // rounding, amplified by the iterations
			t.Errorf("%s: after 200 iterations the weights differ by %.2g", c.Name, d)
		}
		if v := problem.MaxViolation(at.Constraints); !(v < 0.02) || !(at.Objective < c.zero) {
			t.Errorf("%s: f = %g, %g at zero weights, violation %g", c.Name, at.Objective, c.zero, v)
		}
	}
}

// piecewise turns the terms h into constraints |h| - eps and compares pieces with problem.Abs.
func piecewise(t *testing.T, p problem.Problem, pieces []constraints.Piece) problem.Piecewise {
	t.Helper()
	converted := make([]problem.Piece, len(pieces))
	for i, b := range pieces {
		converted[i] = problem.Piece(b)
	}
	if d := cmp.Diff(problem.Abs(-pieces[0].Offset), converted); d != "" {
		t.Error(d)
	}
	return require.Value(problem.MakePiecewise(p, converted))(t)
}
