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
