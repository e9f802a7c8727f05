package models

import (
	"errors"
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// leak is the slope of LeakyReLU below 0, as in torch.nn.LeakyReLU.
const leak = 0.01

// elementwiseOp computes an expression of inputs of one shape, element by element. slope is the
// derivative of an op with one input as an expression of the value (input 0), times the derivative
// of the output (input 1); nil: the op cannot be differentiated.
type elementwiseOp struct {
	matrixOp
	dims        int
	expr, slope *describe.Expr
}

var _ gorgonia.SDOp = elementwiseOp{}

// newLeakyReLU returns the op of LeakyReLU for values of so many axes: relu(z) - relu(-z)/100 is
// exact. relu' is 0 where the sign bit is set, which the value of a negative z has.
func newLeakyReLU(dims int) elementwiseOp {
	z, d, percent := describe.Input(0), describe.Input(1), describe.Number(leak)
	slope := describe.Add.Of(percent, describe.Mul.Of(describe.Number(1-leak), describe.ReLUGrad.Of(z)))
	negative := describe.Mul.Of(percent, describe.ReLU.Of(describe.Neg.Of(z)))
	return elementwiseOp{matrixOp{"ppal.LeakyReLU", 1}, dims, describe.Sub.Of(describe.ReLU.Of(z), negative), describe.Mul.Of(slope, d)}
}

// newSoftplus returns the op of Softplus a = log(1 + e^z), whose derivative is 1 - e^-a.
func newSoftplus(dims int) elementwiseOp {
	slope := describe.Sub.Of(describe.Number(1), describe.Exp.Of(describe.Neg.Of(describe.Input(0))))
	return elementwiseOp{matrixOp{"ppal.Softplus", 1}, dims, describe.Softplus.Of(describe.Input(0)), describe.Mul.Of(slope, describe.Input(1))}
}

// Type returns the type of a function of tensors of one shape.
func (op elementwiseOp) Type() hm.Type {
	t := gorgonia.TensorType{Dims: op.dims, Of: hm.TypeVariable('a')}
	if op.arity == 1 {
		return hm.NewFnType(t, t)
	}
	return hm.NewFnType(t, t, t)
}

// DiffWRT reports whether the op can be differentiated.
func (op elementwiseOp) DiffWRT(n int) []bool { return repeated(op.slope != nil, n) }

// InferShape returns the shape of the inputs.
func (op elementwiseOp) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(inputs)
	if err != nil {
		return nil, fmt.Errorf("models: %s: %w", op.name, err)
	}
	return shapes[0].Clone(), nil
}

// SymDiff returns the derivative, an op of the value and of the output's derivative.
func (op elementwiseOp) SymDiff(_ gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if op.slope == nil {
		return nil, errors.New("models: " + op.name + " has no derivative")
	}
	d, err := apply(elementwiseOp{matrixOp{op.name + "Grad", 2}, op.dims, op.slope, nil}, output, grad)
	return gorgonia.Nodes{d}, err
}

// Do returns a new tensor.
func (op elementwiseOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	in := make([]*tensor.Dense, len(inputs))
	for i, v := range inputs {
		d, ok := v.(*tensor.Dense)
		if !ok || d.RequiresIterator() || !d.Shape().Eq(inputs[0].Shape()) || d.Dtype() != inputs[0].Dtype() {
			return nil, fmt.Errorf("models: %s: input %d is a %T of shape %v, expected a dense tensor of shape %v", op.name, i, v, v.Shape(), inputs[0].Shape())
		}
		in[i] = d
	}
	out := tensor.New(tensor.Of(in[0].Dtype()), tensor.WithShape(in[0].Shape()...))
	switch out.Dtype() {
	case tensor.Float32:
		evaluate(op.expr, out.Float32s(), func(k int) []float32 { return in[k].Float32s() })
	case tensor.Float64:
		evaluate(op.expr, out.Float64s(), func(k int) []float64 { return in[k].Float64s() })
	default:
		return nil, errDtype(op.name, out.Dtype())
	}
	return out, nil
}

func evaluate[T float](expr *describe.Expr, out []T, in func(k int) []T) {
	for i := range out {
		out[i] = T(expr.Eval(func(k int) float64 { return float64(in(k)[i]) }))
	}
}
