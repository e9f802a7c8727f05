package graph

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// weightsOp gives the method's weights of one constraint node from the values of all of them. It is constant to the
// differentiation: the Lagrangian's gradient at the current weights is what a first-order method steps along.
type weightsOp struct {
	o        *Optimizer
	inputs   []hm.Type
	shape    tensor.Shape
	self     int // index of the constraint node
	at, size int // its weights are o.w[at:at+size]
}

var _ gorgonia.SDOp = (*weightsOp)(nil)

func newWeightsOp(o *Optimizer, constraints gorgonia.Nodes, self, at, size int) *weightsOp {
	op := &weightsOp{o: o, self: self, at: at, size: size, shape: constraints[self].Shape()}
	for _, n := range constraints {
		op.inputs = append(op.inputs, typeOf(n))
	}
	return op
}

// typeOf is a node's type over the type variable a.
func typeOf(n *gorgonia.Node) hm.Type {
	a := hm.TypeVariable('a')
	if n.IsScalar() {
		return a
	}
	return gorgonia.TensorType{Dims: n.Dims(), Of: a}
}

func (op *weightsOp) Arity() int           { return len(op.inputs) }
func (op *weightsOp) ReturnsPtr() bool     { return false }
func (op *weightsOp) CallsExtern() bool    { return false }
func (op *weightsOp) OverwritesInput() int { return -1 }
func (op *weightsOp) String() string       { return fmt.Sprintf("ppal.Weights(%d)", op.self) }

// Type is g_1 -> ... -> g_c -> w_self.
func (op *weightsOp) Type() hm.Type {
	return hm.NewFnType(append(append([]hm.Type{}, op.inputs...), op.inputs[op.self])...)
}

// InferShape returns the shape of the op's own constraint.
func (op *weightsOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return op.shape.Clone(), nil
}

// Do computes the weights in the first of a run's ops and returns this op's.
func (op *weightsOp) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	if err := op.o.weigh(values); err != nil {
		return nil, err
	}
	w := op.o.w[op.at : op.at+op.size]
	if values[op.self].Dtype() == tensor.Float32 {
		return narrow[float32](w, values[op.self])
	}
	return narrow[float64](w, values[op.self])
}

// narrow makes a value of the form of like.
func narrow[T float32 | float64](w []float64, like gorgonia.Value) (gorgonia.Value, error) {
	switch like.Data().(type) {
	case float32:
		return gorgonia.NewF32(float32(w[0])), nil
	case float64:
		return gorgonia.NewF64(w[0]), nil
	}
	out := make([]T, len(w))
	for i, v := range w {
		out[i] = T(v)
	}
	return tensor.New(tensor.WithShape(like.Shape()...), tensor.WithBacking(out)), nil
}

// WriteHash tells ops of different optimizers and constraints apart: Gorgonia merges nodes of equal hashes.
func (op *weightsOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "ppal.Weights %p %d", op.o, op.self) }

// Hashcode is the hash of WriteHash.
func (op *weightsOp) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}

// DiffWRT is false for every input: the weights are constants.
func (op *weightsOp) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// SymDiff is never called in a differentiation that heeds DiffWRT.
func (op *weightsOp) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, errors.New("graph: the weights are constants")
}
