package constraints

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// rowOp is an element-wise op of matrices [n, C], columns [n, 1] and vectors [n]. Columns and
// vectors are repeated along the rows. The result has the shape of the first input.
type rowOp struct {
	pureOp
	dims []int // of the inputs
	wrt  []bool
	expr *describe.Expr
	diff differentiate // nil: the op has no derivative
}

// differentiate returns the derivatives with respect to the inputs, nil for an input without a
// derivative.
type differentiate func(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error)

var (
	_ gorgonia.SDOp      = (*rowOp)(nil)
	_ describe.Described = (*rowOp)(nil)
	_ gorgonia.SDOp      = (*classColumn)(nil)
	_ describe.Described = (*classColumn)(nil)
)

// newRowOp makes the op. kind identifies the expression.
func newRowOp(kind string, dims []int, wrt []bool, expr func(in []*describe.Expr) *describe.Expr, diff differentiate) *rowOp {
	in := make([]*describe.Expr, len(dims))
	for k := range in {
		in[k] = describe.Input(k)
	}
	digest := digestLater(func(d digester) { d.ints(dims...) })
	return &rowOp{pureOp{kind: kind, arity: len(dims), digest: digest}, dims, wrt, expr(in), diff}
}

// Describe implements describe.Described.
func (op *rowOp) Describe() describe.Description { return describe.Elementwise{Expr: op.expr} }

// Type is the function type number of dimensions of each input' dimensions.
func (op *rowOp) Type() hm.Type {
	var types []hm.Type
	for _, d := range op.dims {
		types = append(types, tensorOf(d))
	}
	return hm.NewFnType(append(types, tensorOf(op.dims[0]))...)
}

// InferShape returns the shape of the first input.
func (op *rowOp) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	if len(in) != op.arity {
		return nil, fmt.Errorf("constraints: %v takes %d inputs, got %d", op, op.arity, len(in))
	}
	first, _ := in[0].(tensor.Shape)
	for k := range in {
		s, _ := in[k].(tensor.Shape) // without a shape, the number of dimensions is 0
		if s.Dims() != op.dims[k] || s[0] != first[0] || s.TotalSize() != s[0] && !s.Eq(first) {
			return nil, fmt.Errorf("constraints: %v: input %d has shape %v, the first input %v", op, k, in[k], first)
		}
	}
	return first.Clone(), nil
}

// Do computes the elements in float64.
func (op *rowOp) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	if len(values) != op.arity {
		return nil, fmt.Errorf("constraints: %v takes %d inputs, got %d", op, op.arity, len(values))
	}
	sizes := make([]int, len(values))
	for k, v := range values {
		sizes[k] = v.Shape().TotalSize()
	}
	in, err := inputs(op, values, sizes...)
	if err != nil {
		return nil, err
	}
	shape, rows := values[0].Shape(), values[0].Shape()[0]
	if _, single := in[0].([]float32); single {
		return newTensor(evaluate[float32](op.expr, in, sizes[0], rows), shape...), nil
	}
	return newTensor(evaluate[float64](op.expr, in, sizes[0], rows), shape...), nil
}

// evaluate computes the expression for size elements in rows.
func evaluate[T float](e *describe.Expr, in []any, size, rows int) []T {
	out, cols := make([]T, size), size/rows
	for i := range out {
		out[i] = T(e.Eval(func(arg int) float64 {
			x := in[arg].([]T)
			if len(x) == rows {
				return float64(x[i/cols])
			}
			return float64(x[i])
		}))
	}
	return out
}

// DiffWRT reports for each input whether the op is differentiable with respect to the input.
func (op *rowOp) DiffWRT(int) []bool { return op.wrt }

// SymDiff returns the derivatives, or ErrSecondDerivative.
func (op *rowOp) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if op.diff == nil {
		return nil, fmt.Errorf("%w: %v", ErrSecondDerivative, op)
	}
	return op.diff(in, out, grad)
}

// String returns the op's kind.
func (op *rowOp) String() string { return op.kind }

// classColumn is the op S [n, C] -> S[:, index] [n, 1], one column of the scores. It has no
// derivative: only the maximum of a row uses it.
type classColumn struct {
	pureOp
	index int
}

func newClassColumn(j int) *classColumn {
	digest := digestLater(func(d digester) { d.ints(j) })
	return &classColumn{pureOp{kind: "ClassColumn", arity: 1, digest: digest}, j}
}

// Describe implements describe.Described.
func (op *classColumn) Describe() describe.Description { return describe.Column{Index: op.index} }

// Type is Matrix a -> Matrix a.
func (op *classColumn) Type() hm.Type { return hm.NewFnType(tensorOf(2), tensorOf(2)) }

// InferShape returns [n, 1].
func (op *classColumn) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	s, _ := in[0].(tensor.Shape)
	if s.Dims() != 2 || op.index >= s[1] {
		return nil, fmt.Errorf("constraints: %v of an input of shape %v", op, in[0])
	}
	return tensor.Shape{s[0], 1}, nil
}

// Do returns the column.
func (op *classColumn) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	if len(values) != 1 {
		return nil, fmt.Errorf("constraints: %v takes 1 input, got %d", op, len(values))
	}
	shape := values[0].Shape()
	in, err := inputs(op, values, shape.TotalSize())
	if err != nil {
		return nil, err
	}
	if x, single := in[0].([]float32); single {
		return newTensor(columnOf(x, op.index, shape[1]), shape[0], 1), nil
	}
	return newTensor(columnOf(in[0].([]float64), op.index, shape[1]), shape[0], 1), nil
}

func columnOf[T float](x []T, index, cols int) []T {
	out := make([]T, len(x)/cols)
	for i := range out {
		out[i] = x[i*cols+index]
	}
	return out
}

// DiffWRT reports that the op is not differentiable.
func (op *classColumn) DiffWRT(int) []bool { return []bool{false} }

// SymDiff returns ErrSecondDerivative; Gorgonia does not call it because of DiffWRT.
func (op *classColumn) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("%w: %v", ErrSecondDerivative, op)
}

// String returns the op's kind and column.
func (op *classColumn) String() string { return fmt.Sprintf("ClassColumn{%d}", op.index) }

// Softmax adds the probabilities P [n, C] of the classes to the graph of the scores S [n, C],
//
//	P_ic = e^(S_ic - m_i) / sum_j e^(S_ij - m_i),   m_i = max_j S_ij.
//
// No exponential overflows. The derivative is dS = P o (dP - rowsums(P o dP)), with o the
// element-wise product. All steps have device kernels.
func Softmax(scores *gorgonia.Node) (*gorgonia.Node, error) {
	_, e, z, err := exponentials(scores)
	if err != nil {
		return nil, err
	}
	return apply(newRowOp("Softmax", []int{2, 2, 1}, []bool{true, false, false}, divided, softmaxDiff), scores, e, z)
}

// CrossEntropy adds the losses [n] of the scores S [n, C] for rows of the given classes,
//
//	l_i = log sum_j e^(S_ij - m_i) + m_i - S_i,labels[i],   m_i = max_j S_ij.
func CrossEntropy(scores *gorgonia.Node, labels []int) (*gorgonia.Node, error) {
	if scores.Dims() != 2 || scores.Shape()[0] != len(labels) {
		return nil, fmt.Errorf("constraints: scores of shape %v for %d rows", scores.Shape(), len(labels))
	}
	c := scores.Shape()[1]
	own := make([]float64, len(labels)*c)
	for i, y := range labels {
		if y < 0 || y >= c {
			return nil, fmt.Errorf("constraints: row %d has label %d, want 0..%d", i, y, c-1)
		}
		own[i*c+y] = 1
	}
	m, _, z, err := exponentials(scores)
	if err != nil {
		return nil, err
	}
	ones := constantMatrix(scores, "own classes", own, len(labels), c)
	product, err := gorgonia.HadamardProd(scores, ones)
	if err != nil {
		return nil, fmt.Errorf("constraints: the scores of the own classes: %w", err)
	}
	score, err := gorgonia.Sum(product, 1)
	if err != nil {
		return nil, fmt.Errorf("constraints: the scores of the own classes: %w", err)
	}
	return apply(newRowOp("CrossEntropy", []int{1, 2, 1}, []bool{true, false, true}, entropy, entropyDiff), z, m, score)
}

// exponentials returns m [n, 1], the largest score of each row, E = e^(S - m) [n, C] and the row
// sums of E [n]. The derivative treats m as a constant: a common shift of a row's scores changes
// neither the probabilities nor the loss.
func exponentials(scores *gorgonia.Node) (m, e, z *gorgonia.Node, err error) {
	if scores.Dims() != 2 || scores.Shape()[1] < 2 {
		return nil, nil, nil, fmt.Errorf("constraints: scores of shape %v, want [n, C] with at least 2 classes", scores.Shape())
	}
	c := scores.Shape()[1]
	columns := make(gorgonia.Nodes, c)
	var dims []int
	for j := range columns {
		if columns[j], err = apply(newClassColumn(j), scores); err != nil {
			return nil, nil, nil, err
		}
		dims = append(dims, 2)
	}
	if m, err = apply(newRowOp("RowMaximum", dims, make([]bool, c), maximum, nil), columns...); err != nil {
		return nil, nil, nil, err
	}
	exp := newRowOp("ShiftedExp", []int{2, 2}, []bool{true, false}, shiftedExp, shiftedExpDiff)
	if e, err = apply(exp, scores, m); err != nil {
		return nil, nil, nil, err
	}
	if z, err = gorgonia.Sum(e, 1); err != nil {
		return nil, nil, nil, fmt.Errorf("constraints: the sums of the exponentials: %w", err)
	}
	return m, e, z, nil
}

// maximum returns the largest input, computed as max(a, b) = a + relu(b - a).
func maximum(in []*describe.Expr) *describe.Expr {
	rest := in[len(in)-1]
	for j := len(in) - 2; j >= 0; j-- {
		rest = describe.Add.Of(in[j], describe.ReLU.Of(describe.Sub.Of(rest, in[j])))
	}
	return rest
}

// The functions below return the expressions of the other ops.
func shiftedExp(in []*describe.Expr) *describe.Expr {
	return describe.Exp.Of(describe.Sub.Of(in[0], in[1]))
}
func divided(in []*describe.Expr) *describe.Expr { return describe.Div.Of(in[1], in[2]) }
func product(in []*describe.Expr) *describe.Expr { return describe.Mul.Of(in[0], in[1]) }
func entropy(in []*describe.Expr) *describe.Expr {
	return describe.Add.Of(describe.Ln.Of(in[0]), describe.Sub.Of(in[1], in[2]))
}
func quotient(in []*describe.Expr) *describe.Expr { return describe.Div.Of(in[0], in[1]) }
func negated(in []*describe.Expr) *describe.Expr  { return describe.Neg.Of(in[0]) }
func softmaxGrad(in []*describe.Expr) *describe.Expr {
	return describe.Mul.Of(in[0], describe.Sub.Of(in[1], in[2]))
}

// shiftedExpDiff returns dS = E o dE.
func shiftedExpDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := apply(newRowOp("ShiftedExpGrad", []int{2, 2}, []bool{true, true}, product, nil), out, grad)
	return gorgonia.Nodes{d, nil}, err
}

// softmaxDiff returns dS = P o (dP - rowsums(P o dP)).
func softmaxDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	weighted, err := gorgonia.HadamardProd(out, grad)
	if err != nil {
		return nil, err
	}
	sums, err := gorgonia.Sum(weighted, 1)
	if err != nil {
		return nil, err
	}
	d, err := apply(newRowOp("SoftmaxGrad", []int{2, 2, 1}, []bool{true, true, true}, softmaxGrad, nil), out, grad, sums)
	return gorgonia.Nodes{d, nil, nil}, err
}

// entropyDiff returns dz = dl / z, and -dl, the derivative with respect to the scores of the rows'
// own classes.
func entropyDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	z, err := apply(newRowOp("CrossEntropyGradSum", []int{1, 1}, []bool{true, true}, quotient, nil), grad, in[0])
	if err != nil {
		return nil, err
	}
	own, err := apply(newRowOp("CrossEntropyGradOwn", []int{1}, []bool{true}, negated, nil), grad)
	return gorgonia.Nodes{z, nil, own}, err
}
