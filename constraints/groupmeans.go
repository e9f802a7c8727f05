package constraints

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// GroupMeans is the op l [n] -> M l - offsets [G]. It computes the (weighted) means of per-row
// values over groups of rows, for all groups in one pass. NewGroupMean makes the op for one group
// with a scalar result, the shape of an objective. Sums run in float64, in the order of each
// group's rows.
type GroupMeans struct{ function }

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
	if _, err := NewGroupMeans(m, []float64{offset}); err != nil {
		return nil, err
	}
	return newGroupMeans(m, []float64{offset}, true), nil
}

// newGroupMeans makes the op. The derivative is w [G], or a scalar, -> M^T w [n], all groups in one
// pass over the rows. A row's sum runs in float64, in the groups' order. The offsets affect neither
// the derivative nor its hash: two means that differ only in their offsets share one derivative.
func newGroupMeans(m *Membership, offsets []float64, scalar bool) *GroupMeans {
	kind, rows, means := "GroupMeans", tensor.Shape{m.rows}, tensor.Shape{m.Groups()}
	if scalar {
		kind, means = "GroupMean", tensor.ScalarShape()
	}
	digest := digestLater(func(d digester) {
		sum := m.digest()
		_, _ = d.Write(sum[:])
		d.floats(offsets)
	})
	return &GroupMeans{function{
		pureOp: pureOp{kind: kind, arity: 1, digest: digest}, text: fmt.Sprintf("%dx%d", m.Groups(), m.rows),
		in: []tensor.Shape{rows}, out: means, description: describe.GroupMeans{Groups: m.groups(), Offsets: offsets},
		double: func(in [][]float64) []float64 { return groupMeans(m, offsets, in[0]) },
		single: func(in [][]float32) []float32 { return groupMeans(m, offsets, in[0]) },
		derivative: func() *function {
			return &function{
				pureOp: pureOp{kind: kind + "Grad", arity: 1, digest: m.digest}, text: fmt.Sprintf("%dx%d", m.rows, m.Groups()),
				in: []tensor.Shape{means}, out: rows, description: describe.GroupMeansGrad{Groups: m.groups()},
				double: func(in [][]float64) []float64 { return transposeTimes(m, in[0]) },
				single: func(in [][]float32) []float32 { return transposeTimes(m, in[0]) },
			}
		},
	}}
}

// Apply adds the means' node, [G] or a scalar, to the graph of the values [n].
func (op *GroupMeans) Apply(values *gorgonia.Node) (*gorgonia.Node, error) {
	return apply(op, values)
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
