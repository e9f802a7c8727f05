package graph

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// The elements of tensors and scalars of both dtypes are read as float64, and other values are
// refused.
func TestFloat64s(t *testing.T) {
	double := tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1, 0.1}))
	single := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 0.1}))
	f32, f64 := gorgonia.F32(0.1), gorgonia.F64(0.1)
	for _, c := range []struct {
		v    gorgonia.Value
		want []float64
	}{
		{double, []float64{1, 0.1}}, {single, []float64{1, float64(float32(0.1))}},
		{&f32, []float64{float64(float32(0.1))}}, {&f64, []float64{0.1}},
	} {
		got := Float64s(c.v)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.v, got, c.want)
		}
		dst := []float64{math.NaN(), math.NaN()}[:len(c.want)]
		if err := fill(dst, c.v); err != nil || !slices.Equal(dst, c.want) {
			t.Errorf("fill %v: %v, %v, want %v", c.v, dst, err, c.want)
		}
	}
	if got := Float64s(double); &got[0] != &double.Data().([]float64)[0] {
		t.Error("a copy of a float64 tensor")
	}
	if got := Float64s(tensor.New(tensor.WithBacking([]int{1}))); got != nil {
		t.Errorf("integers give %v", got)
	}
}

// fill refuses a wrong number of elements, a wrong type and a missing value.
func TestFillRefuses(t *testing.T) {
	three := tensor.New(tensor.WithBacking([]float32{1, 2, 3}))
	for want, v := range map[string]gorgonia.Value{"3 values, want 2": three, "a value of type []int": tensor.New(tensor.WithBacking([]int{1, 2})), "no value": nil} {
		behind := []float64{1, 2, 7}
		if err := fill(behind[:2], v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if behind[2] != 7 {
			t.Error("fill wrote behind the end")
		}
	}
}

// The start of the iterate is the concatenation of the parameters' values. Any range of its rows
// can be read.
func TestStart(t *testing.T) {
	g := gorgonia.NewGraph()
	parameter := func(name string, shape tensor.Shape, data any) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
	}
	a, b := parameter("a", tensor.Shape{2, 2}, []float32{1, 0.1, 3, 4}), parameter("b", tensor.Shape{3}, []float32{5, 6, 7})
	x := require.Value(start(gorgonia.Nodes{a, b}))(t)
	want := []float64{1, float64(float32(0.1)), 3, 4, 5, 6, 7}
	if n, cols := x.Dims(); n != len(want) || cols != 1 {
		t.Fatalf("%d x %d, want %d x 1", n, cols, len(want))
	}
	for from := range want {
		for to := from; to <= len(want); to++ {
			double, single := make([]float64, to-from), make([]float32, to-from)
			x.Float64(double, from, to)
			x.Float32(single, from, to)
			for i := range double {
				if double[i] != want[from+i] || float64(single[i]) != want[from+i] {
					t.Errorf("rows %d to %d: %v and %v, want %v", from, to, double, single, want[from:to])
				}
			}
		}
	}
}

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
