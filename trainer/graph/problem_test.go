package graph_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// network is a small two-layer regression with a vector and a scalar constraint, in the given
// dtype.
func network(t testing.TB, dtype tensor.Dtype, regularizer problem.Regularizer) *graph.Problem {
	t.Helper()
	p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		def := definition(g, dtype)
		def.Regularizer = regularizer
		return def, nil
	}, graph.Tape{}))(t)
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
			f := require.Value(p.Forward(g))(t)
			return append([]float64{f}, g...)[term]
		}
		value()
		require.NoError(t, p.Backward(weights, d))
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
		require.Value(p.Forward(g))(t)
		require.NoError(t, p.Backward(weights, d))
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
		f := require.Value(p.Forward(g))(t)
		require.NoError(t, p.Backward(weights, d))
		p.Space().Read(out, d)
		results[i] = append(append(out, f), g...)
	}
	for i, v := range results[1] {
		if math.Abs(results[0][i]-v) > 2e-6*(1+math.Abs(v)) {
			t.Errorf("number %d: float32 %v, float64 %v", i, results[0][i], v)
		}
	}
}

// Every fault of a definition is one error that wraps problem.ErrSettings and names what is wrong,
// on both engines.
func TestDefinitionsThatAreRefused(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	must := gorgonia.Must
	// sized returns a definition with the parameter w [3], f = sum w^2 and the given constraint nodes.
	sized := func(constraints func(g *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		return func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := input(g, tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3)
			return graph.Definition{Objective: must(gorgonia.Sum(must(gorgonia.Square(w)))), Parameters: gorgonia.Nodes{w}, Constraints: constraints(g, w)}, nil
		}
	}
	changed := func(change func(g *gorgonia.ExprGraph, d *graph.Definition)) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		return func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			d, err := sized(func(*gorgonia.ExprGraph, *gorgonia.Node) gorgonia.Nodes { return nil })(g)
			change(g, &d)
			return d, err
		}
	}
	for _, c := range []struct {
		name  string
		build func(g *gorgonia.ExprGraph) (graph.Definition, error)
		want  string
	}{
		{"nil build", nil, "the function that builds the graph is nil"},
		{"no parameters", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Parameters = nil }), "needs an objective and parameters"},
		{"nil objective", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Objective = nil }), "needs an objective and parameters"},
		{"nil parameter", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Parameters = gorgonia.Nodes{nil} }), "parameter 0 is nil"},
		{"nil input", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Inputs = gorgonia.Nodes{nil} }), "input 0 is nil"},
		{"nil constraint", sized(func(_ *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes { return gorgonia.Nodes{w, nil} }), "constraint node 1 is nil"},
		{"another graph", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) {
			d.Constraints = gorgonia.Nodes{input(gorgonia.NewGraph(), tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3)}
		}), "constraint node 0 (w :: Vector float64) belongs to another graph"},
		{"vector objective", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Objective = d.Parameters[0] }), "want a scalar"},
		{"mixed dtypes", sized(func(g *gorgonia.ExprGraph, _ *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{must(gorgonia.Sum(input(g, tensor.Float32, rand.New(rand.NewPCG(1, 0)), "v", 3)))}
		}), "constraint node 0 has dtype float32"},
		{"matrix constraint", sized(func(g *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{w, must(gorgonia.Reshape(w, tensor.Shape{1, 3}))}
		}), "constraint node 1 has shape (1, 3)"},
		{"parameter without value", changed(func(g *gorgonia.ExprGraph, d *graph.Definition) {
			d.Parameters = gorgonia.Nodes{gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(3), gorgonia.WithName("v"))}
		}), "parameter 0 (v) has no value"},
		{"computed parameter", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) {
			d.Parameters[0] = must(gorgonia.Square(d.Parameters[0]))
		}), "is computed"},
		{"a parameter twice", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Parameters = append(d.Parameters, d.Parameters[0]) }),
			"parameters 0 and 1 are the same node, w"},
		{"two parameters of one name", changed(func(g *gorgonia.ExprGraph, d *graph.Definition) {
			d.Parameters = append(d.Parameters, input(g, tensor.Float64, rand.New(rand.NewPCG(2, 0)), "w", 3))
		}), "give each parameter its own name"},
		{"violated constant constraint", sized(func(g *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{w, constants(g, -1, 0.5)}
		}), "constraint node 1 does not depend on a parameter and has the value 0.5"},
		{"constant constraint without a number", sized(func(g *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{w, constants(g, math.NaN())}
		}), "constraint node 1 does not depend on a parameter and has the value NaN"},
		{"sign", sized(func(_ *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{must(gorgonia.Sign(w))}
		}),
			"constraint node 0 does not depend on a parameter, or only through operations without a derivative"},
		{"comparison", sized(func(g *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{w, must(gorgonia.Gt(w, input(g, tensor.Float64, rand.New(rand.NewPCG(2, 0)), "v", 3), true))}
		}), "constraint node 1 does not depend on a parameter"},
		{"a constraint with a wrong gradient", sized(func(_ *gorgonia.ExprGraph, w *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{w, must(gorgonia.InverseSqrt(must(gorgonia.Exp(w))))}
		}), "constraint node 1: "},
		{"a watched node that draws", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) {
			d.Watch = gorgonia.Nodes{must(gorgonia.Dropout(d.Parameters[0], 0.5))}
		}), "watched node 0: "},
		{"short data", changed(func(g *gorgonia.ExprGraph, d *graph.Definition) {
			d.Inputs = gorgonia.Nodes{gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(10, 2), gorgonia.WithName("rows"))}
			d.Data = []matrix.Matrix{&matrix.Dense{Rows: 10, Cols: 2, Data: make([]float64, 7)}}
		}), "data matrix 0: Data has 7 numbers, want 20"},
		{"scales of other parameters", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) { d.Scales = problem.NewScales(2) }), "2 scales for 3 parameters"},
		{"a wrong regularizer", changed(func(_ *gorgonia.ExprGraph, d *graph.Definition) {
			d.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: -1}
		}), "weight is -1"},
		{"a panic", func(*gorgonia.ExprGraph) (graph.Definition, error) { panic("own fault") }, "building the graph: gorgonia panics: own fault"},
	} {
		for _, e := range []graph.Engine{graph.Tape{}, engine} {
			if _, err := graph.New(c.build, e); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, problem.ErrSettings) {
				t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
			}
		}
	}
	for name, d := range map[string]graph.Device{"nil": nil, "foreign": foreign{}} {
		if _, err := graph.New(changed(func(*gorgonia.ExprGraph, *graph.Definition) {}), graph.On(d)); !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), "graph.OpenGPU") {
			t.Errorf("%s device: error %v", name, err)
		}
	}
	if _, err := graph.New(sized(nil), nil); err == nil || !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), "engine is nil") {
		t.Errorf("nil engine: error %v", err)
	}
}

// constants returns a node of the values that depends on no parameter.
func constants(g *gorgonia.ExprGraph, values ...float64) *gorgonia.Node {
	v := tensor.New(tensor.WithShape(len(values)), tensor.WithBacking(values))
	return gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(len(values)), gorgonia.WithName("constants"), gorgonia.WithValue(v))
}

// A constant constraint that is met stays in its place, with its value and the gradient 0.
func TestConstantConstraints(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	for _, e := range []graph.Engine{graph.Tape{}, engine} {
		p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := input(g, tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3)
			f := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(w))))
			v := constants(g, -1, 0)
			return graph.Definition{Objective: f, Parameters: gorgonia.Nodes{w},
				Constraints: gorgonia.Nodes{v, w, gorgonia.Must(gorgonia.Sum(v))}}, nil
		}, e))(t)
		g, d, out := make([]float64, 6), p.Space().New(), make([]float64, 3)
		require.Value(p.Forward(g))(t)
		if g[0] != -1 || g[1] != 0 || g[5] != -1 {
			t.Errorf("values %v, want -1, 0, w and -1", g)
		}
		require.NoError(t, p.Backward([]float64{0, 5, 7, 0, 2, 0, 9}, d))
		if p.Space().Read(out, d); !slices.Equal(out, []float64{0, 2, 0}) {
			t.Errorf("gradient %v, want 0, 2, 0", out)
		}
	}
}

// A parameter that nothing uses has the gradient 0, and an output may be listed twice.
func TestUnusedParametersAndRepeatedOutputs(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	for _, e := range []graph.Engine{graph.Tape{}, engine} {
		p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			rng := rand.New(rand.NewPCG(1, 0))
			v, w := input(g, tensor.Float64, rng, "v", 2), input(g, tensor.Float64, rng, "w", 3)
			f := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Exp(w))))
			return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{f, w, f, w}, Parameters: gorgonia.Nodes{v, w}}, nil
		}, e))(t)
		if err := problem.CheckGradients(p); err != nil {
			t.Error(err)
		}
		g, d, got := make([]float64, 8), p.Space().New(), make([]float64, 5)
		f, err := p.Forward(g)
		if err != nil || g[0] != f || g[4] != f || g[1] != g[5] {
			t.Errorf("f = %v, g = %v, %v", f, g, err)
		}
		require.NoError(t, p.Backward([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, d))
		p.Space().Read(got, d)
		if got[0] != 0 || got[1] != 0 || math.Abs(got[2]-3*math.Exp(g[1])-2) > 1e-12 {
			t.Errorf("gradient %v, want 0, 0 and %v", got, 3*math.Exp(g[1])+2)
		}
	}
}

// foreign is a device of another module.
type foreign struct{}

func (foreign) NewVectors(tensor.Dtype, matrix.Matrix, []int) (problem.Vectors, error) {
	return nil, errors.New("no vectors")
}
