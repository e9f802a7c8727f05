package kernels

import (
	"ppal/internal/cuda/driver"
	"ppal/trainer/graph/describe"
)

// MeansGradStep is M^T w, plan.GroupMeansGrad, for the rows From to To-1 (To = 0: to the last).
type MeansGradStep struct {
	Groups   describe.Groups
	W        Operand // Groups.Count x 1
	From, To int
}

// MeansGrad holds the sum of M^T w over steps, prepared for the device: a table of each row's
// groups.
type MeansGrad struct {
	table []byte
	rows  int
	steps []MeansGradStep
}

// termBytes is the size of a term in the table: count, starts, groups, weights, w, stride, first
// row.
const termBytes = 7 * 8

// NewMeansGrad prepares the steps, at least one.
func NewMeansGrad(steps ...MeansGradStep) *MeansGrad {
	w := &MeansGrad{steps: steps}
	t := newTable(8 + termBytes*len(steps))
	t.put(0, int64(len(steps)))
	for i, st := range steps {
		g := st.Groups
		from, to := window(g, st.From, st.To)
		w.rows = to - from
		count, starts, groups, weights := int64(g.Count), int64(0), int64(none), int64(none)
		if g.RowStarts == nil {
			starts = t.int64s(g.Starts)
		} else {
			list, entries, numbers := make([]int, 1, to-from+1), []int32{}, []float64{}
			for i := from; i < to; i++ {
				lo, hi := g.Of(i)
				entries = append(entries, g.RowGroups[lo:hi]...)
				for e := lo; e < hi; e++ {
					numbers = append(numbers, weightOf(g, e))
				}
				list = append(list, len(entries))
			}
			starts, groups, weights = t.int64s(list), t.int32s(entries), t.float64s(numbers)
		}
		t.put(8+i*termBytes, count, starts, groups, weights, int64(st.W.At), int64(st.W.Stride), int64(from))
	}
	w.table = t.bytes
	return w
}

// Table returns the bytes that the caller uploads to an address that is a multiple of 8.
func (w *MeansGrad) Table() []byte { return w.table }

// add adds the table's address, 0 if w is nil.
func (w *MeansGrad) add(c *call, s *Set, table driver.Pointer) {
	if w == nil {
		c.reading(0, 0)
		return
	}
	c.reading(table, len(w.table))
	for _, st := range w.steps {
		if st.W.Rows > 0 {
			c.reads = append(c.reads, s.span(st.W))
		}
	}
}

// GroupMeansGrad sets out (rows x 1) to the sum of M^T w over the steps; add accumulates into out.
func (s *Set) GroupMeansGrad(q Queue, w *MeansGrad, table driver.Pointer, out Operand, add bool) error {
	if w.rows == 0 {
		return nil
	}
	c := &call{name: "group_means_grad"}
	c.grid, c.block = rowwise(w.rows)
	w.add(c, s, table)
	c.ints(w.rows)
	c.sum(s, out, add)
	return s.launch(q, c)
}

// window resolves to = 0, the last row.
func window(g describe.Groups, from, to int) (int, int) {
	if to == 0 {
		to = g.Rows
	}
	return from, to
}

// weightOf returns the weight of entry e of the rows' lists.
func weightOf(g describe.Groups, e int) float64 {
	if g.RowWeights != nil {
		return g.RowWeights[e]
	}
	k := g.RowGroups[e]
	return 1 / float64(g.Starts[k+1]-g.Starts[k])
}
