package models

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// rowsOp computes each row of its result from the same rows of its inputs, as its description says:
// group norm, max-pooling, or their derivatives, whose second input is D.
type rowsOp struct {
	matrixOp
	description describe.Description
	columns     int // of the result
}

var _ gorgonia.SDOp = rowsOp{}

// newRowsOp returns the op of a description.
func newRowsOp(d describe.Description, inputs, columns int) rowsOp {
	return rowsOp{matrixOp{fmt.Sprintf("ppal.%#v", d), inputs}, d, columns}
}

// InferShape returns as many rows as the inputs have.
func (op rowsOp) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	s, err := matrixShapes(op.name, inputs)
	if err != nil {
		return nil, err
	}
	return tensor.Shape{s[0][0], op.columns}, nil
}

// DiffWRT reports that derivatives are not differentiable.
func (op rowsOp) DiffWRT(n int) []bool { return repeated(op.arity == 1, n) }

// SymDiff returns the derivative.
func (op rowsOp) SymDiff(inputs gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	var derivative describe.Description
	switch d := op.description.(type) {
	case describe.Normalize:
		derivative = describe.NormalizeGrad(d)
	case describe.MaxPool:
		derivative = describe.MaxPoolGrad(d)
	}
	n, err := apply(newRowsOp(derivative, 2, inputs[0].Shape()[1]), inputs[0], grad)
	return gorgonia.Nodes{n}, err
}

// Do returns the result in a new matrix.
func (op rowsOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := denses(op.name, inputs)
	if err != nil {
		return nil, err
	}
	x, d := in[0], in[len(in)-1]
	out := output(nil, x.Dtype(), x.Shape()[0], op.columns)
	switch x.Dtype() {
	case tensor.Float32:
		computeRows(op.description, op.columns, out.Float32s(), x.Float32s(), d.Float32s())
	case tensor.Float64:
		computeRows(op.description, op.columns, out.Float64s(), x.Float64s(), d.Float64s())
	default:
		return nil, errDtype(op.name, x.Dtype())
	}
	return out, nil
}

// computeRows computes a description of the rows of x, and of D in d, if it is a derivative.
func computeRows[T float](t describe.Description, columns int, out, x, d []T) {
	switch t := t.(type) {
	case describe.Normalize:
		normalizeRanges(out, x, columns/t.Groups, t.Epsilon)
	case describe.NormalizeGrad:
		differentiateRanges(out, x, d, columns/t.Groups, t.Epsilon)
	case describe.MaxPool:
		describe.MaxOf(t.Window, out, x)
	case describe.MaxPoolGrad:
		describe.MaxGradOf(t.Window, out, x, d)
	}
}
