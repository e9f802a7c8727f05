package cpu_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
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

// TestActivationsAreFused checks that the product with the data applies the activation of the first
// hidden layer. The activations of other layers and the bias of the scores stay separate steps.
func TestActivationsAreFused(t *testing.T) {
	for i, want := range [][2]int{{0, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 1}} {
		p := albums()[i]
		c := &captured{Device: sliced(t, kernel.Best(), 1, plan.Int8x3)}
		p.problem(t, tensor.Float32, graph.On(c))
		if fused, separate := cpu.Activations(c.single); fused != want[0] || separate != want[1] {
			t.Errorf("%+v: %d activations in products and %d others, want %v", p.spec, fused, separate, want)
		}
	}
}

// TestDerivativesAreFused checks which products with 8-bit data compute their second factor, and
// that objective, constraints and gradient have the bits of separate steps.
func TestDerivativesAreFused(t *testing.T) {
	list := albums()
	for _, spec := range []models.Spec{
		{Inputs: 98, Hidden: []int{32}, Heads: models.Separate, Activation: models.ReLU},
		{Inputs: 98, Hidden: []int{1}, Heads: models.Separate},
	} {
		p := list[1]
		p.spec, p.spec.Outputs = spec, 4
		list = append(list, p)
	}
	for _, level := range []kernel.Level{kernel.AVX2, kernel.AVX512, kernel.AMX} {
		if !level.Supported() {
			continue
		}
		// The derivative remains separate without a hidden layer, before a second hidden layer, and for
		// heads whose columns are not whole panels.
		for i, want := range []int{0, 1, 1, 0, 0, 1, 0} {
			c := &captured{Device: sliced(t, level, 2, plan.Int8x3)}
			list[i].problem(t, tensor.Float32, graph.On(c))
			r := rand.New(rand.NewPCG(9, uint64(i)))
			for _, v := range c.plan.Parameters {
				weights := make([]float32, v.Len())
				for j := range weights {
					weights[j] = float32(r.NormFloat64()) / 10
				}
				require.NoError(t, c.single.Attach(v, weights))
			}
			one := outputs(t, c.plan, c.single)
			if got := cpu.SplitDerivatives(c.single); got != want {
				t.Errorf("%v, %+v: %d derivatives in products, want %d", level, list[i].spec, got, want)
			}
			if diff := cmp.Diff(outputs(t, c.plan, c.single), one); diff != "" {
				t.Errorf("%v, %+v: separate steps have other bits (-separate +fused):\n%s", level, list[i].spec, diff)
			}
		}
	}
}

// The coarse passes of int8 give the bits of two digits, and its accurate passes the bits of three,
// in any order.
func TestGradedProducts(t *testing.T) {
	for _, level := range levels() {
		if level == kernel.Go {
			continue
		}
		three, two := sliced(t, level, 2, plan.Int8x3), sliced(t, level, 2, plan.Int8x2)
		for _, p := range albums() {
			want := map[bool][][]float64{
				false: numbers(t, p.problem(t, tensor.Float32, graph.On(three))),
				true:  numbers(t, p.problem(t, tensor.Float32, graph.On(two))),
			}
			device := sliced(t, level, 2, plan.Int8)
			if p.spec.Hidden == nil {
				device = sliced(t, level, 2, plan.AutoProducts).Graded()
			}
			made := p.problem(t, tensor.Float32, graph.On(device))
			graded := problem.FeaturesOf(made).Graded
			if graded == nil || problem.Coarse(graded) {
				t.Fatalf("%v: %+v: no coarse products, or coarse ones at first", level, p.spec)
			}
			for _, coarse := range []bool{false, true, false, true} {
				graded.SetGrade(map[bool]int{true: 0, false: 1}[coarse])
				if problem.Coarse(graded) != coarse {
					t.Errorf("coarse: %v, want %v", problem.Coarse(graded), coarse)
				}
				if diff := cmp.Diff(want[coarse], numbers(t, made)); diff != "" {
					t.Errorf("%v: %+v, coarse %v: %s", level, p.spec, coarse, diff)
				}
			}
		}
	}
}

// Other kinds of products, and automatic ones of a device that was not asked for int8, have no
// coarse passes.
func TestProductsWithoutGrades(t *testing.T) {
	p := albums()[1]
	auto := sliced(t, kernel.Best(), 1, plan.AutoProducts)
	for name, c := range map[string]struct {
		device *cpu.Device
		dtype  tensor.Dtype
	}{
		"not asked for": {auto, tensor.Float32},
		"float64":       {auto.Graded(), tensor.Float64},
		"processes":     {sliced(t, kernel.Best(), 1, plan.Int8).Among(alone{}), tensor.Float32},
		"float32":       {sliced(t, kernel.Best(), 1, plan.Float32).Graded(), tensor.Float32},
		"int8x3":        {sliced(t, kernel.Best(), 1, plan.Int8x3).Graded(), tensor.Float32},
		"int8x2":        {sliced(t, kernel.Best(), 1, plan.Int8x2).Graded(), tensor.Float32},
	} {
		if problem.FeaturesOf(p.problem(t, c.dtype, graph.On(c.device))).Graded != nil {
			t.Errorf("%s: the problem has coarse passes", name)
		}
	}
}

// alone is the only process of a run.
type alone struct{}

func (alone) Rank() int                  { return 0 }
func (alone) Size() int                  { return 1 }
func (alone) Sum([]float64) error        { return nil }
func (alone) SumFloat32([]float32) error { return nil }

// An iteration allocates nothing, for any network, level and number of threads.
func TestIterationsAllocateNothing(t *testing.T) {
	require.NoRace(t, "TestThreadsDoNotChangeResults runs the same goroutines")
	for _, spec := range []models.Spec{
		{Inputs: 9},
		{Inputs: 31, Hidden: []int{40, 19}},
		{Inputs: 13, Hidden: []int{33}, Activation: models.Tanh},
		{Inputs: 9, Hidden: []int{20}, Activation: models.ReLU},
		{Inputs: 11, Hidden: []int{18}, Heads: models.Separate},
	} {
		spec.Outputs = 4
		n := network{spec: spec, counts: []int{301, 270, 190, 250}, center: true, seed: 1}
		for _, level := range []kernel.Level{kernel.Go, kernel.Best()} {
			for _, threads := range []int{1, 3} {
				for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
					p := n.problem(t, dtype, engine(t, level, threads))
					if allocated := steadyAllocations(iteration(t, p)); allocated > 0 {
						t.Errorf("%+v, %v, %d threads, %v: %v allocations an iteration", spec, level, threads, dtype, allocated)
					}
				}
			}
		}
	}
}

// steadyAllocations returns the allocations of an iteration. A slot of sums gets its memory when a
// worker first needs the slot, which can be in a late iteration if other programs occupy the cores.
func steadyAllocations(iterate func()) float64 {
	for range 5 {
		if testing.AllocsPerRun(3, iterate) == 0 {
			return 0
		}
	}
	return testing.AllocsPerRun(3, iterate)
}

// Iterations of fairness problems on overlapping groups allocate nothing.
func TestFairnessAllocatesNothing(t *testing.T) {
	const rows, groups = 700, 40
	goal := graphcases.Groups(0.05, constraints.Margins{Objective: constraints.Sigmoid, Constraints: constraints.Hinge})
	spec := models.Spec{Inputs: 7, Hidden: []int{9}, Outputs: 1, Activation: models.ReLU}
	c := graphcases.Fair("", spec, rows, graphcases.Values, goal, graphcases.Scattered(rows, groups, 0.2))
	for _, threads := range []int{1, 2} {
		p := compile(t, c, tensor.Float32, engine(t, kernel.Best(), threads))
		if allocated := steadyAllocations(iteration(t, p)); allocated > 0 {
			t.Errorf("%d threads: %v allocations an iteration", threads, allocated)
		}
	}
}
