package plan

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// The plan recognizes every element-wise function of Gorgonia.
func TestOperationsAreGorgonias(t *testing.T) {
	type build = func(x *gorgonia.Node) (*gorgonia.Node, error)
	unaries := map[describe.Op]build{describe.Abs: gorgonia.Abs, describe.Sign: gorgonia.Sign, describe.Ceil: gorgonia.Ceil, describe.Floor: gorgonia.Floor, describe.Sin: gorgonia.Sin,
		describe.Cos: gorgonia.Cos, describe.Exp: gorgonia.Exp, describe.Ln: gorgonia.Log, describe.Log2: gorgonia.Log2, describe.Neg: gorgonia.Neg, describe.Square: gorgonia.Square,
		describe.Sqrt: gorgonia.Sqrt, describe.Inverse: gorgonia.Inverse, describe.InverseSqrt: gorgonia.InverseSqrt, describe.Cube: gorgonia.Cube, describe.Tanh: gorgonia.Tanh,
		describe.Sigmoid: gorgonia.Sigmoid, describe.Log1p: gorgonia.Log1p, describe.Expm1: gorgonia.Expm1, describe.Softplus: gorgonia.Softplus}
	for op := describe.Abs; op <= describe.Softplus; op++ {
		checkOperation(t, op, func(x, _ *gorgonia.Node) (*gorgonia.Node, error) { return unaries[op](x) })
	}
	type both = func(x, y *gorgonia.Node) (*gorgonia.Node, error)
	same := func(f func(x, y *gorgonia.Node, same bool) (*gorgonia.Node, error)) both {
		return func(x, y *gorgonia.Node) (*gorgonia.Node, error) { return f(x, y, true) }
	}
	for op, f := range map[describe.Op]both{describe.Add: gorgonia.Add, describe.Sub: gorgonia.Sub, describe.Mul: gorgonia.HadamardProd, describe.Div: gorgonia.HadamardDiv,
		describe.Pow: gorgonia.Pow, describe.Lt: same(gorgonia.Lt), describe.Gt: same(gorgonia.Gt), describe.Lte: same(gorgonia.Lte), describe.Gte: same(gorgonia.Gte),
		describe.Eq: same(gorgonia.Eq), describe.Ne: same(gorgonia.Ne)} {
		checkOperation(t, op, f)
	}
}

// checkOperation builds f's node, lowers it and compares the op's value with Gorgonia's.
func checkOperation(t *testing.T, op describe.Op, f func(x, y *gorgonia.Node) (*gorgonia.Node, error)) {
	t.Helper()
	xs, ys := []float64{0.3, 1.7, 2.5}, []float64{0.3, 2, 0.5}
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		g := gorgonia.NewGraph()
		x := gorgonia.NewVector(g, dtype, gorgonia.WithName("x"), gorgonia.WithShape(3))
		y := gorgonia.NewVector(g, dtype, gorgonia.WithName("y"), gorgonia.WithShape(3))
		n := require.Value(f(x, y))(t)
		if r := recognize(n); r.kind != mapKind || r.op != op {
			t.Errorf("%v %v: recognised as %+v, want %s", dtype, n, r, op)
		}
	}
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(3))
	y := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("y"), gorgonia.WithShape(3))
	n, _ := f(x, y)
	args := []gorgonia.Value{tensor.New(tensor.WithBacking(append([]float64(nil), xs...))), tensor.New(tensor.WithBacking(append([]float64(nil), ys...)))}
	v := require.Value(n.Op().Do(args[:op.Arity()]...))(t)
	e := &describe.Expr{Op: op, X: &describe.Expr{Op: describe.Load}, Y: &describe.Expr{Op: describe.Load, Arg: 1}}
	for i, want := range v.Data().([]float64) {
		got := e.Eval(func(k int) float64 { return [][]float64{xs, ys}[k][i] })
		if math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("%v at %v, %v: %v, want %v", e, xs[i], ys[i], got, want)
		}
	}
}

// The sign bit of a rectified value tells whether the argument was positive.
func TestReLUKeepsItsMask(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, test := range []struct{ z, a, derivative float64 }{{2, 2, 1}, {0, 0, 1}, {negativeZero, 0, 1}, {-1e-300, 0, 0}, {-3, 0, 0},
		{math.Inf(-1), 0, 0}, {math.Inf(1), math.Inf(1), 1}} {
		a := describe.Unary(describe.ReLU, test.z)
		if a != test.a || describe.Unary(describe.ReLUGrad, a) != test.derivative {
			t.Errorf("relu(%v) = %v with derivative %v, want %v with %v", test.z, a, describe.Unary(describe.ReLUGrad, a), test.a, test.derivative)
		}
		if narrow := float64(float32(a)); describe.Unary(describe.ReLUGrad, narrow) != test.derivative {
			t.Errorf("relu(%v) loses its mask in float32", test.z)
		}
	}
	if !math.IsNaN(describe.Unary(describe.ReLU, math.NaN())) {
		t.Error("relu hides NaN")
	}
}

func TestExprString(t *testing.T) {
	e := &describe.Expr{Op: describe.Sigmoid, X: &describe.Expr{Op: describe.Add, X: &describe.Expr{Op: describe.Load}, Y: &describe.Expr{Op: describe.Value, Const: 0.5}}}
	if got, want := e.String(), "sigmoid(($0 + 0.5))"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e.FLOPs() != 2 {
		t.Errorf("%d operations, want 2", e.FLOPs())
	}
}
