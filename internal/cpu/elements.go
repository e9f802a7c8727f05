package cpu

import (
	"ppal/internal/plan"
)

// elements is an element-wise pass, row by row of a block while it is in cache: one kernel for the common forms, else the expression's
// tree with a row of intermediate results for each operation.
type elements[T plan.Float] struct {
	m    *plan.Map
	pass func(w *worker[T], i int, out []T)
}

func newElements[T plan.Float](m *plan.Map) *elements[T] {
	s := &elements[T]{m: m}
	switch form := m.Expr.String(); {
	case form == "sigmoid(($0 + $1))" && s.inPlace(0) && s.repeatedRow(1):
		s.pass = func(w *worker[T], _ int, out []T) { w.k.BiasSigmoid(out, len(out), 1, w.Row(m.Args[1], 0)) }
	case form == "(sigmoid'($0) * $1)" && s.inPlace(1) && s.sameShape(0):
		s.pass = func(w *worker[T], i int, out []T) { w.k.SigmoidGrad(out, w.Row(m.Args[0], i)) }
	case form == "($0 + $1)" && s.inPlace(0) && s.repeatedRow(1):
		s.pass = func(w *worker[T], _ int, out []T) { w.k.Axpy(out, 1, w.Row(m.Args[1], 0)) }
	default:
		s.pass = func(w *worker[T], i int, out []T) { w.evaluate(m, m.Expr, i, out, 0) }
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
	for i := lo; i < hi; i++ {
		s.pass(w, i, w.Row(s.m.Out, i))
	}
	return nil
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
		x, y := w.row(2*depth, len(out)), w.row(2*depth+1, len(out))
		w.evaluate(m, e.X, i, x, depth+1)
		w.evaluate(m, e.Y, i, y, depth+1)
		binary(e.Op, out, x, y)
	default:
		x := w.row(2*depth, len(out))
		w.evaluate(m, e.X, i, x, depth+1)
		w.unary(e.Op, out, x)
	}
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
