package kernel

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"ppal/internal/require"
)

// holds reports whether a part of memory holds the element.
func holds[E any](part []byte, element *E) bool {
	if len(part) == 0 {
		return false
	}
	at, from := uintptr(unsafe.Pointer(element)), uintptr(unsafe.Pointer(&part[0]))
	return from <= at && at < from+uintptr(len(part))
}

// Rows returns the memory of exactly the given rows, in each copy, up to the panels and blocks that
// rows share. The rows of all windows are all memory.
func TestRowsOfPackedForms(t *testing.T) {
	const rows, cols, window = 3*RowBlock + 50, 70, RowBlock
	for _, layout := range []Layout{{Rows: 16, Depth: 4}, {Rows: 16, Depth: 64}, {Rows: 1, Depth: 4}} {
		x := newPackedBytes(layout, rows, cols, 1)
		digits := NewPackedBFloat16(rows, cols, 3)
		total := map[bool][2]int{} // bytes of both forms
		for lo := 0; lo < rows; lo += window {
			hi := min(lo+window, rows)
			for _, transposed := range []bool{false, true} {
				bytes, halves := x.Rows(lo, hi, transposed), digits.Rows(lo, hi, transposed)
				sum := total[transposed]
				total[transposed] = [2]int{sum[0] + len(bytes), sum[1] + len(halves)}
				for i := range rows {
					_, columns, _ := x.places(i)
					element, half := &columns[0], &digits.byCol[i/RowBlock].data[digits.byCol[i/RowBlock].at(0, i%RowBlock)]
					if !transposed {
						element, half = &x.byRow[x.rowAt(i, cols-1)], &digits.byRow.data[digits.byRow.at(i, cols-1)]
					}
					if in := lo <= i && i < hi; holds(bytes, element) != in || holds(halves, half) != in {
						t.Fatalf("%+v, transposed %t: row %d of the rows %d to %d: bytes %t, digits %t", layout, transposed, i, lo, hi, holds(bytes, element), holds(halves, half))
					}
				}
			}
		}
		if total[false] != [2]int{len(x.byRow), 2 * len(digits.byRow.data)} || total[true] != [2]int{len(x.byCol), 2 * len(digits.data)} {
			t.Errorf("%+v: %v bytes of %d and %d", layout, total, x.Size(), digits.Size())
		}
	}
}

// The parts of sparse rows are the starts and the entries of the rows, or their groups.
func TestRowsOfSparseForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	starts, columns, values := []int{0}, []int32{}, []float64{}
	for range 200 {
		for c := range int32(30) {
			if rng.IntN(2) > 0 {
				columns, values = append(columns, c), append(values, rng.NormFloat64())
			}
		}
		starts = append(starts, len(columns))
	}
	x := require.Value(NewSparseIn[float64](nil, 200, 30, starts, columns, values))(t)
	grouped := *x
	grouped.step = 0
	grouped.groups, _ = grouped.newGroups(nil, grouped.countPairs())
	for lo := 0; lo < 200; lo += 64 {
		hi := min(lo+64, 200)
		for _, tc := range []struct {
			x    *Sparse[float64]
			want int
		}{
			{x, 8*(hi-lo+1) + (4+8)*(starts[hi]-starts[lo])},
			{&grouped, 8*(hi-lo+1) + 4*(ceil(hi, groupRows)-lo/groupRows+1) + 8*int(grouped.groups.starts[ceil(hi, groupRows)]-grouped.groups.starts[lo/groupRows])},
		} {
			got := 0
			for _, part := range tc.x.Rows(lo, hi) {
				got += len(part)
			}
			if got != tc.want {
				t.Errorf("rows %d to %d, groups %t: %d bytes, want %d", lo, hi, tc.x.groups != nil, got, tc.want)
			}
		}
	}
}
