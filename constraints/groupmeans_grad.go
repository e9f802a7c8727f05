package constraints

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var _ gorgonia.SDOp = (*GroupMeansGrad)(nil)

// GroupMeansGrad is the derivative of GroupMeans: w [G], or a scalar, -> M^T w [n], all groups in
// one pass over the rows. A row's sum runs in float64, in the groups' order. The op cannot be
// differentiated again: see ErrSecondDerivative.
type GroupMeansGrad struct {
	pureOp
	members *Membership
	scalar  bool
}

// The offsets affect neither the derivative nor its hash: two means that differ only in their
// offsets share one derivative.
func newGroupMeansGrad(means *GroupMeans) *GroupMeansGrad {
	return &GroupMeansGrad{pureOp{kind: means.kind + "Grad", arity: 1, digest: means.members.digest}, means.members, means.scalar}
}

// Membership returns the matrix M.
func (op *GroupMeansGrad) Membership() *Membership { return op.members }

// Scalar reports whether the input is a scalar rather than a vector [G].
func (op *GroupMeansGrad) Scalar() bool { return op.scalar }

// Type is Vector a -> Vector a, or a -> Vector a.
func (op *GroupMeansGrad) Type() hm.Type {
	return hm.NewFnType(tensorOf(meansShape(op.members, op.scalar).Dims()), tensorOf(1))
}

// InferShape returns [n] for an input [G] or a scalar.
func (op *GroupMeansGrad) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	return inferShape(op, tensor.Shape{op.members.rows}, in, meansShape(op.members, op.scalar))
}

// Do returns M^T w for the value of w.
func (op *GroupMeansGrad) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	m := op.members
	in, err := inputs(op, values, m.Groups())
	if err != nil {
		return nil, err
	}
	switch w := in[0].(type) {
	case []float64:
		return newTensor(transposeTimes(m, w), m.rows), nil
	case []float32:
		return newTensor(transposeTimes(m, w), m.rows), nil
	}
	panic("unreachable")
}

// DiffWRT reports the input as differentiable, so that Gorgonia calls SymDiff, which refuses.
func (op *GroupMeansGrad) DiffWRT(int) []bool { return []bool{true} }

// SymDiff returns ErrSecondDerivative.
func (op *GroupMeansGrad) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("%w: %v", ErrSecondDerivative, op)
}

// String returns the op's kind and shape.
func (op *GroupMeansGrad) String() string {
	return fmt.Sprintf("%s{%dx%d}", op.kind, op.members.rows, op.members.Groups())
}

// transposeTimes returns M^T w. A row that belongs to no group gets 0.
func transposeTimes[T float](m *Membership, w []T) []T {
	out := make([]T, m.rows)
	if m.rowWeights != nil {
		for i := range out {
			var sum float64
			for e, end := m.of(i); e < end; e++ {
				sum += m.rowWeights[e] * float64(w[m.rowGroups[e]])
			}
			out[i] = T(sum)
		}
		return out
	}
	share := make([]float64, len(w)) // w_k/n_k, the contribution of each row of group k
	for k := range w {
		share[k] = float64(w[k]) / m.size(k)
	}
	if m.rowStarts == nil {
		for k, s := range share {
			for i := m.starts[k]; i < m.starts[k+1]; i++ {
				out[i] = T(s)
			}
		}
		return out
	}
	for i := range out {
		var sum float64
		from, to := m.of(i)
		for _, k := range m.rowGroups[from:to] {
			sum += share[k]
		}
		out[i] = T(sum)
	}
	return out
}
