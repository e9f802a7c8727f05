package graph_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// network is a small two-layer regression with a vector and a scalar constraint, in the given
// dtype.
func network(t testing.TB, dtype tensor.Dtype, regularizer problem.Regularizer) *graph.Problem {
	t.Helper()
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		def := definition(g, dtype)
		def.Regularizer = regularizer
		return def, nil
	}, graph.Tape{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func definition(g *gorgonia.ExprGraph, dtype tensor.Dtype) graph.Definition {
	rng := rand.New(rand.NewPCG(7, 0))
	x := input(g, dtype, rng, "x", 6, 3)
	w1, w2 := input(g, dtype, rng, "w1", 3, 4), input(g, dtype, rng, "w2", 4, 2)
	y := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Sigmoid(gorgonia.Must(gorgonia.Mul(x, w1)))), w2))
	f := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(y))))
	columns := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Tanh(y)), 0))
	size := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(w1))))
	return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{columns, size},
		Parameters: gorgonia.Nodes{w1, w2}, Watch: gorgonia.Nodes{y}}
}

func input(g *gorgonia.ExprGraph, dtype tensor.Dtype, rng *rand.Rand, name string, shape ...int) *gorgonia.Node {
	values := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	var backing any = values
	if dtype == tensor.Float32 {
		single := make([]float32, len(values))
		for i, v := range values {
			single[i] = float32(v)
		}
		backing = single
	}
	return gorgonia.NewTensor(g, dtype, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))))
}

// The weighted gradient equals central differences of w0 f + w.g, term by term.
func TestBackwardEqualsCentralDifferences(t *testing.T) {
	p := network(t, tensor.Float64, problem.Regularizer{})
	n, m := p.Dims()
	if n != 20 || m != 3 {
		t.Fatalf("Dims = %d, %d, want 20, 3", n, m)
	}
	x, g := make([]float64, n), make([]float64, m)
	p.Space().Read(x, problem.Iterate)
	d := p.Space().New()
	for term := range 1 + m {
		weights := make([]float64, 1+m)
		weights[term] = 1
		value := func() float64 {
			f, err := p.Forward(g)
			if err != nil {
				t.Fatal(err)
			}
			return append([]float64{f}, g...)[term]
		}
		value()
		if err := p.Backward(weights, d); err != nil {
			t.Fatal(err)
		}
		got := make([]float64, n)
		p.Space().Read(got, d)
		for i := range x {
			const h = 1e-6
			keep := x[i]
			x[i] = keep + h
			p.Space().Write(problem.Iterate, x)
			up := value()
			x[i] = keep - h
			p.Space().Write(problem.Iterate, x)
			want := (up - value()) / (2 * h)
			x[i] = keep
			p.Space().Write(problem.Iterate, x)
			if math.Abs(got[i]-want) > 1e-7*(1+math.Abs(want)) {
				t.Errorf("term %d, variable %d: gradient %.12g, central difference %.12g", term, i, got[i], want)
			}
		}
	}
}

// Forward and Backward never change the iterate, and repeated calls agree to the bit.
func TestHalvesLeaveTheIterateAndRepeat(t *testing.T) {
	p := network(t, tensor.Float32, problem.Regularizer{})
	n, m := p.Dims()
	before, after, first, again, g := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, m)
	p.Space().Read(before, problem.Iterate)
	d := p.Space().New()
	weights := []float64{1, 0.5, 2, 3}
	for try := range 4 {
		if _, err := p.Forward(g); err != nil {
			t.Fatal(err)
		}
		if err := p.Backward(weights, d); err != nil {
			t.Fatal(err)
		}
		p.Space().Read(again, d)
		if try == 0 {
			copy(first, again)
		}
		p.Space().Read(after, problem.Iterate)
		for i := range n {
			if before[i] != after[i] {
				t.Fatalf("run %d moved variable %d", try, i)
			}
			if first[i] != again[i] {
				t.Fatalf("run %d: gradient %d is %v, was %v", try, i, again[i], first[i])
			}
		}
	}
	v, err := p.Watched(0)
	if err != nil || !v.Shape().Eq(tensor.Shape{6, 2}) {
		t.Errorf("Watched(0) = %v, %v, want a 6 x 2 value", v, err)
	}
	if _, err := p.Watched(1); err == nil {
		t.Error("Watched(1) of one watched node gave no error")
	}
}

// The gradients in float32 and float64 agree up to rounding.
func TestFloat32AgreesWithFloat64(t *testing.T) {
	single, double := network(t, tensor.Float32, problem.Regularizer{}), network(t, tensor.Float64, problem.Regularizer{})
	n, m := single.Dims()
	weights := []float64{1, 0.5, 2, 3}
	results := make([][]float64, 2)
	for i, p := range []*graph.Problem{single, double} {
		g, d, out := make([]float64, m), p.Space().New(), make([]float64, n)
		f, err := p.Forward(g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Backward(weights, d); err != nil {
			t.Fatal(err)
		}
		p.Space().Read(out, d)
		results[i] = append(append(out, f), g...)
	}
	for i, v := range results[1] {
		if math.Abs(results[0][i]-v) > 2e-6*(1+math.Abs(v)) {
			t.Errorf("number %d: float32 %v, float64 %v", i, results[0][i], v)
		}
	}
}

func TestDefinitionsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(g *gorgonia.ExprGraph) (graph.Definition, error)
		want  string
	}{
		{"no parameters", func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			return graph.Definition{Objective: gorgonia.NewScalar(g, tensor.Float64)}, nil
		}, "needs an objective and parameters"},
		{"vector objective", func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := input(g, tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3)
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Square(w)), Parameters: gorgonia.Nodes{w}}, nil
		}, "want a scalar"},
		{"mixed dtypes", func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			rng := rand.New(rand.NewPCG(1, 0))
			w, v := input(g, tensor.Float64, rng, "w", 3), input(g, tensor.Float32, rng, "v", 3)
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(w)),
				Constraints: gorgonia.Nodes{gorgonia.Must(gorgonia.Sum(v))}, Parameters: gorgonia.Nodes{w}}, nil
		}, "constraint node 0 has dtype float32"},
		{"parameter without value", func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(3), gorgonia.WithName("w"))
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(w)), Parameters: gorgonia.Nodes{w}}, nil
		}, "parameter 0 (w) has no value"},
		{"scales of other parameters", func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := input(g, tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3)
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(w)), Parameters: gorgonia.Nodes{w}, Scales: problem.NewScales(2)}, nil
		}, "2 scales for 3 parameters"},
	} {
		_, err := graph.New(c.build, graph.Tape{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
}
