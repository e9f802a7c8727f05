package kernels

import (
	"ppal/internal/cuda/driver"
	"ppal/trainer/graph/describe"
)

// MeansStep is out = M l - offsets, plan.GroupMeans, or the part of the sum that a window of the
// rows contributes: rows From to To-1 (To = 0: to the last). Add accumulates into out and omits the
// offsets.
type MeansStep struct {
	Groups   describe.Groups
	Offsets  []float64
	Out      Operand // Groups.Count x 1
	From, To int
	Add      bool
	Host     driver.Pointer // mapped memory for the elements of Out as float64; 0: none
}

// Means holds the group means of one or several steps over the same rows, prepared for the device:
// a table of the rows of each group, as ranges or lists.
type Means struct {
	table  []byte
	ranges int
	parts  int // the parts in which a group is summed
	steps  []MeansStep
}

// A block of threads sums at most shortMeans rows of a group, unless all groups together would have
// more than meansBlocks such parts: then it sums at most longMeans rows. A group has at most
// meansParts parts, which may be longer.
const (
	shortMeans  = blockSize
	longMeans   = 1024
	meansBlocks = 512
	meansParts  = 128
)

// NewMeans prepares the steps.
func NewMeans(steps ...MeansStep) *Means {
	m := &Means{steps: steps, parts: 1}
	for _, st := range steps {
		m.ranges += st.Groups.Count
	}
	t := newTable(rangeBytes * m.ranges)
	at, longest := 0, 0
	for _, st := range steps {
		lists := listsOf(st)
		members, weights := int64(none), int64(none)
		if lists.members != nil {
			members, weights = t.int32s(lists.members), t.float64s(lists.weights)
		}
		for k := range st.Groups.Count {
			offset, add := 0.0, int64(0)
			if st.Add {
				add = 1
			} else if st.Offsets != nil {
				offset = st.Offsets[k]
			}
			host := st.Host
			if host != 0 {
				host = host.Offset(8 * k)
			}
			t.put(at, lists.first[k], lists.last[k], members, weights, bitsOf(lists.scale[k]), bitsOf(offset),
				int64(st.Out.At), int64(k*st.Out.Stride), add, int64(host))
			at += rangeBytes
			longest = max(longest, int(lists.last[k]-lists.first[k]))
		}
	}
	m.table = t.bytes
	m.parts = max(ceil(longest, shortMeans), 1)
	if m.parts*m.ranges > meansBlocks {
		m.parts = max(ceil(longest, longMeans), 1)
	}
	m.parts = min(m.parts, meansParts)
	return m
}

// rangeBytes is the size of a range in the table: first, last, members, weights, scale, offset,
// out, element, add, host.
const rangeBytes = 10 * 8

// Table returns the bytes that the caller uploads to an address that is a multiple of 8.
func (m *Means) Table() []byte { return m.table }

// GroupMeans computes the means of in (rows x 1): plan.GroupMeans. Sums are float64, and their
// order depends on the groups only.
func (s *Set) GroupMeans(q Queue, m *Means, table driver.Pointer, in Operand) error {
	return s.means(q, "means_values", m, table, Loss{Scores: in})
}

// LossMeans computes the means of losses without writing the losses: plan.MarginLoss or
// plan.SignedLoss fused with plan.GroupMeans.
func (s *Set) LossMeans(q Queue, m *Means, table driver.Pointer, l Loss) error {
	return s.means(q, l.name("means_signed", "means_margin"), m, table, l)
}

func (s *Set) means(q Queue, name string, m *Means, table driver.Pointer, l Loss) error {
	if m.ranges == 0 {
		return nil
	}
	c := &call{name: name}
	c.grid, c.block = [3]int{m.parts, min(m.ranges, maxGrid), 1}, [3]int{blockSize, 1, 1}
	c.reading(table, len(m.table))
	c.ints(m.ranges)
	l.add(c, s)
	if err := c.partial(q, 8*m.parts*m.ranges, m.ranges); err != nil {
		return err
	}
	for _, st := range m.steps {
		c.writes = append(c.writes, s.span(st.Out))
		if st.Add {
			c.reads = append(c.reads, s.span(st.Out))
		}
		if st.Host != 0 {
			c.writes = append(c.writes, driver.Span{At: st.Host, Bytes: 8 * st.Groups.Count})
		}
	}
	return s.launch(q, c)
}

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
