package plan

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// A map with a common form becomes a typed step if it runs in place. Other maps stay maps. The
// typed step computes the same values as the map.
func TestTypedMaps(t *testing.T) {
	load := func(k int) *describe.Expr { return &describe.Expr{Op: describe.Load, Arg: k} }
	sum := &describe.Expr{Op: describe.Add, X: load(0), Y: load(1)}
	matrix := View{Buffer: 0, Stride: 3, Rows: 4, Cols: 3}
	row := View{Buffer: 1, Stride: 3, Rows: 1, Cols: 3}
	other := View{Buffer: 2, Stride: 3, Rows: 4, Cols: 3}
	for _, c := range []struct {
		e    *describe.Expr
		args []View
		want string
	}{
		{sum, []View{matrix, row}, "b0 = b0 + b1"},
		{&describe.Expr{Op: describe.Sigmoid, X: sum}, []View{matrix, row}, "b0 = sigmoid(b0 + b1)"},
		{&describe.Expr{Op: describe.Tanh, X: sum}, []View{matrix, row}, "b0 = tanh(b0 + b1)"},
		{&describe.Expr{Op: describe.ReLU, X: sum}, []View{matrix, row}, "b0 = relu(b0 + b1)"},
		{&describe.Expr{Op: describe.Mul, X: &describe.Expr{Op: describe.SigmoidGrad, X: load(0)}, Y: load(1)}, []View{other, matrix}, "b0 = sigmoid'(b2) * b0"},
		{&describe.Expr{Op: describe.Mul, X: &describe.Expr{Op: describe.TanhGrad, X: load(0)}, Y: load(1)}, []View{other, matrix}, "b0 = tanh'(b2) * b0"},
		{&describe.Expr{Op: describe.Mul, X: &describe.Expr{Op: describe.ReLUGrad, X: load(0)}, Y: load(1)}, []View{other, matrix}, "b0 = relu'(b2) * b0"},
		// Not in place, an operand that is not a row, another function, operands in another order.
		{sum, []View{other, row}, "b0 = ($0 + $1) with $0 = b2 $1 = b1"},
		{sum, []View{matrix, other}, "b0 = ($0 + $1) with $0 = b0 $1 = b2"},
		{&describe.Expr{Op: describe.Exp, X: sum}, []View{matrix, row}, "b0 = exp(($0 + $1)) with $0 = b0 $1 = b1"},
		{&describe.Expr{Op: describe.Mul, X: load(0), Y: load(1)}, []View{other, matrix}, "b0 = ($0 * $1) with $0 = b2 $1 = b0"},
		{&describe.Expr{Op: describe.Mul, X: &describe.Expr{Op: describe.SigmoidGrad, X: load(0)}, Y: load(1)}, []View{matrix, other},
			"b0 = (sigmoid'($0) * $1) with $0 = b0 $1 = b2"},
	} {
		m := &Map{Expr: c.e, Args: c.args, Out: matrix}
		s := typedMap(m)
		if s.String() != c.want {
			t.Errorf("%v is %q, want %q", m, s, c.want)
		}
		if s.FLOPs() != m.FLOPs() || len(s.Reads()) != len(m.Reads()) || s.Writes()[0] != m.Writes()[0] {
			t.Errorf("%v: FLOPs, reads or writes differ from the map's", s)
		}
		for i, o := range s.Reads() {
			if o != m.Reads()[i] {
				t.Errorf("%v reads %+v, the map %+v", s, o, m.Reads()[i])
			}
		}
		want, got := someMemory(), someMemory()
		require.NoError(t, Run(Step(m), want, 0, 4, nil))
		require.NoError(t, Run(s, got, 0, 4, nil))
		for i, x := range want.Data[0] {
			if math.Float64bits(x) != math.Float64bits(got.Data[0][i]) {
				t.Errorf("%v: element %d is %v, the map's %v", s, i, got.Data[0][i], x)
			}
		}
	}
}

// someMemory returns memory with a 4 x 3 matrix, a row and another matrix.
func someMemory() *Memory[float64] {
	m := &Memory[float64]{Data: [][]float64{make([]float64, 12), {0.5, -1, 0}, make([]float64, 12)}, First: make([]int, 3)}
	for i := range 12 {
		m.Data[0][i], m.Data[2][i] = math.Sin(float64(i)), math.Cos(float64(5*i))
	}
	return m
}
