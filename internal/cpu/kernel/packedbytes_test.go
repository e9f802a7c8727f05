package kernel

import (
	"slices"
	"testing"
)

// TestPackedBytes checks that every value is at the place where both products read it, and that no
// other memory is written. It uses the layout of the current tiles and other layouts.
func TestPackedBytes(t *testing.T) {
	for _, layout := range []Layout{{8, 4}, {12, 4}, {16, 64}, {6, 8}} {
		for _, s := range []shape{{0, 3, 0}, {3, 0, 0}, {1, 1, 0}, {7, 9, 0}, {8, 8, 0}, {RowBlock, 4, 0}, {2*RowBlock + 13, 21, 0}} {
			testPackedBytes(t, layout, s)
		}
	}
}

func testPackedBytes(t *testing.T, layout Layout, s shape) {
	t.Helper()
	x := newPackedBytes(layout, s.n, s.d, 0.5)
	want := make([]uint8, s.n*s.d)
	for i := range want {
		want[i] = uint8(1 + i%255)
	}
	for lo := 0; lo < s.n; lo += 13 { // full groups of four rows and single rows
		x.setRows(lo, want[lo*s.d:min(lo+13, s.n)*s.d])
	}
	row := make([]uint8, s.d)
	for i := range s.n {
		if row := x.ByteRow(i, row); !slices.Equal(row, want[i*s.d:][:s.d]) {
			t.Errorf("%v %v: row %d is %v", layout, s, i, row)
		}
	}
	sums := [3]int{}
	for _, v := range x.byRow {
		sums[0] += int(v)
	}
	for _, v := range x.byCol {
		sums[1] += int(v)
	}
	high, depth := layout.Rows, layout.Depth
	for at, v := range want {
		sums[2] += int(v)
		i, l := at/s.d, at%s.d
		block := x.columnsAt(i / RowBlock * RowBlock)
		groups := ceil(min(RowBlock, s.n-i/RowBlock*RowBlock), depth)
		r := i % RowBlock
		if x.At(i, l) != v || x.byCol[block+((l/high*groups+r/depth)*high+l%high)*depth+r%depth] != v {
			t.Fatalf("%v %v: element %d, %d", layout, s, i, l)
		}
	}
	if sums[0] != sums[2] || sums[1] != sums[2] {
		t.Errorf("%v %v: sums %v", layout, s, sums)
	}
}

// setRows packs values into the rows from i on.
func (x *PackedBytes) setRows(i int, values []uint8) {
	var rows [][]uint8
	for row := range slices.Chunk(values, max(1, x.cols)) {
		rows = append(rows, row)
	}
	x.SetRows(i, rows)
}
