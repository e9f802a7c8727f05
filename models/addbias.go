package models

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AddBias returns Z + 1 b: the row b [1, h] added to each row of Z [n, h].
//
// AddBias is one op and one pass, whereas gorgonia.BroadcastAdd repeats b into a matrix of the size
// of Z. Its derivatives are D for Z and the column sums 1^T D for b, accumulated in float64
// whatever the dtype (Gorgonia's float32 sums lose digits over many rows).
func AddBias(z, b *gorgonia.Node) (*gorgonia.Node, error) {
	return apply(addBiasOp{matrixOp{"ppal.AddBias", 2}}, z, b)
}

// apply calls gorgonia.ApplyOp and adds the op's name to the error.
func apply(op gorgonia.Op, inputs ...*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := gorgonia.ApplyOp(op, inputs...)
	if err != nil {
		return nil, fmt.Errorf("models: %v: %w", op, err)
	}
	return n, nil
}

// addBiasOp is the op of [AddBias].
type addBiasOp struct{ matrixOp }

var (
	_ gorgonia.SDOp            = addBiasOp{}
	_ gorgonia.UsePreallocDoer = addBiasOp{}
)

// InferShape returns Z's shape.
func (op addBiasOp) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	s, err := matrixShapes(op.name, inputs)
	if err != nil {
		return nil, err
	}
	if s[1][0] != 1 || s[1][1] != s[0][1] {
		return nil, fmt.Errorf("models: %s: bias of shape %v for a matrix of shape %v", op.name, s[1], s[0])
	}
	return s[0].Clone(), nil
}

// SymDiff returns D and 1^T D.
func (op addBiasOp) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	sums, err := apply(columnSumsOp{derivativeOp{matrixOp{"ppal.ColumnSums", 1}}}, grad)
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{grad, sums}, nil
}

// Do returns Z + 1 b in a new matrix.
func (op addBiasOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return op.UsePreallocDo(nil, inputs...)
}

// UsePreallocDo returns Z + 1 b, in prealloc if it has the right dtype and shape.
func (op addBiasOp) UsePreallocDo(prealloc gorgonia.Value, inputs ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := denses(op.name, inputs)
	if err != nil {
		return nil, err
	}
	z, b := in[0], in[1]
	out := output(prealloc, z.Dtype(), z.Shape()[0], z.Shape()[1])
	switch z.Dtype() {
	case tensor.Float32:
		addBias(out.Float32s(), z.Float32s(), b.Float32s())
	case tensor.Float64:
		addBias(out.Float64s(), z.Float64s(), b.Float64s())
	default:
		return nil, errDtype(op.name, z.Dtype())
	}
	return out, nil
}

func addBias[T float](out, z, b []T) {
	for len(z) > 0 {
		for j, v := range b {
			out[j] = z[j] + v
		}
		out, z = out[len(b):], z[len(b):]
	}
}

// columnSumsOp is 1^T D: the sums of the columns of D, as a row [1, h].
type columnSumsOp struct{ derivativeOp }

var (
	_ gorgonia.SDOp            = columnSumsOp{}
	_ gorgonia.UsePreallocDoer = columnSumsOp{}
)

// InferShape returns [1, h].
func (op columnSumsOp) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	s, err := matrixShapes(op.name, inputs)
	if err != nil {
		return nil, err
	}
	return tensor.Shape{1, s[0][1]}, nil
}

// Do returns 1^T D in a new matrix.
func (op columnSumsOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return op.UsePreallocDo(nil, inputs...)
}

// UsePreallocDo returns 1^T D, in prealloc if it has the right dtype and shape.
func (op columnSumsOp) UsePreallocDo(prealloc gorgonia.Value, inputs ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := denses(op.name, inputs)
	if err != nil {
		return nil, err
	}
	d := in[0]
	out := output(prealloc, d.Dtype(), 1, d.Shape()[1])
	switch d.Dtype() {
	case tensor.Float32:
		columnSums(out.Float32s(), d.Float32s())
	case tensor.Float64:
		columnSums(out.Float64s(), d.Float64s())
	default:
		return nil, errDtype(op.name, d.Dtype())
	}
	return out, nil
}

func columnSums[T float](out, d []T) {
	sums := make([]float64, len(out))
	for len(d) > 0 {
		row := d[:len(sums)]
		for j, v := range row {
			sums[j] += float64(v)
		}
		d = d[len(sums):]
	}
	for j, sum := range sums {
		out[j] = T(sum)
	}
}
