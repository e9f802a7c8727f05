//go:build gpu

package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

func load(k int) *describe.Expr { return &describe.Expr{Op: describe.Load, Arg: k} }

func unary(op describe.Op, x *describe.Expr) *describe.Expr { return &describe.Expr{Op: op, X: x} }

func binary2(op describe.Op, x, y *describe.Expr) *describe.Expr {
	return &describe.Expr{Op: op, X: x, Y: y}
}

func constant(x float64) *describe.Expr { return &describe.Expr{Op: describe.Value, Const: x} }

// special writes the extreme numbers of the type into a matrix that has room.
func special[T plan.Float](r *rig[T], v plan.View) {
	list := []float64{0, math.Copysign(0, -1), 800, -800, 90, -90, 20, -20, 1e-30, math.Inf(1), math.Inf(-1), math.NaN()}
	for k, x := range list {
		if k < v.Rows*v.Cols/2 {
			r.set(v, k/v.Cols, k%v.Cols, T(x))
		}
	}
}

// mapped runs an expression on the host and on the device. A letter gives the shape of each
// operand: 'm' a matrix, 'r' a row, 'c' a column, '1' a number, 'o' the result itself.
func mapped[T plan.Float](t *testing.T, e *describe.Expr, operands string, interpreted bool) {
	for i, sh := range shapes {
		r := newRig[T](t, uint64(i))
		var args []plan.View
		out := plan.View{}
		for _, kind := range operands {
			var v plan.View
			switch kind {
			case 'm', 'o':
				v = r.random(sh.rows, sh.cols, sh.gap)
				special(r, v)
			case 'r':
				v = r.random(1, sh.cols, sh.gap)
			case 'c':
				v = r.random(sh.rows, 1, sh.gap)
			case '1':
				v = r.random(1, 1, 0)
			}
			if kind == 'o' {
				out = r.inPlace(v)
			}
			args = append(args, v)
		}
		if out.Rows == 0 {
			out = r.result(sh.rows, sh.cols, sh.gap)
		}
		var list []kernels.Operand
		for _, a := range args {
			list = append(list, r.on(a))
		}
		m, err := kernels.NewMap(e, list, r.on(out))
		r.do(err)
		if got := m.Program() != nil; got != interpreted {
			t.Fatalf("%v: interpreted is %v", e, got)
		}
		r.do(r.s.Map(r.q, m, r.put(m.Program())))
		r.step(&plan.Map{Expr: e, Args: args, Out: out})
		r.check(1, 8) // the sums round, and the host's log2 and pow are not correctly rounded
		if t.Failed() {
			t.Fatalf("%v on %+v", e, sh)
		}
	}
}

// forms lists every expression that has its own kernel, with its operands.
var forms = []struct {
	e        *describe.Expr
	operands string
}{
	{binary2(describe.Add, load(0), load(1)), "o1"},
	{binary2(describe.Add, load(0), load(1)), "or"},
	{binary2(describe.Sub, load(0), load(1)), "mm"},
	{binary2(describe.Sub, load(0), load(1)), "co"},
	{binary2(describe.Sub, load(1), load(0)), "r1"},
	{binary2(describe.Mul, load(0), load(1)), "cr"},
	{unary(describe.Neg, load(0)), "m"},
	{unary(describe.Identity, load(0)), "r"},
	{load(0), "1"},
}

func TestMapForms(t *testing.T) {
	for _, f := range forms {
		t.Run(fmt.Sprint(f.e, " ", f.operands), func(t *testing.T) {
			both(t, func(t *testing.T) { mapped[float32](t, f.e, f.operands, false) },
				func(t *testing.T) { mapped[float64](t, f.e, f.operands, false) })
		})
	}
}

// The typed steps of a layer agree with the plan's loops, on special values and with gaps between
// rows.
func TestLayerSteps(t *testing.T) {
	both(t, layerSteps[float32], layerSteps[float64])
}

func layerSteps[T plan.Float](t *testing.T) {
	for i, sh := range shapes {
		for f := plan.LinearActivation; f <= plan.ReLUActivation; f++ {
			r := newRig[T](t, uint64(i))
			a, bias := r.random(sh.rows, sh.cols, sh.gap), r.random(1, sh.cols, sh.gap)
			special(r, a)
			a = r.inPlace(a)
			if f == plan.LinearActivation {
				r.do(r.s.AddRow(r.q, r.on(a), r.on(bias)))
			} else {
				r.do(r.s.BiasActivation(r.q, kernels.Activation(f), r.on(a), r.on(bias)))
			}
			r.step(&plan.BiasActivation{Activation: f, A: a, Bias: bias})
			r.check(1, 8)
			if f == plan.LinearActivation {
				continue
			}
			values, d := r.random(sh.rows, sh.cols, sh.gap), r.random(sh.rows, sh.cols, sh.gap)
			special(r, values)
			special(r, d)
			d = r.inPlace(d)
			r.do(r.s.ActivationGrad(r.q, kernels.Activation(f), r.on(values), r.on(d)))
			r.step(&plan.ActivationGrad{Activation: f, A: values, D: d})
			r.check(1, 8)
		}
	}
}

func TestMapInterprets(t *testing.T) {
	var list []*describe.Expr
	for op := describe.Abs; op < describe.Add; op++ {
		if op != describe.Neg && op != describe.Identity {
			list = append(list, unary(op, load(0)))
		}
	}
	for op := describe.Div; op < describe.Load; op++ {
		list = append(list, binary2(op, load(0), load(1)))
	}
	list = append(list,
		// The evaluation pushes the deeper operand first: test both orders of an asymmetric
		// operation.
		binary2(describe.Sub, load(0), binary2(describe.Div, load(1), binary2(describe.Sub, load(2), constant(0.25)))),
		binary2(describe.Pow, binary2(describe.Add, load(0), load(1)), constant(2)),
		unary(describe.Sigmoid, binary2(describe.Add, load(0), load(1)))) // not in place
	for _, e := range list {
		t.Run(e.String(), func(t *testing.T) {
			both(t, func(t *testing.T) { mapped[float32](t, e, "mrc"[:min(3, operands(e))], true) },
				func(t *testing.T) { mapped[float64](t, e, "mrc"[:min(3, operands(e))], true) })
		})
	}
}

// operands returns one more than the largest operand index.
func operands(e *describe.Expr) int {
	switch {
	case e == nil:
		return 0
	case e.Op == describe.Load:
		return e.Arg + 1
	}
	return max(operands(e.X), operands(e.Y))
}

// The expression is a balanced tree with 2^10 operands.
func TestMapDeep(t *testing.T) {
	e := load(0)
	for range 10 {
		e = binary2(describe.Add, e, binary2(describe.Mul, e, constant(0.5)))
	}
	both(t, func(t *testing.T) { deep[float32](t, e) }, func(t *testing.T) { deep[float64](t, e) })
}

func deep[T plan.Float](t *testing.T, e *describe.Expr) {
	r := newRig[T](t, 1)
	x, out := r.random(2, 3, 1), r.result(2, 3, 0)
	m, err := kernels.NewMap(e, []kernels.Operand{r.on(x)}, r.on(out))
	r.do(err)
	r.do(r.s.Map(r.q, m, r.put(m.Program())))
	r.step(&plan.Map{Expr: e, Args: []plan.View{x}, Out: out})
	r.check(0, 4)
}

func TestMapRefusesShapes(t *testing.T) {
	_, err := kernels.NewMap(load(0), []kernels.Operand{{At: 8, Rows: 2, Cols: 3, Stride: 3}}, kernels.Operand{Rows: 4, Cols: 3})
	if err == nil {
		t.Fatal("no error")
	}
}

func TestCopy(t *testing.T) {
	both(t, copies[float32], copies[float64])
}

func copies[T plan.Float](t *testing.T) {
	for i, sh := range shapes {
		r := newRig[T](t, uint64(i))
		from, to := r.random(sh.rows, sh.cols, sh.gap), r.result(sh.rows, sh.cols, 5)
		r.do(r.s.Copy(r.q, r.on(to), r.on(from)))
		r.step(&plan.Copy{From: from, To: to})
		r.check(0, 0)
	}
}

func TestRankOne(t *testing.T) {
	both(t, rankOne[float32], rankOne[float64])
}

// The centring of a gradient: G -= c^T s.
func rankOne[T plan.Float](t *testing.T) {
	for i, sh := range shapes {
		r := newRig[T](t, uint64(i))
		c, s, g := r.random(1, sh.rows, 0), r.random(1, sh.cols, sh.gap), r.inPlace(r.random(sh.rows, sh.cols, sh.gap))
		r.do(r.s.RankOne(r.q, -1, r.on(c), r.on(s), r.on(g)))
		for i := range r.memory.Row(c, 0) {
			r.memory.Row(c, 0)[i] *= -1
		}
		r.step(&plan.Product{A: c, B: s, Out: g, TransA: true, Add: true})
		for i := range r.memory.Row(c, 0) {
			r.memory.Row(c, 0)[i] *= -1
		}
		r.check(8, 1)
	}
}

func TestActivationGradSums(t *testing.T) {
	both(t, gradSums[float32], gradSums[float64])
}

func gradSums[T plan.Float](t *testing.T) {
	ops := []describe.Op{describe.Identity, describe.SigmoidGrad, describe.TanhGrad, describe.ReLUGrad}
	for i, sh := range append(shapes, struct{ rows, cols, gap int }{3000, 3, 1}) {
		for f, op := range ops {
			r := newRig[T](t, uint64(i))
			a, d := r.random(sh.rows, sh.cols, sh.gap), r.inPlace(r.random(sh.rows, sh.cols, 0))
			sums := r.result(1, sh.cols, 0)
			add := i%2 == 1
			if add {
				sums = r.inPlace(r.random(1, sh.cols, 0))
			}
			before := r.memory.Contents(sums)
			r.do(r.s.Slopes(r.q, kernels.Slopes{Activation: kernels.Activation(f), A: r.on(a), D: r.on(d), Sums: r.on(sums), AddSums: add, Keep: true}))
			r.step(&plan.Map{Expr: binary2(describe.Mul, unary(op, load(0)), load(1)), Args: []plan.View{a, d}, Out: d})
			if op == describe.Identity { // the activation is z itself, and f' = 1
				copy(r.memory.Data[d.Buffer], r.contents(d.Buffer))
			}
			r.step(&plan.Sums{Over: plan.OverRows, In: d, Out: sums})
			for j := range before {
				if add {
					r.memory.Row(sums, 0)[j] += before[j]
				}
			}
			r.check(float64(sh.rows), 2)
		}
	}
}

// The tails of the activations are accurate and do not overflow.
func TestActivationTails(t *testing.T) {
	both(t, tails[float32], tails[float64])
}

func tails[T plan.Float](t *testing.T) {
	for f, op := range []describe.Op{describe.Identity, describe.Sigmoid, describe.Tanh, describe.ReLU} {
		r := newRig[T](t, 1)
		z, b := r.inPlace(r.random(40, 33, 0)), r.random(1, 33, 0)
		for i := range z.Rows {
			for j := range z.Cols {
				r.set(z, i, j, T(math.Ldexp(float64(j-16), i-20)))
				r.set(b, 0, j, 0)
			}
		}
		r.do(r.s.BiasActivation(r.q, kernels.Activation(f), r.on(z), r.on(b)))
		r.step(&plan.Map{Expr: unary(op, load(0)), Args: []plan.View{z}, Out: z})
		r.check(smallest[T](), 4)
	}
}

// smallest is the smallest normal number of the type.
func smallest[T plan.Float]() float64 {
	if dtypeOf[T]() == kernels.Float32 {
		return 0x1p-126
	}
	return 0x1p-1022
}
