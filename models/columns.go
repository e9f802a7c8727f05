package models

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Columns returns the matrix [n, C] whose columns are the given C nodes, each [n, 1]. Its
// derivative with respect to column i is column i of D.
func Columns(columns ...*gorgonia.Node) (*gorgonia.Node, error) {
	if len(columns) == 0 {
		return nil, errors.New("models: Columns of no nodes")
	}
	return apply(columnsOp{matrixOp{"ppal.Columns", len(columns)}}, columns...)
}

// columnsOp is the op of [Columns].
type columnsOp struct{ matrixOp }

var (
	_ gorgonia.SDOp            = columnsOp{}
	_ gorgonia.UsePreallocDoer = columnsOp{}
)

// InferShape returns [n, C].
func (op columnsOp) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes, err := matrixShapes(op.name, inputs)
	if err != nil {
		return nil, err
	}
	for i, s := range shapes {
		if s[1] != 1 || s[0] != shapes[0][0] {
			return nil, fmt.Errorf("models: %s: column %d has shape %v, expected [%d, 1]", op.name, i, s, shapes[0][0])
		}
	}
	return tensor.Shape{shapes[0][0], len(shapes)}, nil
}

// SymDiff returns the columns of D.
func (op columnsOp) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	grads := make(gorgonia.Nodes, len(inputs))
	for i := range inputs {
		column, err := apply(columnOp{derivativeOp{matrixOp{fmt.Sprintf("ppal.Column(%d)", i), 1}}, i}, grad)
		if err != nil {
			return nil, err
		}
		grads[i] = column
	}
	return grads, nil
}

// Do returns the columns side by side in a new matrix.
func (op columnsOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return op.UsePreallocDo(nil, inputs...)
}

// UsePreallocDo returns the columns side by side, in prealloc if it has the right dtype and shape.
func (op columnsOp) UsePreallocDo(prealloc gorgonia.Value, inputs ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := denses(op.name, inputs)
	if err != nil {
		return nil, err
	}
	out := output(prealloc, in[0].Dtype(), in[0].Shape()[0], len(in))
	for i, column := range in {
		switch column.Dtype() {
		case tensor.Float32:
			copyStrided(out.Float32s()[i:], len(in), column.Float32s(), 1)
		case tensor.Float64:
			copyStrided(out.Float64s()[i:], len(in), column.Float64s(), 1)
		default:
			return nil, errDtype(op.name, column.Dtype())
		}
	}
	return out, nil
}

// columnOp is column i of D [n, C], as [n, 1].
type columnOp struct {
	derivativeOp
	i int
}

var (
	_ gorgonia.SDOp            = columnOp{}
	_ gorgonia.UsePreallocDoer = columnOp{}
)

// InferShape returns [n, 1].
func (op columnOp) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	s, err := matrixShapes(op.name, inputs)
	if err != nil {
		return nil, err
	}
	if op.i >= s[0][1] {
		return nil, fmt.Errorf("models: %s of a matrix of shape %v", op.name, s[0])
	}
	return tensor.Shape{s[0][0], 1}, nil
}

// Do returns the column in a new matrix.
func (op columnOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return op.UsePreallocDo(nil, inputs...)
}

// UsePreallocDo returns the column, in prealloc if it has the right dtype and shape.
func (op columnOp) UsePreallocDo(prealloc gorgonia.Value, inputs ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := denses(op.name, inputs)
	if err != nil {
		return nil, err
	}
	d := in[0]
	cols := d.Shape()[1]
	out := output(prealloc, d.Dtype(), d.Shape()[0], 1)
	switch d.Dtype() {
	case tensor.Float32:
		copyStrided(out.Float32s(), 1, d.Float32s()[op.i:], cols)
	case tensor.Float64:
		copyStrided(out.Float64s(), 1, d.Float64s()[op.i:], cols)
	default:
		return nil, errDtype(op.name, d.Dtype())
	}
	return out, nil
}

// copyStrided copies every step-th element of from to every stride-th element of to, which has room
// for them.
func copyStrided[T float](to []T, stride int, from []T, step int) {
	for t, f := 0, 0; f < len(from); t, f = t+stride, f+step {
		to[t] = from[f]
	}
}
