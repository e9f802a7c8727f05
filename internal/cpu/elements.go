package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// elements is an element-wise pass over a block while it is in cache: one kernel for the common forms, else the expression's tree, row
// by row, with a row of intermediate results for each operation.
type elements[T plan.Float] struct {
	m    *plan.Map
	pass func(w *worker[T], lo, hi int)
}

func newElements[T plan.Float](m *plan.Map) *elements[T] {
	s := &elements[T]{m: m}
	bias := len(m.Args) == 2 && s.inPlace(0) && s.repeatedRow(1)
	slope := len(m.Args) == 2 && s.inPlace(1) && s.sameShape(0)
	switch form := m.Expr.String(); {
	case form == "sigmoid(($0 + $1))" && bias:
		s.pass = s.biased((*kernel.Kernels[T]).BiasSigmoid)
	case form == "tanh(($0 + $1))" && bias:
		s.pass = s.biased((*kernel.Kernels[T]).BiasTanh)
	case form == "relu(($0 + $1))" && bias:
		s.pass = s.biased((*kernel.Kernels[T]).BiasReLU)
	case form == "(sigmoid'($0) * $1)" && slope:
		s.pass = s.slopes((*kernel.Kernels[T]).SigmoidGrad)
	case form == "(tanh'($0) * $1)" && slope:
		s.pass = s.slopes((*kernel.Kernels[T]).TanhGrad)
	case form == "(relu'($0) * $1)" && slope:
		s.pass = s.slopes((*kernel.Kernels[T]).ReLUGrad)
	default:
		s.pass = s.rows
	}
	return s
}

func (s *elements[T]) inPlace(k int) bool { return s.m.Args[k] == s.m.Out }
func (s *elements[T]) sameShape(k int) bool {
	a := s.m.Args[k]
	return a.Rows == s.m.Out.Rows && a.Cols == s.m.Out.Cols
}
func (s *elements[T]) repeatedRow(k int) bool {
	return s.m.Args[k].Rows == 1 && s.m.Args[k].Cols == s.m.Out.Cols
}

func (s *elements[T]) block(_ int, w *worker[T], lo, hi int) error {
	s.pass(w, lo, hi)
	return nil
}

// biased is the pass z = f(z + b) with a row b.
func (s *elements[T]) biased(f func(k *kernel.Kernels[T], z []T, ldz, rows int, bias []T)) func(w *worker[T], lo, hi int) {
	return func(w *worker[T], lo, hi int) {
		f(w.k, w.From(s.m.Out, lo), s.m.Out.Stride, hi-lo, w.Row(s.m.Args[1], 0))
	}
}

// slopes is the pass d = f'(a) d.
func (s *elements[T]) slopes(f func(k *kernel.Kernels[T], d, a []T)) func(w *worker[T], lo, hi int) {
	a, d := s.m.Args[0], s.m.Out
	if a.Stride == a.Cols && d.Stride == d.Cols { // a block is one vector
		return func(w *worker[T], lo, hi int) {
			n := (hi - lo) * d.Cols
			f(w.k, w.From(d, lo)[:n], w.From(a, lo)[:n])
		}
	}
	return func(w *worker[T], lo, hi int) {
		for i := lo; i < hi; i++ {
			f(w.k, w.Row(d, i), w.Row(a, i))
		}
	}
}

// rows evaluates the expression row by row.
func (s *elements[T]) rows(w *worker[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		w.evaluate(s.m, s.m.Expr, i, w.Row(s.m.Out, i), 0)
	}
}

// evaluate writes row i of an expression to out, which may be one of its operands' rows: only the tree's last operation writes it.
func (w *worker[T]) evaluate(m *plan.Map, e *plan.Expr, i int, out []T, depth int) {
	switch {
	case e.Op == plan.Load:
		w.load(m, e.Arg, i, out)
	case e.Op == plan.Value:
		for j := range out {
			out[j] = T(e.Const)
		}
	case e.Y != nil:
		binary(e.Op, out, w.operand(m, e.X, i, len(out), 2*depth), w.operand(m, e.Y, i, len(out), 2*depth+1))
	default:
		w.unary(e.Op, out, w.operand(m, e.X, i, len(out), 2*depth))
	}
}

// operand is row i of an operand of an expression: a matrix's own row, or else in the worker's k-th row for intermediate results.
func (w *worker[T]) operand(m *plan.Map, e *plan.Expr, i, n, k int) []T {
	if e.Op == plan.Load {
		if a := m.Args[e.Arg]; a.Cols == n {
			return w.Row(a, i*min(1, a.Rows-1)) // one row is repeated
		}
	}
	row := w.row(k, n)
	w.evaluate(m, e, i, row, k/2+1)
	return row
}

// load copies row i of an operand, repeating what is narrower.
func (w *worker[T]) load(m *plan.Map, arg, i int, out []T) {
	a := m.Args[arg]
	if a.Rows != m.Out.Rows {
		i = 0
	}
	row := w.Row(a, i)
	if len(row) == len(out) {
		copy(out, row)
		return
	}
	for j := range out {
		out[j] = row[0]
	}
}

// row is the worker's k-th row for intermediate results.
func (w *worker[T]) row(k, n int) []T {
	for len(w.temporary) <= k {
		w.temporary = append(w.temporary, nil)
	}
	if len(w.temporary[k]) < n {
		w.temporary[k] = make([]T, n)
	}
	return w.temporary[k][:n]
}

func (w *worker[T]) unary(op plan.Op, out, x []T) {
	switch op {
	case plan.Exp:
		w.k.Exp(out, x)
	case plan.Sigmoid:
		w.k.Sigmoid(out, x)
	case plan.Tanh:
		w.k.Tanh(out, x)
	case plan.Log1p:
		w.k.Log1p(out, x)
	case plan.SigmoidGrad:
		for j, v := range x {
			out[j] = v * (1 - v)
		}
	case plan.TanhGrad:
		for j, v := range x {
			out[j] = 1 - v*v
		}
	default:
		for j, v := range x {
			out[j] = T(plan.Unary(op, float64(v)))
		}
	}
}

func binary[T plan.Float](op plan.Op, out, x, y []T) {
	y = y[:len(x)]
	switch op {
	case plan.Add:
		for j, v := range x {
			out[j] = v + y[j]
		}
	case plan.Sub:
		for j, v := range x {
			out[j] = v - y[j]
		}
	case plan.Mul:
		for j, v := range x {
			out[j] = v * y[j]
		}
	default:
		for j, v := range x {
			out[j] = T(plan.Binary(op, float64(v), float64(y[j])))
		}
	}
}
