package cpu_test

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
)

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
