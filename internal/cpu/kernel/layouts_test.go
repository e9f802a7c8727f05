package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
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

// TestRowSets compares the passes with loops, on vectors of every length that end or begin at a
// guard page. The elements outside the set are NaN.
func TestRowSets(t *testing.T) {
	eachKernel(t, testRowSets[float32], testRowSets[float64])
}

func testRowSets[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	eachLength(t, 1, func(v [][]F) {
		x := v[0]
		n := len(x)
		for _, lo := range []int{0, 16, 240, 5, 33} {
			set, in := NewRowSet(lo+n), make([]bool, n)
			for i := range lo {
				set.Add(i)
			}
			var want float64
			for i := range x {
				if x[i] = F(math.NaN()); r.IntN(2) == 0 {
					set.Add(lo + i)
					x[i], in[i] = F(r.IntN(9)-4), true
					want += float64(x[i])
				}
			}
			if got := k.SumWhere(x, set, lo); got != want {
				t.Fatalf("%d rows from %d on: the sum is %v, want %v", n, lo, got, want)
			}
			for i := range x {
				x[i] = F(i)
			}
			k.AddWhere(x, set, lo, 0.5)
			check(t, x, in, func(i int) float64 { return float64(i) + 0.5 })
			k.SetWhere(x, set, lo, -2)
			check(t, x, in, func(int) float64 { return -2 })
		}
	})
}

// check compares the rows in the set with want, and checks that the other rows did not change.
func check[F Float](t *testing.T, x []F, in []bool, want func(i int) float64) {
	t.Helper()
	for i, got := range x {
		expected := float64(i)
		if in[i] {
			expected = want(i)
		}
		if float64(got) != expected {
			t.Fatalf("element %d of %d is %v, want %v", i, len(x), got, expected)
		}
	}
}

// TestSum compares the sum with the dot product with a vector of ones, to the bit.
func TestSum(t *testing.T) {
	eachKernel(t, testSum[float32], testSum[float64])
}

func testSum[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	eachLength(t, 1, func(v [][]F) {
		x := v[0]
		ones := make([]F, len(x))
		for i := range x {
			x[i], ones[i] = F(r.NormFloat64()), 1
		}
		if got, want := k.Sum(x), k.Dot(x, ones); got != want {
			t.Errorf("the sum is %v, want %v", got, want)
		}
	})
}

// Panels that are packed in shares, from a matrix or from its transpose, equal the panels of Pack.
func TestPackPanels(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range shapes() {
			rows, cols, ld := s.d, s.h, max(s.d, s.h)+3
			b, trans := make([]float32, ld*ld), make([]float32, ld*ld)
			for i := range ld {
				for j := range ld {
					b[i*ld+j] = r.Float32()
					trans[j*ld+i] = b[i*ld+j]
				}
			}
			want := k.NewPanels(rows, cols)
			want.Pack(rows, cols, b, ld)
			for _, c := range []struct {
				trans  bool
				source []float32
			}{{false, b}, {true, trans}} {
				p := k.NewPanels(rows, cols)
				for i := range p.data {
					p.data[i] = canary
				}
				p.Resize(rows, cols)
				half := p.Count() / 2
				p.PackPanels(half, p.Count(), c.source, ld, c.trans)
				p.PackPanels(0, half, c.source, ld, c.trans)
				if !slices.Equal(p.data, want.data) {
					t.Fatalf("%v, transposed %v: the panels differ", s, c.trans)
				}
			}
		}
	})
}

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
