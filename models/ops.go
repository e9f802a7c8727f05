package models

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// matrixOp holds what the Gorgonia ops of this package share: they take matrices of one dtype,
// return a new matrix, and overwrite nothing. name identifies an op, so it includes every constant
// on which the op's result depends.
type matrixOp struct {
	name  string
	arity int
}

func (op matrixOp) Arity() int            { return op.arity }
func (op matrixOp) ReturnsPtr() bool      { return true }
func (op matrixOp) CallsExtern() bool     { return false }
func (op matrixOp) OverwritesInput() int  { return -1 }
func (op matrixOp) WriteHash(h hash.Hash) { fmt.Fprint(h, op.name) }
func (op matrixOp) String() string        { return op.name }
func (op matrixOp) Type() hm.Type         { return matrixType(op.arity) }
func (op matrixOp) DiffWRT(n int) []bool  { return repeated(true, n) }
func (op matrixOp) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}

// derivativeOp is an op that occurs only in derivatives and cannot be differentiated again.
type derivativeOp struct{ matrixOp }

// DiffWRT reports that the op is not differentiable.
func (op derivativeOp) DiffWRT(n int) []bool { return repeated(false, n) }

// SymDiff returns an error; Gorgonia does not call it because of DiffWRT.
func (op derivativeOp) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, errors.New("models: " + op.name + " has no derivative")
}

// matrixType returns the type Matrix a -> ... -> Matrix a with arity arguments.
func matrixType(arity int) hm.Type {
	matrix := gorgonia.TensorType{Dims: 2, Of: hm.TypeVariable('a')}
	types := make([]hm.Type, arity+1)
	for i := range types {
		types[i] = matrix
	}
	return hm.NewFnType(types...)
}

func repeated[T any](v T, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// matrixShapes returns the inputs' shapes and checks that each has two dimensions.
func matrixShapes(name string, inputs []gorgonia.DimSizer) ([]tensor.Shape, error) {
	shapes, err := gorgonia.DimSizersToShapes(inputs)
	if err != nil {
		return nil, fmt.Errorf("models: %s: %w", name, err)
	}
	for i, s := range shapes {
		if len(s) != 2 {
			return nil, fmt.Errorf("models: %s: input %d has shape %v, expected a matrix", name, i, s)
		}
	}
	return shapes, nil
}

// denses returns the inputs and checks that they are row-major matrices of one dtype.
func denses(name string, inputs []gorgonia.Value) ([]*tensor.Dense, error) {
	ds := make([]*tensor.Dense, len(inputs))
	for i, v := range inputs {
		d, ok := v.(*tensor.Dense)
		if !ok || d.Dims() != 2 || !d.DataOrder().IsRowMajor() || d.RequiresIterator() {
			return nil, fmt.Errorf("models: %s: input %d is a %T of shape %v, expected a dense row-major matrix", name, i, v, v.Shape())
		}
		if d.Dtype() != inputs[0].Dtype() {
			return nil, fmt.Errorf("models: %s: inputs of %v and %v", name, inputs[0].Dtype(), d.Dtype())
		}
		ds[i] = d
	}
	return ds, nil
}

// output returns prealloc if it is a matrix with the given dtype and shape, and a new matrix
// otherwise.
func output(prealloc gorgonia.Value, dtype tensor.Dtype, rows, cols int) *tensor.Dense {
	d, ok := prealloc.(*tensor.Dense)
	if ok && d.Dtype() == dtype && d.Dims() == 2 && d.Shape()[0] == rows && d.Shape()[1] == cols &&
		d.DataOrder().IsRowMajor() && !d.RequiresIterator() {
		return d
	}
	return tensor.New(tensor.Of(dtype), tensor.WithShape(rows, cols))
}

// float is the set of element types of scores and parameters.
type float interface{ float32 | float64 }

// errDtype returns the error for a matrix that is neither float32 nor float64.
func errDtype(name string, dtype tensor.Dtype) error {
	return fmt.Errorf("models: %s: dtype %v, expected float32 or float64", name, dtype)
}
