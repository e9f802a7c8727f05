package plan

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// small returns a plan with one region: b2 = b0 b1 over 4 rows, b3 = -b2, b4 = column sums of b3.
func small() *Plan {
	view := func(b, rows, cols int) View { return View{Buffer: b, Stride: cols, Rows: rows, Cols: cols} }
	neg := &describe.Expr{Op: describe.Neg, X: &describe.Expr{Op: describe.Load}}
	return &Plan{
		Dtype: tensor.Float64,
		Buffers: []Buffer{{Class: Leaf, Rows: 4, Cols: 3}, {Class: Parameter, Rows: 3, Cols: 2}, {Class: Local, Rows: 4, Cols: 2},
			{Class: Local, Rows: 4, Cols: 2, Slot: 1}, {Class: Kept, Rows: 1, Cols: 2}},
		Forward: []Region{{Rows: 4, Steps: []Step{
			&Product{A: view(0, 4, 3), B: view(1, 3, 2), Out: view(2, 4, 2)},
			&Map{Expr: neg, Args: []View{view(2, 4, 2)}, Out: view(3, 4, 2)},
			&Sums{Over: OverRows, In: view(3, 4, 2), Out: view(4, 1, 2)},
		}}},
		Objective: view(4, 1, 2),
		Slots:     []int{2}, Scratch: []int{2, 2},
	}
}

func TestCheckFindsMistakes(t *testing.T) {
	require.NoError(t, small().Check())
	for _, test := range []struct {
		want   string
		damage func(p *Plan)
	}{
		{"was not written", func(p *Plan) { p.Forward[0].Steps = p.Forward[0].Steps[1:] }},
		{"holds b3", func(p *Plan) { // a step reads b2 after b3 took the scratch memory of b2
			p.Buffers[3].Slot = 0
			p.Forward[0].Steps = append(p.Forward[0].Steps, &Sums{Over: OverRows, In: p.Forward[0].Steps[0].Writes()[0].View, Out: p.Objective})
		}},
		{"share slot 0", func(p *Plan) { p.Buffers[3] = Buffer{Class: Temporary, Rows: 4, Cols: 2}; p.Slots[0] = 8 }},
		{"in the same region", func(p *Plan) {
			p.Forward[0].Steps = append(p.Forward[0].Steps, &Map{Expr: &describe.Expr{Op: describe.Neg, X: &describe.Expr{Op: describe.Load}},
				Args: []View{p.Objective}, Out: p.Forward[0].Steps[1].Writes()[0].View})
		}},
		{"writes a parameter", func(p *Plan) { p.Forward[0].Steps[0].(*Product).Out.Buffer = 1 }},
		{"larger than", func(p *Plan) { p.Scratch[1] = 1 }},
		{"read and written", func(p *Plan) {
			b3 := p.Forward[0].Steps[1].Writes()[0].View
			p.Forward[0].Steps = append(p.Forward[0].Steps, &Copy{From: b3, To: b3})
		}},
		{"in a region of", func(p *Plan) { p.Forward[0].Rows = 0 }},
	} {
		p := small()
		test.damage(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
}

func TestSlotsAreReused(t *testing.T) {
	var p pool
	a := p.take(10, span{0, 0, 2})
	b := p.take(4, span{1, 1, 3})
	c := p.take(6, span{2, 3, 4}) // slot a is free, slot b is not
	d := p.take(3, span{3, 4, 4}) // slot b is free
	if a == b || c != a || d != b || len(p.sizes) != 2 {
		t.Errorf("slots %d %d %d %d of sizes %v", a, b, c, d, p.sizes)
	}
}

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

func TestDescriptionsThatDoNotFit(t *testing.T) {
	matrix, vector := &value{rows: 4, cols: 3}, &value{rows: 4, cols: 1}
	load := func(k int) *describe.Expr { return &describe.Expr{Op: describe.Load, Arg: k} }
	for _, c := range []struct {
		d    describe.Description
		in   []*value
		want string // "" if the description fits the op
	}{
		{describe.Elementwise{Expr: &describe.Expr{Op: describe.Mul, X: load(0), Y: load(1)}}, []*value{matrix, vector}, ""},
		{describe.Elementwise{}, []*value{matrix}, "nil"},
		{describe.Elementwise{Expr: &describe.Expr{Op: describe.Mul, X: load(0)}}, []*value{matrix}, "operand that is nil"},
		{describe.Elementwise{Expr: &describe.Expr{Op: describe.Exp, X: load(1)}}, []*value{matrix}, "input 1, and has 1 inputs"},
		{describe.Elementwise{Expr: &describe.Expr{Op: 200, X: load(0)}}, []*value{matrix}, "unknown operation 200"},
		{describe.MarginLoss{Margins: describe.Margins{Labels: make([]int32, 4)}}, []*value{matrix}, ""},
		{describe.MarginLoss{Margins: describe.Margins{Labels: make([]int32, 5)}}, []*value{matrix}, "of 5 rows, but its input has 4"},
		{describe.MarginLossGrad{Margins: describe.Margins{Labels: make([]int32, 4)}}, []*value{matrix}, "takes 2 inputs, but the op has 1"},
		{describe.SignedLoss{Signs: describe.Signs{Labels: make([]int8, 3)}}, []*value{vector}, "of 3 rows, but its input has 4"},
		{describe.GroupMeans{Groups: describe.Groups{Rows: 9}}, []*value{vector}, "of 9 rows, but its input has 4"},
		{describe.PairMeans{Pairs: describe.Pairs{Documents: 3}}, []*value{vector}, "of 3 rows, but its input has 4"},
		{describe.PairMeansGrad{Pairs: describe.Pairs{Documents: 4, Counts: make([]int64, 4)}}, []*value{vector, vector}, ""},
		{describe.PairMeansGrad{Pairs: describe.Pairs{Documents: 4, Counts: make([]int64, 9)}}, []*value{vector, vector}, "of 9 cells, but the second input has 4"},
		{describe.PairMeansGrad{Pairs: describe.Pairs{Documents: 4}}, []*value{vector}, "takes 2 inputs, but the op has 1"},
		{describe.Column{Index: 3}, []*value{matrix}, "column 3 of 3"},
		{describe.Column{Index: 2}, []*value{matrix}, ""},
		{describe.AddBias{}, []*value{matrix}, "takes 2 inputs, but the op has 1"},
	} {
		err := checkDescription(c.d, c.in)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T: error %v, want %q", c.d, err, c.want)
		}
	}
}
