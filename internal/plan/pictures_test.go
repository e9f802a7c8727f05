package plan_test

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// Convolutions and max-pooling have steps of their own. The loops that define the steps give the
// values and gradients of Gorgonia's machine.
func TestConvolutions(t *testing.T) {
	for _, c := range graphcases.PictureCases() {
		if c.Name == "parts" {
			continue // slow in plain loops
		}
		t.Run(c.Name, func(t *testing.T) {
			var l *graph.Lagrangian
			problem := require.Value(c.Problem(tensor.Float64, capture{halves: &l}))(t)
			p := require.Value(graphcases.Lower(l))(t)
			if err := p.Check(); err != nil {
				t.Fatalf("%v\n%v", err, p)
			}
			each(p, func(s plan.Step) {
				if _, opaque := s.(*plan.Opaque); opaque {
					t.Errorf("an opaque step: %v", s)
				}
			})
			weights := weightsOf(1)
			want := tape(t, problem, weights)
			for _, block := range []int{0, 2} {
				compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
			}
		})
	}
}

// A convolution of the picture 1 2 3 / 4 5 6 / 7 8 9 with the filter 1 0 / 2 -1, and its
// derivatives, computed by hand.
func TestConvolutionByHand(t *testing.T) {
	var x, f *gorgonia.Node
	_, p := lower(t, func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		four := func(name string, h, w int, data ...float64) *gorgonia.Node {
			return gorgonia.NewTensor(g, tensor.Float64, 4, gorgonia.WithName(name), gorgonia.WithShape(1, 1, h, w),
				gorgonia.WithValue(tensor.New(tensor.WithShape(1, 1, h, w), tensor.WithBacking(data))))
		}
		x, f = four("x", 3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9), four("f", 2, 2, 1, 0, 2, -1)
		y := must(gorgonia.Conv2d(x, f, tensor.Shape{2, 2}, []int{0, 0}, []int{1, 1}, []int{1, 1}))
		weighted := must(gorgonia.HadamardProd(y, four("d", 2, 2, 1, 10, 100, 1000)))
		return graph.Definition{Objective: must(gorgonia.Sum(weighted)), Parameters: gorgonia.Nodes{x, f}, Watch: gorgonia.Nodes{y}}, nil
	})
	got := reference[float64](t, p, 0, []float64{1})
	if want := []float64{4 + 60 + 1000 + 12000, 4, 6, 10, 12}; !slices.Equal(got.values, want) {
		t.Errorf("values %v, want %v", got.values, want)
	}
	want := []float64{1, 10, 0, 102, 1019, -10, 200, 1900, -1000, 5421, 6532, 8754, 9865}
	if !slices.Equal(got.gradient, want) {
		t.Errorf("gradient %v, want %v", got.gradient, want)
	}
}
