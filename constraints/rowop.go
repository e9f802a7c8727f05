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
		in[k] = &describe.Expr{Op: describe.Load, Arg: k}
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
