package kernel

import (
	"testing"
	"unsafe"
)

func TestMatrix(t *testing.T) {
	for _, s := range []shape{{n: 1, d: 1}, {n: 12, d: 3}, {n: 13, d: 5}, {n: 0, d: 4}, {n: 4, d: 0}} {
		x := NewMatrix[float64](s.n, s.d)
		for i := range s.n {
			row := make([]float64, s.d)
			for j := range row {
				row[j] = float64(100*i + j)
			}
			x.SetRow(i, row)
		}
		for i := range s.n {
			for j := range s.d {
				if v := x.At(i, j); v != float64(100*i+j) {
					t.Errorf("%v: X[%d,%d] = %v", s, i, j, v)
				}
			}
		}
		if rows, cols := x.Dims(); rows != s.n || cols != s.d {
			t.Errorf("%v: dimensions %d, %d", s, rows, cols)
		}
	}
	// 24,000 rows fill whole panels: nothing but the last tile's room is added.
	if x := NewMatrix[float32](24000, 784); x.Bytes() != 4*(24000*784+11*12) {
		t.Errorf("24,000 x 784 take %d bytes", x.Bytes())
	}
}

func TestAllocAligned(t *testing.T) {
	for n := 1; n < 100; n++ {
		a, b := Alloc[float32](n), Alloc[float64](n)
		if uintptr(unsafe.Pointer(&a[0]))%cacheLine != 0 || uintptr(unsafe.Pointer(&b[0]))%cacheLine != 0 {
			t.Fatalf("%d elements do not begin at a cache line", n)
		}
		if len(a) != n || cap(b) != n {
			t.Fatalf("Alloc(%d) has %d elements, room for %d", n, len(a), cap(b))
		}
	}
	if len(Alloc[float64](0)) != 0 {
		t.Error("Alloc(0) is not empty")
	}
}
