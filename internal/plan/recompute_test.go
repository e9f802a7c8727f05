package plan_test

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Layers of pictures that the backward half computes again have the bits of layers that it reads,
// and nothing as wide as a picture is kept.
func TestRecompute(t *testing.T) {
	engine := require.Value(graph.CPU(2))(t)
	type of func(dtype tensor.Dtype, engine graph.Engine) (*graph.Problem, error)
	cases := map[string]of{}
	for _, c := range graphcases.PictureCases() {
		if c.Channels*c.Height*c.Width > 12 && c.Name != "parts" {
			cases[c.Name] = c.Problem
		}
	}
	for _, o := range graphcases.Operations() {
		if o.Name == "resnet" || o.Name == "conv with group norm" {
			cases[o.Name] = o.Problem
		}
	}
	for name, c := range cases {
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			var bits [2][]float64
			for again := range 2 {
				t.Run("", func(t *testing.T) {
					if again == 1 {
						plan.SetKeptBytes(t, -1)
						var l *graph.Lagrangian
						require.Value(c(dtype, capture{halves: &l}))(t)
						p := require.Value(graphcases.Lower(l))(t)
						if err := p.Check(); err != nil {
							t.Errorf("%s: %v\n%v", name, err, p)
						}
						for _, b := range p.Buffers {
							if b.Class == plan.Kept && b.RowWise && b.Cols > 12 {
								t.Errorf("%s: a buffer of %d columns is kept\n%v", name, b.Cols, p)
							}
						}
					}
					p := require.Value(c(dtype, engine))(t)
					bits[again] = everything(t, p)
				})
			}
			if !slices.Equal(bits[0], bits[1]) {
				t.Errorf("%s, %v: the bits differ", name, dtype)
			}
		}
	}
}

// everything returns f, g and the gradients of f and of the first constraint.
func everything(t *testing.T, p *graph.Problem) []float64 {
	t.Helper()
	n, m := p.Dims()
	g := make([]float64, m)
	f := require.Value(p.Forward(g))(t)
	all := append(g, f)
	d := p.Space().New()
	for k := range 2 {
		coefficients := make([]float64, m+1)
		coefficients[k] = 1
		require.NoError(t, p.Backward(coefficients, d))
		x := make([]float64, n)
		p.Space().Read(x, problem.Vector(d))
		all = append(all, x...)
	}
	return all
}
