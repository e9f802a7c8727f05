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

// coefficientsOp returns the method's coefficients of one constraint node, computed from the values
// of all constraint nodes. Differentiation treats the coefficients as constants: a first-order
// method steps along the Lagrangian's gradient for the current coefficients.
type coefficientsOp struct {
	o        *Optimizer
	inputs   []hm.Type    // types of all constraint nodes
	shape    tensor.Shape // shape of the constraint node
	self     int          // index of the constraint node
	at, size int          // the node's coefficients are o.w[at:at+size]
}

var _ gorgonia.SDOp = (*coefficientsOp)(nil)

// newCoefficientsOp returns the op of constraint node self.
func newCoefficientsOp(o *Optimizer, constraints gorgonia.Nodes, self, at, size int) *coefficientsOp {
	op := &coefficientsOp{o: o, self: self, at: at, size: size, shape: constraints[self].Shape()}
	for _, n := range constraints {
		op.inputs = append(op.inputs, typeOf(n))
	}
	return op
}

// typeOf returns a node's type over the type variable a.
func typeOf(n *gorgonia.Node) hm.Type {
	a := hm.TypeVariable('a')
	if n.IsScalar() {
		return a
	}
	return gorgonia.TensorType{Dims: n.Dims(), Of: a}
}

func (op *coefficientsOp) Arity() int           { return len(op.inputs) }
func (op *coefficientsOp) ReturnsPtr() bool     { return false }
func (op *coefficientsOp) CallsExtern() bool    { return false }
func (op *coefficientsOp) OverwritesInput() int { return -1 }
func (op *coefficientsOp) String() string       { return fmt.Sprintf("ppal.Coefficients(%d)", op.self) }

// Type is g_1 -> ... -> g_c -> w_self.
func (op *coefficientsOp) Type() hm.Type {
	return hm.NewFnType(append(append([]hm.Type{}, op.inputs...), op.inputs[op.self])...)
}

// InferShape returns the shape of the op's own constraint.
func (op *coefficientsOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return op.shape.Clone(), nil
}

// Do returns the op's coefficients. The first op of a run computes all coefficients.
func (op *coefficientsOp) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	if err := op.o.computeCoefficients(values); err != nil {
		return nil, err
	}
	w := op.o.w[op.at : op.at+op.size]
	if values[op.self].Dtype() == tensor.Float32 {
		return narrow[float32](w, values[op.self])
	}
	return narrow[float64](w, values[op.self])
}

// narrow returns w as a value with the dtype and shape of like.
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

// WriteHash writes a hash that differs between optimizers and constraints, because Gorgonia merges
// nodes of equal hashes.
func (op *coefficientsOp) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "ppal.Coefficients %p %d", op.o, op.self)
}

// Hashcode is the hash of WriteHash.
func (op *coefficientsOp) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}

// DiffWRT is false for every input: the coefficients are constants.
func (op *coefficientsOp) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// SymDiff is not called: DiffWRT is false.
func (op *coefficientsOp) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, errors.New("graph: the coefficients are constants")
}
