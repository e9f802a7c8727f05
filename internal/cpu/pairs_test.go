package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// On every level the pair steps agree with Gorgonia's machine in float64.
func TestPairsAgreeWithGorgonia(t *testing.T) {
	for _, c := range graphcases.Ranked() {
		want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
		for _, level := range levels() {
			for _, threads := range []int{1, 3} {
				for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
					got := numbers(t, compile(t, c, dtype, engine(t, level, threads)))
					agree(t, fmt.Sprintf("%s, %v, %d threads, %v", c.Name, level, threads, dtype), got, want, bound)
				}
			}
		}
	}
}

// long is a ranking with a query that several tasks share, between others.
func long(each bool) graphcases.Ranking {
	return graphcases.Ranking{Name: fmt.Sprintf("long query, each=%v", each), Queries: []int{30, 4000, 1, 300}, Levels: 3, Groups: 2, Each: each,
		Objective: constraints.Sigmoid, Constraints: constraints.Sigmoid}
}

// A query that several tasks share agrees with Gorgonia's machine.
func TestLongQueryAgreesWithGorgonia(t *testing.T) {
	require.NoRace(t, "TestPairsOnThreads runs the same goroutines")
	for _, each := range []bool{false, true} {
		r := long(each)
		for _, phi := range []constraints.Phi{constraints.Sigmoid, constraints.Logistic, constraints.Hinge} {
			if each && phi != constraints.Sigmoid {
				continue // Gorgonia's machine takes seconds, and a pair does not depend on the queries
			}
			r.Objective = phi
			c := r.Case(models.Spec{Inputs: 5}, graphcases.Dense)
			want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
			single := 1e-5
			if phi == constraints.Hinge {
				single = 5e-5 // some differences are on the other side of the kink
			}
			for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: single} {
				agree(t, fmt.Sprintf("%s, %v, %v", c.Name, phi, dtype), numbers(t, compile(t, c, dtype, engine(t, kernel.Best(), 2))), want, bound)
			}
		}
	}
}

// The pair steps have the same bits for any number of threads.
func TestPairsOnThreads(t *testing.T) {
	threads := []int{1, 2, 3, 7, 64}
	if require.Racing {
		threads = []int{2, 5}
	}
	cases := []graphcases.Case{}
	for _, r := range append([]graphcases.Ranking{long(false), long(true)}, graphcases.Rankings()...) {
		cases = append(cases, r.Case(models.Spec{Inputs: 5}, graphcases.Values))
	}
	devices := make([]*cpu.Device, len(threads))
	for i, n := range threads {
		devices[i] = must(cpu.New(kernel.Best(), n))
		t.Cleanup(devices[i].Close)
	}
	for k, c := range cases {
		dtype := []tensor.Dtype{tensor.Float32, tensor.Float64}[k%2]
		var want [][]float64
		for i, d := range devices {
			p := compile(t, c, dtype, graph.On(d))
			for range 2 { // the second pass starts from the memory of the first
				got := numbers(t, p)
				if want == nil {
					want = got
				} else if !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s, %v: other bits on %d threads than on %d", c.Name, dtype, threads[i], threads[0])
				}
			}
		}
	}
}

// An iteration with pair steps allocates nothing.
func TestPairsAllocateNothing(t *testing.T) {
	require.NoRace(t, "TestPairsOnThreads runs the same goroutines")
	for i, r := range append(graphcases.Rankings(), long(false), long(true)) {
		c := r.Case(models.Spec{Inputs: 5}, graphcases.Values)
		for _, level := range []kernel.Level{kernel.Go, kernel.Best()} {
			p := compile(t, c, []tensor.Dtype{tensor.Float32, tensor.Float64}[i%2], engine(t, level, 2))
			if allocated := steadyAllocations(iteration(t, p)); allocated > 0 {
				t.Errorf("%s, %v: %v allocations an iteration", c.Name, level, allocated)
			}
		}
	}
}

// ofScores is a problem whose parameters are the scores themselves: f is the mean of phi over all
// pairs, and g has the means of the cells.
func ofScores(t *testing.T, d constraints.Documents, phi constraints.Phi, scores []float64, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		s := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("scores"), gorgonia.WithShape(len(scores), 1),
			gorgonia.WithValue(tensor.New(tensor.WithShape(len(scores), 1), tensor.WithBacking(graphcases.Backing(dtype, slices.Clone(scores))))))
		of := func(groups int) *gorgonia.Node {
			pairs := must(constraints.NewPairs(constraints.Documents{Queries: d.Queries, Levels: d.Levels, Groups: map[bool][]int{true: d.Groups}[groups > 1]}, groups, false))
			return must(must(constraints.NewPairMeans(pairs, phi)).Apply(s))
		}
		f := must(gorgonia.Sum(of(1)))
		return graph.Definition{Parameters: gorgonia.Nodes{s}, Objective: f, Constraints: gorgonia.Nodes{of(2)}, Watch: gorgonia.Nodes{s}}, nil
	}, engine))(t)
	return p
}

// Scores of any size and distance agree with Gorgonia's machine, which computes pair by pair: the
// device changes from factors to differences, and to single pairs for scores that are not finite.
func TestPairsOfAnyScores(t *testing.T) {
	inf := math.Inf(1)
	d := constraints.Documents{}
	var start []float64
	for i := range 60 {
		d.Queries, d.Levels, d.Groups = append(d.Queries, int32(i/30)), append(d.Levels, i%3), append(d.Groups, i%2)
		start = append(start, float64(float32(math.Sin(float64(i)))))
	}
	for _, c := range []struct {
		name         string
		scale, shift float64
		last         []float64 // the last scores
	}{
		{"usual", 1, 0, nil},
		{"equal", 0, 3, nil},
		{"at the ends of the factors", 39, 0, nil},
		{"outside the factors", 100, 0, nil},
		{"shifted", 3, 4096, nil},
		{"far apart", 500, 0, nil},
		{"very far apart", 1e6, 0, nil},
		{"infinite", 1, 0, []float64{inf, inf, inf, -inf, -inf}},
	} {
		scores := make([]float64, len(start))
		for i, s := range start {
			scores[i] = float64(float32(c.scale*s + c.shift))
		}
		copy(scores[len(scores)-len(c.last):], c.last)
		for _, phi := range constraints.Phis() {
			if c.last != nil && phi != constraints.Sigmoid {
				continue // the means are infinite
			}
			want := numbers(t, ofScores(t, d, phi, scores, tensor.Float64, graph.Tape{}))
			for _, v := range want[:2] {
				if slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
					t.Fatalf("%s, %v: %v", c.name, phi, v)
				}
			}
			for _, level := range levels() {
				for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-5} {
					got := numbers(t, ofScores(t, d, phi, scores, dtype, engine(t, level, 2)))
					agree(t, fmt.Sprintf("%s, %v, %v, %v", c.name, phi, level, dtype), got[:2], want[:2], bound)
				}
			}
		}
	}
}

// A query with so many pairs that they are not computed one by one agrees with Gorgonia's machine,
// which does, for scores close together, far apart and infinite.
func TestLongQueryOfAnyScores(t *testing.T) {
	require.NoRace(t, "TestPairsOnThreads runs the same goroutines")
	d := constraints.Documents{}
	var start []float64
	for i := range 2200 {
		d.Queries, d.Levels, d.Groups = append(d.Queries, int32(i/2180)), append(d.Levels, i%2), append(d.Groups, i/7%2)
		start = append(start, math.Sin(float64(i)))
	}
	for _, c := range []struct {
		scale, last float64
	}{{0, 0}, {30, 0}, {1e4, 0}, {1, math.Inf(1)}} {
		scores := make([]float64, len(start))
		for i, s := range start {
			scores[i] = float64(float32(c.scale * s))
		}
		scores[5] += c.last
		for _, phi := range []constraints.Phi{constraints.Sigmoid, constraints.Logistic} {
			if c.last != 0 && phi != constraints.Sigmoid {
				continue // the means are infinite
			}
			want := numbers(t, ofScores(t, d, phi, scores, tensor.Float64, graph.Tape{}))
			for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 2e-11, tensor.Float32: 1e-5} { // the loops round a million times
				got := numbers(t, ofScores(t, d, phi, scores, dtype, engine(t, kernel.Best(), 2)))
				agree(t, fmt.Sprintf("%v, %v, %v", c, phi, dtype), got[:2], want[:2], bound)
			}
		}
	}
}
