package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func TestMatrix(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		for _, s := range []shape{{n: 1, d: 1}, {n: 12, d: 3}, {n: 13, d: 5}, {n: 0, d: 4}, {n: 4, d: 0}} {
			x := k.NewPackedFloats(s.n, s.d)
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
					if row, step := x.Row(i); row[j*step] != float64(100*i+j) {
						t.Errorf("%v: row %d has %v in column %d", s, i, row[j*step], j)
					}
				}
			}
			if rows, cols := x.Dims(); rows != s.n || cols != s.d {
				t.Errorf("%v: dimensions %d, %d", s, rows, cols)
			}
		}
		// 24,000 rows fill whole panels, so the layout adds only room for the last tile.
		want := 8 * 24000 * 784
		if level != Go {
			want += 8 * 11 * 12
		}
		if x := k.NewPackedFloats(24000, 784); x.Size() != want {
			t.Errorf("24,000 x 784 take %d bytes, want %d", x.Size(), want)
		}
	})
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

// A matrix of another size in the same memory gives the same products, whatever the previous
// content of the memory.
func TestMatrixResize(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		r := rand.New(rand.NewPCG(1, 2))
		used := k.NewPackedFloats(60, 80)
		room := &used.data[0]
		for _, s := range shapes() {
			if s.n > 60 || s.d > 80 || s.n == 0 || s.d == 0 || s.h == 0 {
				continue
			}
			used.Resize(60, 80)
			for i := range used.data {
				used.data[i] = math.NaN()
			}
			used.Resize(s.n, s.d)
			fresh := newProblem[float64](t, k, s, r)
			again := *fresh
			again.x, again.z, again.g = used, slices.Clone(fresh.z), slices.Clone(fresh.g)
			for i := range s.n {
				for j := range s.d {
					at, _ := used.at(i, j)
					used.data[at] = fresh.x.At(i, j)
				}
			}
			fresh.run(k, RowBlock)
			again.run(k, RowBlock)
			if &used.data[0] != room || !slices.Equal(again.z, fresh.z) || !slices.Equal(again.g, fresh.g) {
				t.Fatalf("%v: products differ, or the memory was not reused", s)
			}
		}
	})
}
