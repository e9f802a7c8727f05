package graph

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// The check of an operation alone finds the wrong gradients of Gorgonia, which New refuses by name,
// in both types and on more rows than it takes. It finds no fault in operations that are right.
func TestWrongAlone(t *testing.T) {
	engine := require.Value(CPU(1))(t)
	const rows = 3 * fewRows
	one := func(f func(x *gorgonia.Node) (*gorgonia.Node, error), shape ...int) func(g *gorgonia.ExprGraph, d tensor.Dtype) (*gorgonia.Node, error) {
		return func(g *gorgonia.ExprGraph, d tensor.Dtype) (*gorgonia.Node, error) {
			return f(gorgonia.NewTensor(g, d, len(shape), gorgonia.WithShape(shape...), gorgonia.WithInit(gorgonia.Uniform(1, 2))))
		}
	}
	pooled := func(pool func(x *gorgonia.Node, kernel tensor.Shape, pad, stride []int) (*gorgonia.Node, error)) func(x *gorgonia.Node) (*gorgonia.Node, error) {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return pool(x, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2})
		}
	}
	axes := func(sum func(*gorgonia.Node, ...int) (*gorgonia.Node, error)) func(x *gorgonia.Node) (*gorgonia.Node, error) {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) { return sum(x, 2, 3) }
	}
	for name, c := range map[string]struct {
		build func(g *gorgonia.ExprGraph, d tensor.Dtype) (*gorgonia.Node, error)
		wrong bool
	}{
		"AveragePool2D":     {one(pooled(gorgonia.AveragePool2D), rows, 3, 4, 4), true},
		"Sum over two axes": {one(axes(gorgonia.Sum), rows, 3, 4, 4), true},
		"InverseSqrt":       {one(gorgonia.InverseSqrt, rows, 3), true},
		"Log2":              {one(gorgonia.Log2, rows, 3), true},
		"MaxPool2D":         {one(pooled(gorgonia.MaxPool2D), rows, 3, 4, 4), false},
		"many kinks": {one(func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.MaxPool2D(x, tensor.Shape{3, 3}, []int{0, 0}, []int{2, 2})
		}, 64, 1, 8, 8), false},
		"Sum over an axis": {one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Sum(x, 1) }, rows, 3), false},
		"Sqrt":             {one(gorgonia.Sqrt, rows, 3), false},
		"Log":              {one(gorgonia.Log, rows, 3), false},
		"SoftMax":          {one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.SoftMax(x) }, rows, 3), false},
		"Im2Col": {one(func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.Im2Col(x, tensor.Shape{3, 3}, tensor.Shape{1, 1}, tensor.Shape{2, 2}, tensor.Shape{1, 1})
		}, rows, 2, 5, 5), false},
	} {
		for _, d := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			n, err := c.build(gorgonia.NewGraph(), d)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, e := range []Engine{engine, Tape{}} {
				if err := wrongAlone(n, e, false); (err != nil) != c.wrong {
					t.Errorf("%s, %T, %v: %v, want a wrong gradient: %t", name, e, d, err, c.wrong)
				}
			}
		}
	}
}
