package build

import (
	"slices"
	"testing"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
)

// Similar rows of a batch are neighbours: first the rows with the rarest column.
func TestRowOrder(t *testing.T) {
	rows := [][]int32{{0, 3}, {0, 1}, {0, 2, 3}, {0, 1}, {0, 3}, {1, 2}}
	starts, columns := []int{0}, []int32(nil)
	for _, r := range rows {
		columns = append(columns, r...)
		starts = append(starts, len(columns))
	}
	data := &matrix.CSR{Rows: len(rows), Cols: 4, Starts: starts, Columns: columns}
	list := []int{0, 1, 2, 3, 4, 5}
	newRowOrder(data).sort(list)
	// column 2 has 2 entries, columns 1 and 3 have 3, column 0 has 5
	if want := []int{5, 2, 1, 3, 0, 4}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}

// A batch of a sparse table has the rows of its strata in another order, with fewer columns in each
// 32 rows. Rows with many entries, and rows of other matrices, keep the order of the table.
func TestRowOrderOfBatches(t *testing.T) {
	table := require.Value(datasets.LoadTable("", "synthetic-adult", tabular.TableOptions{Seed: 1}))(t)
	data := table.Train.Features
	strata := map[int][]int{}
	for i, y := range table.Train.Labels {
		strata[y] = append(strata[y], i)
	}
	b := &Batches{data: data, rowOrder: newRowOrder(data), order: make([]int, len(table.Train.Labels)/300)}
	for k, y := range []int{-1, 1} {
		rows := strata[y]
		shuffle(rows, 1, uint64(k))
		b.strata, b.counts = append(b.strata, rows), append(b.counts, (len(rows)+len(b.order)-1)/len(b.order))
	}
	touched := func(list []int) (columns int) {
		starts, all, _ := PickData(data, list).(matrix.Sparse).Entries()
		for from := 0; from < len(list); from += 32 {
			group := slices.Clone(all[starts[from]:starts[min(from+32, len(list))]])
			slices.Sort(group)
			columns += len(slices.Compact(group))
		}
		return columns
	}
	ordered, plain := 0, 0
	for k := range b.order {
		list := b.List(k)
		own := b.rowOrder
		b.rowOrder = nil
		byNumber := b.List(k)
		b.rowOrder = own
		ordered, plain = ordered+touched(list), plain+touched(byNumber)
		first := 0
		for _, n := range b.counts {
			stratum := slices.Sorted(slices.Values(list[first : first+n]))
			if !slices.Equal(stratum, byNumber[first:first+n]) {
				t.Fatalf("batch %d has other rows: %v, want %v", k, stratum, byNumber[first:first+n])
			}
			first += n
		}
	}
	if ordered > plain*95/100 {
		t.Errorf("%d columns of groups of 32 rows, %d in the order of the table", ordered, plain)
	}

	long := &matrix.CSR{Rows: 1, Cols: mostOrdered + 1, Starts: []int{0, mostOrdered + 1}, Columns: make([]int32, mostOrdered+1)}
	if newRowOrder(long) != nil || newRowOrder(matrix.NewBytes(2, 3, 1)) != nil {
		t.Error("rows with many entries or other matrices are ordered")
	}
}
