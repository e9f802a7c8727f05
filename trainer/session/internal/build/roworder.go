package build

import (
	"slices"

	"ppal/datasets/matrix"
)

// rowOrder orders the rows of a batch of sparse rows so that similar rows are neighbours. The CPU's
// products with one column take 32 consecutive rows together and pay for each column in which some
// of these rows have an entry (kernel.Sparse). A batch of 512 rows of Adult has 14% fewer such
// columns than in the order of the table.
//
// The order compares the rows' rarest columns first, then the second rarest columns, and so on. It
// depends only on the data.
type rowOrder struct {
	starts  []int
	columns []int32
	rarity  []int32 // by column: its place when the columns are sorted by their entries, rarest first
}

// mostOrdered is the largest mean number of entries of a row for which rowOrder orders rows. Longer
// rows have no attributes of few values, and would take long to compare.
const mostOrdered = 64

// newRowOrder returns nil for other matrices than sparse ones with few entries in a row.
func newRowOrder(data matrix.Matrix) *rowOrder {
	s, ok := data.(matrix.Sparse)
	if !ok {
		return nil
	}
	rows, cols := s.Dims()
	starts, columns, _ := s.Entries()
	if starts[rows]-starts[0] > mostOrdered*rows {
		return nil
	}
	entries, order := make([]int, cols), make([]int32, cols)
	for _, c := range columns[starts[0]:starts[rows]] {
		entries[c]++
	}
	for c := range order {
		order[c] = int32(c)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return entries[a] - entries[b] })
	a := &rowOrder{starts, columns, make([]int32, cols)}
	for place, c := range order {
		a.rarity[c] = int32(place)
	}
	return a
}

// sort orders a list of row numbers, which is in increasing order. Equal rows keep their order.
func (a *rowOrder) sort(list []int) {
	type row struct {
		number int
		rarest []int32 // places of its columns, rarest first
	}
	rows := make([]row, len(list))
	for k, i := range list {
		places := slices.Clone(a.columns[a.starts[i]:a.starts[i+1]])
		for e, c := range places {
			places[e] = a.rarity[c]
		}
		slices.Sort(places)
		rows[k] = row{i, places}
	}
	slices.SortStableFunc(rows, func(x, y row) int { return slices.Compare(x.rarest, y.rarest) })
	for k, r := range rows {
		list[k] = r.number
	}
}
