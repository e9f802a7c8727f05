package cpu

import (
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// elements evaluates an element-wise expression over a block while the block is in cache. The step
// computes row by row, with a row of intermediate results for each operation. A block without gaps
// counts as a single row.
type elements[T plan.Float] struct {
	m    *plan.Map
	flat bool
}

func newElements[T plan.Float](m *plan.Map) *elements[T] {
	return &elements[T]{m, flat(m)}
}

// flat reports whether a block is a single vector: no matrix has gaps, and only single numbers are
// repeated.
func flat(m *plan.Map) bool {
	for _, a := range m.Args {
		if same := a.Rows == m.Out.Rows && a.Cols == m.Out.Cols && a.Stride == a.Cols; !same && a.Len() != 1 {
			return false
		}
	}
	return m.Out.Stride == m.Out.Cols
}

func (s *elements[T]) block(_ int, w *worker[T], lo, hi int) error {
	step := 1
	if s.flat {
		step = hi - lo
	}
	for i := lo; i < hi; i += step {
		r := rowsOf[T]{w, s.m, i, step}
		r.evaluate(s.m.Expr, r.part(s.m.Out), 0)
	}
	return nil
}

// rowsOf selects rows of an expression's matrices: a single row, or several rows that form a
// vector.
type rowsOf[T plan.Float] struct {
	*worker[T]
	m       *plan.Map
	i, rows int
}

// part returns the selected rows of a matrix. For a matrix with a single row, part returns that
// row.
func (r rowsOf[T]) part(v plan.View) []T {
	if v.Rows != r.m.Out.Rows {
		return r.Row(v, 0)
	}
	if r.rows == 1 {
		return r.Row(v, r.i)
	}
	return r.From(v, r.i)[:r.rows*v.Cols]
}

// evaluate writes the value of an expression to out. out may be an operand, because only the last
// operation of the tree writes out.
func (r rowsOf[T]) evaluate(e *describe.Expr, out []T, depth int) {
	switch {
	case e.Op == describe.Load:
		if x := r.part(r.m.Args[e.Arg]); len(x) == len(out) {
			copy(out, x)
		} else {
			fill(out, x[0])
		}
	case e.Op == describe.Value:
		fill(out, T(e.Const))
	case e.Y != nil:
		binary(e.Op, out, r.operand(e.X, len(out), 2*depth), r.operand(e.Y, len(out), 2*depth+1))
	default:
		r.unary(e.Op, out, r.operand(e.X, len(out), 2*depth))
	}
}

// operand returns an operand of an expression: a part of a matrix, or else the worker's k-th row
// of intermediate results.
func (r rowsOf[T]) operand(e *describe.Expr, n, k int) []T {
	if e.Op == describe.Load {
		if x := r.part(r.m.Args[e.Arg]); len(x) == n {
			return x
		}
	}
	row := r.row(k, n)
	r.evaluate(e, row, k/2+1)
	return row
}

// fill sets every element to x by repeated doubling, because copy is vectorised.
func fill[T plan.Float](out []T, x T) {
	if len(out) == 0 {
		return
	}
	out[0] = x
	for n := 1; n < len(out); n *= 2 {
		copy(out[n:], out[:n])
	}
}

// row returns the worker's k-th row of intermediate results.
func (w *worker[T]) row(k, n int) []T {
	for len(w.temporary) <= k {
		w.temporary = append(w.temporary, nil)
	}
	if len(w.temporary[k]) < n {
		w.temporary[k] = make([]T, n)
	}
	return w.temporary[k][:n]
}

// zeros returns a row of zeros.
func (w *worker[T]) zeros(n int) []T {
	if len(w.zero) < n {
		w.zero = make([]T, n)
	}
	return w.zero[:n]
}

func (w *worker[T]) unary(op describe.Op, out, x []T) {
	switch op {
	case describe.ReLU:
		copy(out, x)
		w.k.BiasReLU(out, len(out), 1, w.zeros(len(out)))
	case describe.Exp:
		w.k.Exp(out, x)
	case describe.Sigmoid:
		w.k.Sigmoid(out, x)
	case describe.Tanh:
		w.k.Tanh(out, x)
	case describe.Log1p:
		w.k.Log1p(out, x)
	case describe.SigmoidGrad:
		for j, v := range x {
			out[j] = v * (1 - v)
		}
	case describe.TanhGrad:
		for j, v := range x {
			out[j] = 1 - v*v
		}
	default:
		for j, v := range x {
			out[j] = T(describe.Unary(op, float64(v)))
		}
	}
}

func binary[T plan.Float](op describe.Op, out, x, y []T) {
	y = y[:len(x)]
	switch op {
	case describe.Add:
		for j, v := range x {
			out[j] = v + y[j]
		}
	case describe.Sub:
		for j, v := range x {
			out[j] = v - y[j]
		}
	case describe.Mul:
		for j, v := range x {
			out[j] = v * y[j]
		}
	default:
		for j, v := range x {
			out[j] = T(describe.Binary(op, float64(v), float64(y[j])))
		}
	}
}
