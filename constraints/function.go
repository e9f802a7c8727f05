package constraints

import (
	"fmt"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

var (
	_ gorgonia.SDOp      = (*function)(nil)
	_ describe.Described = (*function)(nil)
)

// function is a differentiable op with inputs of fixed shapes: MarginLoss, SignedLoss, GroupMeans
// and PairMeans, and their derivatives.
type function struct {
	pureOp
	text        string // what String adds to the kind
	in          []tensor.Shape
	out         tensor.Shape
	description describe.Description
	// double and single compute the result in the element type of the inputs.
	double func(in [][]float64) []float64
	single func(in [][]float32) []float32
	// derivative returns the op (in[0], gradient of the result) -> gradient of in[0], or without
	// in[0], on which the derivative of a linear op does not depend. nil: a derivative, which cannot
	// be differentiated again.
	derivative func() *function
}

// Describe implements describe.Described.
func (f *function) Describe() describe.Description { return f.description }

// Type is the function type of the inputs' and the result's dimensions.
func (f *function) Type() hm.Type {
	var types []hm.Type
	for _, s := range f.in {
		types = append(types, tensorOf(s.Dims()))
	}
	return hm.NewFnType(append(types, tensorOf(f.out.Dims()))...)
}

// InferShape returns the shape of the result.
func (f *function) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	if len(in) != len(f.in) {
		return nil, fmt.Errorf("constraints: %v takes %d inputs, got %d", f, len(f.in), len(in))
	}
	for k, want := range f.in {
		if s, ok := in[k].(tensor.Shape); !ok || !s.Eq(want) {
			return nil, fmt.Errorf("constraints: %v: input %d has shape %v, want %v", f, k, in[k], want)
		}
	}
	return f.out.Clone(), nil
}

// Do returns the result for the values of the inputs.
func (f *function) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	sizes := make([]int, len(f.in))
	for k, s := range f.in {
		sizes[k] = s.TotalSize()
	}
	in, err := inputs(f, values, sizes...)
	if err != nil {
		return nil, err
	}
	if x, ok := allOf[float64](in); ok {
		return valueOf(f.double(x), f.out), nil
	}
	if x, ok := allOf[float32](in); ok {
		return valueOf(f.single(x), f.out), nil
	}
	return nil, fmt.Errorf("constraints: %v: inputs have different element types %T and %T", f, in[0], in[1])
}

// allOf returns the inputs if all of them have the element type.
func allOf[T float](in []any) ([][]T, bool) {
	all := make([][]T, len(in))
	for k := range in {
		x, ok := in[k].([]T)
		if !ok {
			return nil, false
		}
		all[k] = x
	}
	return all, true
}

// valueOf returns the elements as a value of the shape.
func valueOf[T float](out []T, shape tensor.Shape) gorgonia.Value {
	if !shape.IsScalar() {
		return newTensor(out, shape...)
	}
	if x, single := any(out[0]).(float32); single {
		return gorgonia.NewF32(x)
	}
	return gorgonia.NewF64(float64(out[0]))
}

// DiffWRT reports all inputs as differentiable. For a derivative, Gorgonia then calls SymDiff,
// which refuses.
func (f *function) DiffWRT(int) []bool { return slices.Repeat([]bool{true}, f.arity) }

// SymDiff returns the node of the derivative, or ErrSecondDerivative.
func (f *function) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if f.derivative == nil {
		return nil, fmt.Errorf("%w: %s", ErrSecondDerivative, f.kind)
	}
	if len(in) != 1 {
		return nil, fmt.Errorf("constraints: %v takes 1 input, got %d", f, len(in))
	}
	d := f.derivative()
	n, err := apply(d, gorgonia.Nodes{in[0], grad}[2-d.arity:]...)
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{n}, nil
}

// String returns the op's kind and shape.
func (f *function) String() string { return f.kind + "{" + f.text + "}" }

// ofScores returns the shape [n, 1] or [n] of one score for each of n rows.
func ofScores(n, dims int) tensor.Shape { return tensor.Shape{n, 1}[:dims] }
