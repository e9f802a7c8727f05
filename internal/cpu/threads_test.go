package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/ranks"
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

// The product of the square data X with tanh S, for the scores S = X W, reads tanh S as a whole.
// The product must not begin before all rows of tanh S are complete. f = mean((X tanh S)^2), and
// g has the column means of S.
func TestInputReadByRowsAndWhole(t *testing.T) {
	must := gorgonia.Must
	for _, n := range []int{5, 700} {
		c := graphcases.Case{Name: fmt.Sprintf("%d rows", n), Spec: models.Spec{Inputs: n, Outputs: 2}, Rows: n, Seed: 1,
			Nodes: func(s *gorgonia.Node, _ *rand.Rand) (f, g *gorgonia.Node, err error) {
				x := s.Graph().ByName("rows")[0]
				again := must(gorgonia.Mul(x, must(gorgonia.Tanh(s))))
				if f, err = gorgonia.Mean(must(gorgonia.Square(again))); err == nil {
					g, err = gorgonia.Mean(s, 0)
				}
				return f, g, err
			}}
		want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
		for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
			got := numbers(t, compile(t, c, dtype, engine(t, kernel.Best(), 2)))
			agree(t, fmt.Sprintf("%s, %v", c.Name, dtype), got, want, bound)
		}
	}
}

// Processes that share the rows get the results of one process up to rounding, all the same bits,
// and the same bits again. Sixteen processes are more than the units of rows: some have no rows.
func TestRanksShareRows(t *testing.T) {
	alone := must(cpu.New(kernel.Best(), 2))
	t.Cleanup(alone.Close)
	for name, problem := range onThreads(t) {
		p := problem(alone)
		if p == nil {
			continue
		}
		want := numbers(t, p)
		sizes := []int{3, 16}
		if require.Racing || !strings.Contains(name, "float64") { // the precision does not change who has which rows
			sizes = sizes[:1]
		}
		for _, size := range sizes {
			// the graphs are built one after the other, before the processes run
			got := make([][][]float64, size)
			var all sync.WaitGroup
			for _, c := range ranks.Goroutines(size) {
				d := must(cpu.New(kernel.Best(), 1+c.Rank()%2))
				defer d.Close()
				p := problem(d.Among(c))
				all.Go(func() {
					first := numbers(t, p)
					if again := numbers(t, p); !slices.EqualFunc(first, again, slices.Equal) {
						t.Errorf("%s, %d processes: a second evaluation has other bits", name, size)
					}
					got[c.Rank()] = first
				})
			}
			all.Wait()
			for rank := range got {
				if !slices.EqualFunc(got[rank], got[0], slices.Equal) {
					t.Errorf("%s: process %d of %d has other bits than process 0", name, rank, size)
				}
			}
			tolerance := 2e-6
			if strings.Contains(name, "float64") {
				tolerance = 1e-13
			}
			if d := largestDifference(want, got[0]); !(d <= tolerance) {
				t.Errorf("%s: %d processes differ from one by %.1g", name, size, d)
			}
		}
	}
}

// largestDifference returns the largest difference of two lists of vectors, in units of the largest
// number of the vector.
func largestDifference(a, b [][]float64) (worst float64) {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return math.Inf(1)
		}
		scale := 0.0
		for _, v := range a[i] {
			scale = max(scale, math.Abs(v))
		}
		for k, v := range a[i] {
			worst = max(worst, math.Abs(v-b[i][k])/max(scale, 1e-300))
		}
	}
	return worst
}
