package cpu

import (
	"math"

	"ppal/internal/cpu/kernel"
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
	case e.Op == describe.ReLU && e.X.Op == describe.Add && r.repeats(e.X.Y):
		r.evaluate(e.X.X, out, depth)
		r.k.BiasReLU(out, len(out), 1, r.operand(e.X.Y, len(out), 2*depth+1))
	case e.Y != nil:
		r.binary(e.Op, out, r.operand(e.X, len(out), 2*depth), r.operand(e.Y, len(out), 2*depth+1))
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

// repeats reports whether an expression is a row that all rows of the result read, which lies
// outside of the memory of the result.
func (r rowsOf[T]) repeats(e *describe.Expr) bool {
	return e.Op == describe.Load && r.m.Args[e.Arg].Rows != r.m.Out.Rows
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
	case describe.Neg:
		for j, v := range x {
			out[j] = -v
		}
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
	case describe.Softplus: // max(x, 0) + log(1 + e^-|x|)
		w.softplus(out, x)
	case describe.ReLUGrad:
		for j, v := range x {
			if out[j] = 1; math.Signbit(float64(v)) {
				out[j] = 0
			}
		}
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

// softplus computes out = max(x, 0) + log(1 + e^-|x|). out may be x.
func (w *worker[T]) softplus(out, x []T) {
	if len(w.positive) < len(x) {
		w.positive = make([]T, len(x))
	}
	positive := w.positive[:len(x)]
	for j, v := range x {
		positive[j], out[j] = max(v, 0), min(v, -v)
	}
	w.k.Exp(out, out)
	w.k.Log1p(out, out)
	w.k.Axpy(out, 1, positive)
}

func (w *worker[T]) binary(op describe.Op, out, x, y []T) {
	switch op {
	case describe.Add:
		w.k.Combine(out, 1, x, 1, y)
	case describe.Sub:
		w.k.Combine(out, 1, x, -1, y)
	case describe.Mul:
		w.k.Product(out, x, y)
	default:
		y = y[:len(x)]
		for j, v := range x {
			out[j] = T(describe.Binary(op, float64(v), float64(y[j])))
		}
	}
}

// biasActivation computes A = f(A + 1 b).
type biasActivation[T plan.Float] struct {
	s    *plan.BiasActivation
	pass func(k *kernel.Kernels[T], a []T, stride, rows int, bias []T)
}

func newBiasActivation[T plan.Float](s *plan.BiasActivation) *biasActivation[T] {
	b := &biasActivation[T]{s: s}
	switch s.Activation {
	case plan.SigmoidActivation:
		b.pass = (*kernel.Kernels[T]).BiasSigmoid
	case plan.TanhActivation:
		b.pass = (*kernel.Kernels[T]).BiasTanh
	case plan.ReLUActivation:
		b.pass = (*kernel.Kernels[T]).BiasReLU
	default:
		b.pass = addBias[T]
	}
	return b
}

func (b *biasActivation[T]) block(_ int, w *worker[T], lo, hi int) error {
	b.pass(w.k, w.From(b.s.A, lo), b.s.A.Stride, hi-lo, w.Row(b.s.Bias, 0))
	return nil
}

// addBias adds a row to every row of a matrix. It treats a matrix of one column without gaps as a
// single vector.
func addBias[T plan.Float](k *kernel.Kernels[T], a []T, stride, rows int, bias []T) {
	if len(bias) == 1 && stride == 1 {
		k.Shift(a[:rows], bias[0])
		return
	}
	for i := range rows {
		row := a[i*stride:][:len(bias)]
		for j, b := range bias {
			row[j] += b
		}
	}
}

// activationGrad computes D = f'(A) D. It treats matrices without gaps as a single row.
type activationGrad[T plan.Float] struct {
	s    *plan.ActivationGrad
	flat bool
	pass func(k *kernel.Kernels[T], d, a []T)
}

func newActivationGrad[T plan.Float](s *plan.ActivationGrad) *activationGrad[T] {
	g := &activationGrad[T]{s: s, flat: s.A.Stride == s.A.Cols && s.D.Stride == s.D.Cols}
	switch s.Activation {
	case plan.SigmoidActivation:
		g.pass = (*kernel.Kernels[T]).SigmoidGrad
	case plan.TanhActivation:
		g.pass = (*kernel.Kernels[T]).TanhGrad
	case plan.ReLUActivation:
		g.pass = (*kernel.Kernels[T]).ReLUGrad
	}
	return g
}

func (g *activationGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	if g.flat {
		n := (hi - lo) * g.s.D.Cols
		g.pass(w.k, w.From(g.s.D, lo)[:n], w.From(g.s.A, lo)[:n])
		return nil
	}
	for i := lo; i < hi; i++ {
		g.pass(w.k, w.Row(g.s.D, i), w.Row(g.s.A, i))
	}
	return nil
}

// columnSums computes Out[0,j] = sum_i In[i,j], or the sum of all elements, in float64. The order
// is block by block in the order of the rows, then share by share, then column by column.
type columnSums[T plan.Float] struct {
	*slotSums[float64]
	s   *plan.Sums
	one columnSum[T]

	fused bool // a product with 8-bit data adds up the columns
}

func newColumnSums[T plan.Float](s *plan.Sums) *columnSums[T] {
	return &columnSums[T]{slotSums: newFloat64Sums(s.In.Cols), s: s, one: columnSum[T]{s.In}}
}

// shareRows implements summing. A row costs as much as an addition of the sums.
func (c *columnSums[T]) shareRows() int { return sumsShare }

func (c *columnSums[T]) block(_ int, w *worker[T], lo, hi int) error {
	switch {
	case c.fused:
	case c.s.In.Cols == 1:
		c.slots[w.slot][0] += c.one.sum(w, lo, hi)
	default:
		w.k.AddColumns(c.slots[w.slot], w.blockOf(c.s.In, lo, hi))
	}
	return nil
}

func (c *columnSums[T]) finish(e *executor[T], roots []int) {
	out, sums := e.Row(c.s.Out, 0), c.total(roots)
	if c.s.Over == plan.OverAll {
		var total float64
		for _, x := range sums {
			total += x
		}
		out[0] = T(total)
		return
	}
	for j := range out {
		out[j] = T(sums[j])
	}
}

// columnSum adds up rows of a single column in float64. columnSum uses kernel.Sum if the column
// has no gaps.
type columnSum[T plan.Float] struct{ in plan.View }

// of returns the sum of rows lo to hi-1.
func (c columnSum[T]) sum(w *worker[T], lo, hi int) (sum float64) {
	column := w.From(c.in, lo)
	if c.in.Stride == 1 {
		return w.k.Sum(column[:hi-lo])
	}
	for i := range hi - lo {
		sum += float64(column[i*c.in.Stride])
	}
	return sum
}

// normalize gives the groups of a row the mean 0 and the variance 1.
type normalize[T plan.Float] struct{ s *plan.Normalize }

func (n *normalize[T]) block(_ int, w *worker[T], lo, hi int) error {
	size := n.s.In.Cols / n.s.Groups
	for i := lo; i < hi; i++ {
		in, out := w.Row(n.s.In, i), w.Row(n.s.Out, i)
		for at := 0; at < len(in); at += size {
			y := out[at : at+size]
			w.k.Scale(y, T(centered(w.k, y, in[at:at+size], n.s.Epsilon)), y)
		}
	}
	return nil
}

// centered writes x - mean to c, and returns 1/sqrt(variance + epsilon).
func centered[T plan.Float](k *kernel.Kernels[T], c, x []T, epsilon float64) (inverse float64) {
	n := float64(len(x))
	copy(c, x)
	k.Shift(c, T(-k.Sum(x)/n))
	return 1 / math.Sqrt(k.Dot(c, c)/n+epsilon)
}

// normalizeGrad computes the derivatives of normalize.
type normalizeGrad[T plan.Float] struct{ s *plan.NormalizeGrad }

func (g *normalizeGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	size := g.s.In.Cols / g.s.Groups
	n := float64(size)
	for i := lo; i < hi; i++ {
		in, all, to := w.Row(g.s.In, i), w.Row(g.s.D, i), w.Row(g.s.Out, i)
		for at := 0; at < len(in); at += size {
			d, out := all[at:at+size], to[at:at+size]
			inverse := centered(w.k, out, in[at:at+size], g.s.Epsilon)
			slope := w.k.Dot(d, out) / n * inverse * inverse * inverse
			w.k.Combine(out, T(inverse), d, T(-slope), out)
			w.k.Shift(out, T(-w.k.Sum(d)/n*inverse))
		}
	}
	return nil
}
