package cpu_test

import (
	"fmt"
	"slices"
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
	"ppal/trainer/graph"
)

// severalRows is a number of rows with more shares than roots, and with a last share that is not
// full, in regions of every kind.
const severalRows = 5407

// onThreads are problems whose sums over the rows have all kinds of steps.
func onThreads(t *testing.T) map[string]func(*cpu.Device) *graph.Problem {
	problems := map[string]func(*cpu.Device) *graph.Problem{}
	add := func(c graphcases.Case, dtype tensor.Dtype) {
		problems[fmt.Sprintf("%s, %v", c.Name, dtype)] = func(d *cpu.Device) *graph.Problem { return compile(t, c, dtype, graph.On(d)) }
	}
	cases := graphcases.Networks([]int{1501, 1203, 1302, 1401})
	cases = append(cases, graphcases.Decisions(severalRows)...)
	for i, c := range graphcases.Fairness(severalRows) {
		if i%4 == 1 {
			cases = append(cases, c)
		}
	}
	many := graphcases.Groups(0.1, constraints.Margins{Objective: constraints.Hinge, Constraints: constraints.Logistic})
	cases = append(cases, graphcases.Fair("many groups", models.Spec{Inputs: 5, Outputs: 1}, severalRows, graphcases.Values, many,
		graphcases.Scattered(severalRows, 300, 0.2)))
	for _, n := range []sparseNetwork{{cols: 30, outputs: 2, kind: 2}, {cols: 40, outputs: 2, width: 1}, {cols: 20, outputs: 2, width: 13, kind: 1}} {
		n.rows = 4 * severalRows
		c := n.over(n.data())
		c.Name = fmt.Sprintf("sparse, width %d", n.width)
		cases = append(cases, c)
	}
	for i, c := range cases {
		if i%2 == 0 || !require.Racing { // float64 has the goroutines of float32
			add(c, []tensor.Dtype{tensor.Float32, tensor.Float64}[i%2])
		}
	}
	for _, products := range []plan.Products{plan.Int8x3, plan.Int8x2} {
		p := pictures{network: network{spec: models.Spec{Inputs: 97, Hidden: []int{9}, Outputs: 4}, counts: []int{1501, 1203, 1302, 1401}, seed: 5}}
		problems[products.String()] = func(d *cpu.Device) *graph.Problem {
			d, err := d.With(products)
			if err != nil {
				return nil // the machine does not support the products
			}
			return p.problem(t, tensor.Float32, graph.On(d))
		}
	}
	return problems
}

// The objective, the constraints, the gradient and the scores of a problem have the same bits for
// any number of threads.
func TestThreadsDoNotChangeResults(t *testing.T) {
	threads := []int{1, 2, 5, 64}
	if require.Racing {
		threads = []int{2, 5}
	}
	devices := make([]*cpu.Device, len(threads))
	for i, n := range threads {
		devices[i] = must(cpu.New(kernel.Best(), n))
		t.Cleanup(devices[i].Close)
	}
	for name, problem := range onThreads(t) {
		var want [][]float64
		for i, d := range devices {
			p := problem(d)
			if p == nil {
				continue
			}
			got := numbers(t, p)
			if i == 0 {
				want = got
			} else if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s: other bits on %d threads than on %d: %s", name, threads[i], threads[0], cmp.Diff(want[0], got[0]))
			}
		}
	}
}
