package kernel

import (
	"slices"
	"testing"
)

// TestPackedBytes checks that all values are where both products read them, and nothing else.
func TestPackedBytes(t *testing.T) {
	for _, s := range []shape{{0, 3, 0}, {3, 0, 0}, {1, 1, 0}, {7, 9, 0}, {8, 8, 0}, {RowBlock, 4, 0}, {2*RowBlock + 13, 21, 0}} {
		x := NewPackedBytes(s.n, s.d, 0.5)
		want := make([]uint8, s.n*s.d)
		for i := range want {
			want[i] = uint8(1 + i%255)
		}
		for lo := 0; lo < s.n; lo += 13 { // fours and single rows
			x.setRows(lo, want[lo*s.d:min(lo+13, s.n)*s.d])
		}
		row := make([]uint8, s.d)
		for i := range s.n {
			if row := x.ByteRow(i, row); !slices.Equal(row, want[i*s.d:][:s.d]) {
				t.Errorf("%v: row %d is %v", s, i, row)
			}
		}
		sums := [3]int{}
		for _, v := range x.byRow {
			sums[0] += int(v)
		}
		for _, v := range x.byCol {
			sums[1] += int(v)
		}
		for at, v := range want {
			sums[2] += int(v)
			i, l := at/s.d, at%s.d
			block := x.columnsAt(i / RowBlock * RowBlock)
			rows := ceil(min(RowBlock, s.n-i/RowBlock*RowBlock), quad)
			if r := i % RowBlock; x.At(i, l) != v || x.byCol[block+((l/8*rows+r/4)*8+l%8)*4+r%4] != v {
				t.Fatalf("%v: element %d, %d", s, i, l)
			}
		}
		if sums[0] != sums[2] || sums[1] != sums[2] {
			t.Errorf("%v: sums %v", s, sums)
		}
	}
}

// setRows packs the values of the rows from i on.
func (x *PackedBytes) setRows(i int, values []uint8) {
	var rows [][]uint8
	for row := range slices.Chunk(values, max(1, x.cols)) {
		rows = append(rows, row)
	}
	x.SetRows(i, rows)
}
