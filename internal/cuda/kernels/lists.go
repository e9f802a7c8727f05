package kernels

// lists holds the groups of a step one after the other. Group k has the rows first[k] to last[k]-1
// or, if members is not nil, the rows members[first[k]] to members[last[k]-1].
type lists struct {
	first, last []int64
	members     []int32   // rows, increasing within a group; nil if the groups are ranges of rows
	weights     []float64 // of the members
	scale       []float64 // of the groups
}

// listsOf returns the groups of a step. Rows are counted from the step's first row.
func listsOf(st MeansStep) lists {
	g := st.Groups
	from, to := window(g, st.From, st.To)
	l := lists{first: make([]int64, g.Count), last: make([]int64, g.Count), scale: make([]float64, g.Count)}
	if g.RowStarts == nil {
		for k := range g.Count {
			lo, hi := max(g.Starts[k], from), min(g.Starts[k+1], to)
			l.first[k], l.last[k] = int64(lo-from), int64(max(lo, hi)-from)
			if g.Starts[k+1] > g.Starts[k] {
				l.scale[k] = 1 / float64(g.Starts[k+1]-g.Starts[k])
			}
		}
		return l
	}
	for i := from; i < to; i++ {
		first, last := g.Of(i)
		for _, k := range g.RowGroups[first:last] {
			l.last[k]++
		}
	}
	end := int64(0)
	for k, n := range l.last {
		l.first[k], l.last[k], l.scale[k] = end, end, 1
		end += n
	}
	l.members, l.weights = make([]int32, end), make([]float64, end)
	for i := from; i < to; i++ {
		for e, last := g.Of(i); e < last; e++ {
			at := &l.last[g.RowGroups[e]]
			l.members[*at], l.weights[*at] = int32(i-from), weightOf(g, e)
			*at++
		}
	}
	return l
}
