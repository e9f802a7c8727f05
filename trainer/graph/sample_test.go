package graph_test

import (
	"errors"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// fit is a linear regression on the first rows of a fixed table, with a bound on each of the given
// numbers of parameters and outputs.
func fit(rows, cols, outputs, bounds int, dtype tensor.Dtype) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
	return func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		values := func(n int) any {
			double, single := make([]float64, n), make([]float32, n)
			for i := range n {
				double[i] = float64(i%7)/4 - 0.5
				single[i] = float32(double[i])
			}
			if dtype == tensor.Float32 {
				return single
			}
			return double
		}
		node := func(name string, n, m int) *gorgonia.Node {
			return gorgonia.NewMatrix(g, dtype, gorgonia.WithShape(n, m), gorgonia.WithName(name),
				gorgonia.WithValue(tensor.New(tensor.WithShape(n, m), tensor.WithBacking(values(n*m)))))
		}
		x, w := node("x", rows, cols), node("w", cols, outputs)
		squares := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Mul(x, w))))
		def := graph.Definition{Objective: gorgonia.Must(gorgonia.Mean(squares)), Parameters: gorgonia.Nodes{w}, Inputs: gorgonia.Nodes{x}}
		for range bounds {
			def.Constraints = append(def.Constraints, gorgonia.Must(gorgonia.Sum(squares)))
		}
		return def, nil
	}
}

// Samples become coarse grades, in the order of their sizes. Their passes have the values of their
// rows at the problem's iterate. Samples that do not suit the problem are refused.
func TestAddSample(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	whole := func() *graph.Problem {
		return require.Value(graph.New(fit(40, 3, 2, 1, tensor.Float64), engine))(t)
	}
	p := whole()
	for _, rows := range []int{5, 10} {
		require.NoError(t, p.AddSample(fit(rows, 3, 2, 1, tensor.Float64), engine))
	}
	graded := problem.FeaturesOf(p).Graded
	if got, want := graded.Grades(), []problem.Grade{{Share: 0.125}, {Share: 0.25}, {Share: 1}}; !slices.Equal(got, want) || graded.Grade() != 2 {
		t.Fatalf("the grades are %v, the present one %d, want %v and 2", got, graded.Grade(), want)
	}
	start := []float64{1, -2, 3, 0.5, -1, 2}
	pass := func(p *graph.Problem) (f float64, g, gradient []float64) {
		t.Helper()
		p.Space().Write(problem.Iterate, start)
		g, gradient = make([]float64, 1), make([]float64, len(start))
		f = require.Value(p.Forward(g))(t)
		d := p.Space().New()
		require.NoError(t, p.Backward([]float64{1, 0.5}, d))
		p.Space().Read(gradient, d)
		return f, g, gradient
	}
	for k, rows := range []int{5, 10, 40} {
		alone := require.Value(graph.New(fit(rows, 3, 2, 1, tensor.Float64), engine))(t)
		graded.SetGrade(k)
		f, g, gradient := pass(p)
		if wantF, wantG, want := pass(alone); f != wantF || !slices.Equal(g, wantG) || !slices.Equal(gradient, want) {
			t.Errorf("grade %d: f = %v, g = %v, gradient %v; want those of %d rows, %v, %v, %v", k, f, g, gradient, rows, wantF, wantG, want)
		}
	}
	for name, c := range map[string]struct {
		sample func(g *gorgonia.ExprGraph) (graph.Definition, error)
		on     graph.Engine
	}{
		"all rows":           {fit(40, 3, 2, 1, tensor.Float64), engine},
		"other parameters":   {fit(20, 3, 3, 1, tensor.Float64), engine},
		"no constraint":      {fit(20, 3, 2, 0, tensor.Float64), engine},
		"other constraints":  {fit(20, 3, 2, 2, tensor.Float64), engine},
		"single precision":   {fit(20, 3, 2, 1, tensor.Float32), engine},
		"no larger sample":   {fit(10, 3, 2, 1, tensor.Float64), engine},
		"Gorgonia's machine": {fit(20, 3, 2, 1, tensor.Float64), graph.Tape{}},
		"no input": {func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			def, err := fit(20, 3, 2, 1, tensor.Float64)(g)
			def.Inputs = nil
			return def, err
		}, engine},
	} {
		if err := p.AddSample(c.sample, c.on); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v, want %v", name, err, problem.ErrSettings)
		}
	}
	broken := errors.New("broken")
	if err := whole().AddSample(func(*gorgonia.ExprGraph) (graph.Definition, error) { return graph.Definition{}, broken }, engine); !errors.Is(err, broken) {
		t.Errorf("an error of the definition: %v", err)
	}
}
