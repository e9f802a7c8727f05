package kernels

import (
	"fmt"

	"ppal/cuda/driver"
	"ppal/internal/plan"
)

// MeansGradStep is M^T w, plan.GroupMeansGrad, for the rows From to To-1 (To = 0: to the last).
type MeansGradStep struct {
	Groups   plan.Groups
	W        Operand // Groups.Count x 1; not read if Host is given
	From, To int
	Host     driver.Pointer // mapped memory with the elements of W as float64; 0: none
}

// MostHost is the largest number of elements of W in mapped memory, over all steps. Every block
// reads all of them once: HOST_NUMBERS of the kernels.
const MostHost = 32

// MeansGrad holds the sum of M^T w over steps, prepared for the device: a table of each row's
// groups.
type MeansGrad struct {
	table []byte
	rows  int
	steps []MeansGradStep
}

// termBytes is the size of a term in the table: count, starts, groups, weights, w, stride, first
// row, and the place of w among the numbers from mapped memory, or none.
const termBytes = 8 * 8

// NewMeansGrad prepares the steps, at least one.
func NewMeansGrad(steps ...MeansGradStep) *MeansGrad {
	w := &MeansGrad{steps: steps}
	t := newTable(8 + termBytes*len(steps))
	t.put(0, int64(len(steps)))
	held := 0
	for i, st := range steps {
		g := st.Groups
		place := int64(none)
		if st.Host != 0 {
			place = int64(held)
			held += g.Count
		}
		from, to := window(g, st.From, st.To)
		w.rows = to - from
		count, starts, groups, weights := int64(g.Count), int64(0), int64(none), int64(none)
		if g.RowStarts == nil {
			starts = t.int64s(g.Starts)
		} else {
			list, of, numbers := make([]int, 1, to-from+1), []int32{}, []float64{}
			for i := from; i < to; i++ {
				lo, hi := g.Of(i)
				of = append(of, g.RowGroups[lo:hi]...)
				for e := lo; e < hi; e++ {
					numbers = append(numbers, weightOf(g, e))
				}
				list = append(list, len(of))
			}
			starts, groups, weights = t.int64s(list), t.int32s(of), t.float64s(numbers)
		}
		w, stride := st.W.At, st.W.Stride
		if st.Host != 0 {
			w, stride = st.Host, 1
		}
		t.put(8+i*termBytes, count, starts, groups, weights, int64(w), int64(stride), int64(from), place)
	}
	if held > MostHost {
		panic(fmt.Sprintf("kernels: %d coefficients in mapped memory, at most %d", held, MostHost))
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
		switch {
		case st.Host != 0:
			c.reads = append(c.reads, driver.Span{At: st.Host, Bytes: 8 * st.Groups.Count})
		case st.W.Rows > 0:
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
func window(g plan.Groups, from, to int) (int, int) {
	if to == 0 {
		to = g.Rows
	}
	return from, to
}

// weightOf returns the weight of entry e of the rows' lists.
func weightOf(g plan.Groups, e int) float64 {
	if g.RowWeights != nil {
		return g.RowWeights[e]
	}
	k := g.RowGroups[e]
	return 1 / float64(g.Starts[k+1]-g.Starts[k])
}
