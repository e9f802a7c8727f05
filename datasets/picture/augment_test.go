package picture

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

// The copies of two pictures of 2 x 3 pixels with two planes.
func TestAugmented(t *testing.T) {
	shape := Shape{Height: 2, Width: 3, Channels: 2}
	m := matrix.NewBytes(2, shape.Pixels(), 0.5)
	for i := range m.Data {
		m.Data[i] = uint8(i)
	}
	flips := NewAugmented(m, shape, AugmentFlip)
	mirrored := []uint8{14, 13, 12, 17, 16, 15, 20, 19, 18, 23, 22, 21}
	want := [][]uint8{m.Data[:12], {2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9}, m.Data[12:], mirrored}
	buffer := make([]uint8, shape.Pixels())
	for i, row := range want {
		if diff := cmp.Diff(row, flips.ByteRow(i, buffer)); diff != "" {
			t.Errorf("flip, row %d: %s", i, diff)
		}
	}
	if n, cols := flips.Dims(); n != 4 || cols != 12 {
		t.Errorf("flip: %d x %d", n, cols)
	}
	wide := make([]float64, 12)
	if flips.Float64(wide, 3, 4); wide[0] != 7 {
		t.Errorf("flip: the first element of row 3 is %v, want 14/2", wide[0])
	}
	all, seen := NewAugmented(m, shape, AugmentFlipShift), map[string]bool{}
	for i := range 18 {
		seen[string(all.ByteRow(i, buffer))] = true
	}
	if n, _ := all.Dims(); n != 36 || len(seen) != 18 {
		t.Errorf("flip-shift: %d rows, %d different copies of the first picture", n, len(seen))
	}
	if diff := cmp.Diff(mirrored, all.ByteRow(19, buffer)); diff != "" {
		t.Errorf("flip-shift, row 19: %s", diff)
	}
	// the first moved copy moves left, and the last is mirrored and moves down and right
	for i, row := range map[int][]uint8{2: {1, 2, 2, 4, 5, 5, 7, 8, 8, 10, 11, 11}, 17: {2, 2, 1, 2, 2, 1, 8, 8, 7, 8, 8, 7}} {
		if diff := cmp.Diff(row, all.ByteRow(i, buffer)); diff != "" {
			t.Errorf("flip-shift, row %d: %s", i, diff)
		}
	}
}
