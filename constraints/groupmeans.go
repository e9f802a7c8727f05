package constraints

import (
	"fmt"
	"math"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var _ gorgonia.SDOp = (*GroupMeans)(nil)

// GroupMeans is the op l [n] -> M l - offsets [G]. It computes the (weighted) means of per-row
// values over groups of rows, for all groups in one pass. NewGroupMean makes the op for one group
// with a scalar result, the shape of an objective. Sums run in float64, in the order of each
// group's rows.
type GroupMeans struct {
	pureOp
	members *Membership
	offsets []float64
	scalar  bool
}

// NewGroupMeans makes the op with a result [G]. The offsets (for example bounds) are subtracted
// from the means; nil means zeros. The offsets are copied.
func NewGroupMeans(m *Membership, offsets []float64) (*GroupMeans, error) {
	if offsets == nil {
		offsets = make([]float64, m.Groups())
	}
	if len(offsets) != m.Groups() {
		return nil, fmt.Errorf("constraints: %d offsets for %d groups", len(offsets), m.Groups())
	}
	for k, b := range offsets {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return nil, fmt.Errorf("constraints: offset of group %q is %v", m.names[k], b)
		}
	}
	return newGroupMeans(m, append([]float64(nil), offsets...), false), nil
}

// NewGroupMean makes the op for a single group, with a scalar result.
func NewGroupMean(m *Membership, offset float64) (*GroupMeans, error) {
	if m.Groups() != 1 {
		return nil, fmt.Errorf("constraints: a scalar mean has 1 group, got %d", m.Groups())
	}
	op, err := NewGroupMeans(m, []float64{offset})
	if err != nil {
		return nil, err
	}
	return newGroupMeans(m, op.offsets, true), nil
}

func newGroupMeans(m *Membership, offsets []float64, scalar bool) *GroupMeans {
	kind := "GroupMeans"
	if scalar {
		kind = "GroupMean"
	}
	digest := digestLater(func(d digester) {
		sum := m.digest()
		_, _ = d.Write(sum[:])
		d.floats(offsets)
	})
	return &GroupMeans{pureOp{kind: kind, arity: 1, digest: digest}, m, offsets, scalar}
}

// Apply adds the means' node, [G] or a scalar, to the graph of the values [n].
func (op *GroupMeans) Apply(values *gorgonia.Node) (*gorgonia.Node, error) {
	return apply(op, values)
}

// meansShape returns the shape of the means: [G], or the scalar shape.
func meansShape(m *Membership, scalar bool) tensor.Shape {
	if scalar {
		return tensor.ScalarShape()
	}
	return tensor.Shape{m.Groups()}
}

// Type is Vector a -> Vector a, or Vector a -> a.
func (op *GroupMeans) Type() hm.Type {
	return hm.NewFnType(tensorOf(1), tensorOf(meansShape(op.members, op.scalar).Dims()))
}

// InferShape returns [G] or the scalar shape for an input [n].
func (op *GroupMeans) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	return inferShape(op, meansShape(op.members, op.scalar), in, tensor.Shape{op.members.rows})
}

// Do returns the means of the values.
func (op *GroupMeans) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := inputs(op, values, op.members.rows)
	if err != nil {
		return nil, err
	}
	switch l := in[0].(type) {
	case []float64:
		out := groupMeans(op.members, op.offsets, l)
		if op.scalar {
			return gorgonia.NewF64(out[0]), nil
		}
		return newTensor(out, len(out)), nil
	case []float32:
		out := groupMeans(op.members, op.offsets, l)
		if op.scalar {
			return gorgonia.NewF32(out[0]), nil
		}
		return newTensor(out, len(out)), nil
	}
	panic("unreachable")
}

// DiffWRT reports that the op is differentiable with respect to the values.
func (op *GroupMeans) DiffWRT(int) []bool { return []bool{true} }

// SymDiff returns the node dl = M^T grad [n].
func (op *GroupMeans) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("constraints: %v takes 1 input, got %d", op, len(in))
	}
	d, err := apply(newGroupMeansGrad(op), grad)
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{d}, nil
}

// String returns the op's kind and shape.
func (op *GroupMeans) String() string {
	return fmt.Sprintf("%s{%dx%d}", op.kind, op.members.Groups(), op.members.rows)
}

// groupMeans returns M l - offsets.
func groupMeans[T float](m *Membership, offsets []float64, l []T) []T {
	out := make([]T, m.Groups())
	if m.rowStarts != nil && m.ordered {
		for k, sum := range rowSums(m, l) {
			if m.rowWeights == nil {
				sum /= m.size(k)
			}
			out[k] = T(sum - offsets[k])
		}
		return out
	}
	starts, indices, weights := m.CSR()
	for k := range out {
		lo, hi := starts[k], starts[k+1]
		var sum float64
		switch {
		case indices == nil:
			for _, v := range l[lo:hi] {
				sum += float64(v)
			}
			sum /= m.size(k)
		case weights == nil:
			for _, i := range indices[lo:hi] {
				sum += float64(l[i])
			}
			sum /= m.size(k)
		default:
			for e := lo; e < hi; e++ {
				sum += weights[e] * float64(l[indices[e]])
			}
		}
		out[k] = T(sum - offsets[k])
	}
	return out
}

// rowSums returns the weighted sum of each group's elements, or the plain sum if the weights are
// the defaults. rowSums reads M by rows, and adds the elements of a group in the order of its rows.
func rowSums[T float](m *Membership, l []T) []float64 {
	sums := make([]float64, m.Groups())
	for i, v := range l {
		from, to := m.groupsOf(i)
		for e := from; e < to; e++ {
			if m.rowWeights == nil {
				sums[m.rowGroups[e]] += float64(v)
			} else {
				sums[m.rowGroups[e]] += m.rowWeights[e] * float64(v)
			}
		}
	}
	return sums
}

var _ gorgonia.SDOp = (*GroupMeansGrad)(nil)

// GroupMeansGrad is the derivative of GroupMeans: w [G], or a scalar, -> M^T w [n], all groups in
// one pass over the rows. A row's sum runs in float64, in the groups' order. The op cannot be
// differentiated again: see ErrSecondDerivative.
type GroupMeansGrad struct {
	derivative
	members *Membership
	scalar  bool
}

// The offsets affect neither the derivative nor its hash: two means that differ only in their
// offsets share one derivative.
func newGroupMeansGrad(means *GroupMeans) *GroupMeansGrad {
	return &GroupMeansGrad{derivative{pureOp{kind: means.kind + "Grad", arity: 1, digest: means.members.digest}}, means.members, means.scalar}
}

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
			for e, end := m.groupsOf(i); e < end; e++ {
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
		from, to := m.groupsOf(i)
		for _, k := range m.rowGroups[from:to] {
			sum += share[k]
		}
		out[i] = T(sum)
	}
	return out
}
