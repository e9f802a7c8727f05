package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ppal/internal/require"
)

// sparseProblem holds the operands of both products. Each operand ends (or begins) at a guard page,
// with canaries between rows.
type sparseProblem[F Float] struct {
	shape
	ldw, ldz, ldd, ldg int
	x                  *Sparse[F]
	w, z, delta, g     []F
	factor             *SparseFactor[F]
	sums               *SparseSums[F]
	row                []float64
	scratch            *Scratch[F]
}

// The kinds of values.
const (
	ones = iota
	equalValues
	anyValues
	valueKinds
)

// csr draws a sparse matrix of about the given density. Some rows and some columns have no entry.
func csr(r *rand.Rand, rows, cols int, density float64, kind int) (starts []int, columns []int32, values []float64) {
	starts = make([]int, 1, rows+1)
	for range rows {
		empty := r.IntN(5) == 0
		for c := range cols {
			if !empty && c%7 != 3 && r.Float64() < density {
				columns = append(columns, int32(c))
			}
		}
		starts = append(starts, len(columns))
	}
	if kind == ones {
		return starts, columns, nil
	}
	values = make([]float64, len(columns))
	for i := range values {
		values[i] = -1.5
		if kind == anyValues {
			values[i] = float64(float32(r.NormFloat64()))
		}
	}
	return starts, columns, values
}

func newSparseProblem[F Float](t testing.TB, k *Kernels[F], s shape, density float64, kind int, r *rand.Rand) *sparseProblem[F] {
	atEnd := r.IntN(2) == 0
	starts, columns, values := csr(r, s.n, s.d, density, kind)
	x := require.Value(NewSparseIn[F](nil, s.n, s.d, starts, columns, values))(t)
	p := &sparseProblem[F]{shape: s, x: x, row: make([]float64, s.h)}
	operand := func(rows, cols int) ([]F, int) { return operand(t, r, rows, cols, atEnd, normals[F](r)) }
	p.w, p.ldw = operand(s.d, s.h)
	p.z, p.ldz = operand(s.n, s.h)
	p.delta, p.ldd = operand(s.n, s.h)
	p.g, p.ldg = operand(s.d, s.h)
	p.factor, p.sums, p.scratch = k.NewSparseFactor(x, s.h), k.NewSparseSums(x, s.h), k.NewScratch(1, 1)
	if p.factor.packed != nil {
		p.factor.packed = guarded[F](t, len(p.factor.packed), atEnd)
	}
	if p.sums.part != nil {
		p.sums.part = guarded[F](t, len(p.sums.part), atEnd)
	}
	p.factor.Set(p.w, p.ldw)
	return p
}

// run computes both products in blocks of rows and stores G, adding to every other row.
func (p *sparseProblem[F]) run(k *Kernels[F], block int) {
	p.sums.Clear()
	for lo := 0; lo < p.n; lo += block {
		hi := min(lo+block, p.n)
		k.MulSparse(p.z[lo*p.ldz:], p.ldz, lo, hi, p.factor, p.scratch)
		k.AddMulTransSparse(p.sums, lo, hi, p.delta[lo*p.ldd:], p.ldd)
	}
	for i := range p.d {
		clear(p.row)
		p.sums.AddRows(p.row, i)
		for j, v := range p.row {
			if i%2 == 1 {
				v += float64(p.g[i*p.ldg+j])
			}
			p.g[i*p.ldg+j] = F(v)
		}
	}
}

// expected returns G of run in float64, and the sum of the magnitudes of the terms.
func (p *sparseProblem[F]) expected() (sums, sizes []float64) {
	sums, sizes = make([]float64, p.d*p.h), make([]float64, p.d*p.h)
	add := func(c, j int, v float64) {
		sums[c*p.h+j] += v
		sizes[c*p.h+j] += math.Abs(v)
	}
	for c := 1; c < p.d; c += 2 {
		for j := range p.h {
			add(c, j, float64(p.g[c*p.ldg+j]))
		}
	}
	for i := range p.n {
		for e := p.x.starts[i]; e < p.x.starts[i+1]; e++ {
			for j := range p.h {
				add(int(p.x.columns[e]), j, float64(p.x.values[e*p.x.step])*float64(p.delta[i*p.ldd+j]))
			}
		}
	}
	return sums, sizes
}

// element returns X[i,c].
func (p *sparseProblem[F]) element(i, c int) float64 {
	for e := p.x.starts[i]; e < p.x.starts[i+1]; e++ {
		if int(p.x.columns[e]) == c {
			return float64(p.x.values[e*p.x.step])
		}
	}
	return 0
}

func sparseShapes() []shape {
	s := []shape{{1, 1, 1}, {1, 7, 1}, {7, 1, 3}, {33, 5, 1}, {32, 9, 1}, {500, 37, 1}, {64, 11, 64}, {40, 6, 65}, {31, 20, 2}, {9000, 4, 1}, {9000, 3, 5}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		s = append(s, shape{1 + r.IntN(150), 1 + r.IntN(60), 1 + r.IntN(1+r.IntN(70))})
	}
	return s
}

// eachSparse runs a test for every shape, some densities and all kinds of values.
func eachSparse(t *testing.T, test func(t *testing.T, s shape, density float64, kind int)) {
	for _, s := range sparseShapes() {
		for _, density := range []float64{0.03, 0.6} {
			for kind := range valueKinds {
				t.Run(fmt.Sprintf("%dx%dx%d/%v/%d", s.n, s.d, s.h, density, kind), func(t *testing.T) { test(t, s, density, kind) })
			}
		}
	}
}

// TestSparseProducts compares both products with sums in float64, as TestProducts does.
func TestSparseProducts(t *testing.T) {
	eachKernel(t, testSparseProducts[float32], testSparseProducts[float64])
}

func testSparseProducts[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(3, 4))
	grouped, single := 0, 0
	eachSparse(t, func(t *testing.T, s shape, density float64, kind int) {
		p := newSparseProblem(t, k, s, density, kind, r)
		sums, sizes := p.expected()
		p.run(k, []int{1, 17, 240, 10000}[r.IntN(4)])
		compare(t, "Z", p.z, p.ldz, s.n, s.h, func(i, j int) (sum, size float64) {
			for e := p.x.starts[i]; e < p.x.starts[i+1]; e++ {
				v := float64(p.x.values[e*p.x.step]) * float64(p.w[int(p.x.columns[e])*p.ldw+j])
				sum, size = sum+v, size+math.Abs(v)
			}
			return sum, size * float64(s.d+1)
		})
		compare(t, "G", p.g, p.ldg, s.d, s.h, func(c, j int) (sum, size float64) {
			return sums[c*s.h+j], sizes[c*s.h+j] * float64(min(s.n, 100)+1) // the errors of many rows add up like random numbers
		})
		if p.x.groups != nil {
			grouped++
		} else if s.h == 1 {
			single++
		}
	})
	if k.sparse.groupMul != nil && (grouped == 0 || single == 0) {
		t.Errorf("%d matrices in groups, %d others with one column: want both", grouped, single)
	}
}

// TestSparseSameBits checks that AVX2 and AVX-512 add in the same order, that the blocks of rows do
// not change the bits, and that a second run gives the same bits.
func TestSparseSameBits(t *testing.T) {
	bothWide(t, testSparseSameBits[float32], testSparseSameBits[float64])
}

func testSparseSameBits[F Float](t *testing.T) {
	eachSparse(t, func(t *testing.T, s shape, density float64, kind int) {
		var ref *sparseProblem[F]
		for _, level := range []Level{AVX2, AVX512, AVX512} {
			k := mustNew[F](t, level)
			p := newSparseProblem(t, k, s, density, kind, rand.New(rand.NewPCG(5, 6)))
			p.run(k, 240)
			if ref == nil {
				ref = p
				continue
			}
			if !equal(p.z, ref.z) || !equal(p.g, ref.g) {
				t.Fatalf("%v differs from AVX2", level)
			}
			again := newSparseProblem(t, k, s, density, kind, rand.New(rand.NewPCG(5, 6)))
			again.run(k, 50)
			if !equal(again.z, ref.z) || !equal(again.g, ref.g) {
				t.Fatal("depends on the blocks")
			}
		}
	})
}

// TestSparseSumsAdd checks that the sums of two goroutines add up to the sums of one goroutine, and
// that reading the sums does not change them.
func TestSparseSumsAdd(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		for _, h := range []int{1, 6} {
			for kind := range valueKinds {
				p := newSparseProblem(t, k, shape{300, 20, h}, 0.5, kind, rand.New(rand.NewPCG(9, 9)))
				whole, parts := k.NewSparseSums(p.x, h), [2]*SparseSums[float64]{k.NewSparseSums(p.x, h), k.NewSparseSums(p.x, h)}
				k.AddMulTransSparse(whole, 0, 300, p.delta, p.ldd)
				k.AddMulTransSparse(parts[0], 0, 130, p.delta, p.ldd)
				k.AddMulTransSparse(parts[1], 130, 300, p.delta[130*p.ldd:], p.ldd)
				for i := range p.d {
					want, got, again := make([]float64, h), make([]float64, h), make([]float64, h)
					whole.AddRows(want, i)
					for _, s := range parts {
						s.AddRows(got, i)
						s.AddRows(again, i)
					}
					for j := range want {
						if math.Abs(got[j]-want[j]) > 1e-12 || again[j] != got[j] {
							t.Fatalf("%d columns, values %d: G[%d,%d] is %v and %v, want %v", h, kind, i, j, got[j], again[j], want[j])
						}
					}
				}
			}
		}
	})
}

// TestSparseSumsAgain checks sums that are used again: after Clear they equal those of new memory,
// and sums without rows of their own have what Add and the caller of Totals add.
func TestSparseSumsAgain(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		for _, h := range []int{1, 6, 16, 40} {
			for kind := range valueKinds {
				p := newSparseProblem(t, k, shape{300, 20, h}, 0.5, kind, rand.New(rand.NewPCG(9, 9)))
				read := func(s *SparseSums[float32]) []float64 {
					g := make([]float64, p.d*h)
					s.AddRows(g, 0)
					return g
				}
				sums, first := k.NewSparseSums(p.x, h), k.NewSparseSums(p.x, h)
				k.AddMulTransSparse(first, 0, 130, p.delta, p.ldd)
				want := read(first)
				sums.Add(first)
				if !equal(read(sums), want) {
					t.Errorf("%d columns, values %d: 0 and other sums are not these sums", h, kind)
				}
				for range 2 {
					sums.Clear()
					if !equal(read(sums), make([]float64, p.d*h)) {
						t.Errorf("%d columns, values %d: sums are not 0 after Clear", h, kind)
					}
					k.AddMulTransSparse(sums, 0, 130, p.delta, p.ldd)
					if !equal(read(sums), want) {
						t.Errorf("%d columns, values %d: other sums after Clear", h, kind)
					}
				}
				sums.Totals()
				if !equal(read(sums), want) {
					t.Errorf("%d columns, values %d: Totals changes the sums", h, kind)
				}
				sums.Clear()
				copy(sums.Totals(), first.Totals())
				if !equal(read(sums), want) {
					t.Errorf("%d columns, values %d: the sums are not the totals of the caller", h, kind)
				}
			}
		}
	})
}

// TestSparseNonFinite checks that a NaN in W or D reaches the rows with an entry at its place, and
// no other rows.
func TestSparseNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		for _, h := range []int{1, 5} {
			for kind := range valueKinds {
				p := newSparseProblem(t, k, shape{70, 12, h}, 0.5, kind, rand.New(rand.NewPCG(7, 8)))
				const row, col = 40, 5
				p.w[col*p.ldw], p.delta[row*p.ldd] = float32(math.NaN()), float32(math.Inf(1))
				p.factor.Set(p.w, p.ldw)
				clear(p.g)
				p.run(k, 240)
				for i := range p.n {
					if nan := math.IsNaN(float64(p.z[i*p.ldz])); nan != (p.element(i, col) != 0) {
						t.Errorf("%d columns, values %d: Z[%d,0] = %v", h, kind, i, p.z[i*p.ldz])
					}
				}
				for c := range p.d {
					if finite := math.Abs(float64(p.g[c*p.ldg])) < 1e30; finite == (p.element(row, c) != 0) {
						t.Errorf("%d columns, values %d: G[%d,0] = %v", h, kind, c, p.g[c*p.ldg])
					}
				}
			}
		}
	})
}

// TestSparseAllocate checks that products allocate nothing.
func TestSparseAllocate(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		for _, h := range []int{1, 40} {
			p := newSparseProblem(t, k, shape{50, 30, h}, 0.5, ones, rand.New(rand.NewPCG(11, 12)))
			if n := testing.AllocsPerRun(10, func() { p.factor.Set(p.w, p.ldw); p.run(k, 30) }); n > 0 {
				t.Errorf("%d columns: %v allocations", h, n)
			}
		}
	})
}

// TestSparseRefers checks that the products refer to entries in the right form without a copy, and
// do not store values that are all equal.
func TestSparseRefers(t *testing.T) {
	starts, columns, values := csr(rand.New(rand.NewPCG(1, 1)), 20, 9, 0.5, anyValues)
	x := require.Value(NewSparseIn[float64](nil, 20, 9, starts, columns, values))(t)
	if &x.values[0] != &values[0] || &x.columns[0] != &columns[0] {
		t.Error("the entries were copied")
	}
	if y, err := NewSparseIn[float32](nil, 20, 9, starts, columns, nil); err != nil || len(y.values) != 1 || !y.Compact() {
		t.Errorf("%v, %v", y, err)
	}
}

// TestSparseWindow checks that a window of rows of a larger matrix gives the same products as the
// rows alone.
func TestSparseWindow(t *testing.T) {
	starts, columns, values := csr(rand.New(rand.NewPCG(1, 1)), 20, 9, 0.5, anyValues)
	for _, values := range [][]float64{nil, values} {
		whole := require.Value(NewSparseIn[float32](nil, 20, 9, starts, columns, values))(t)
		part := require.Value(NewSparseIn[float32](nil, 6, 9, starts[8:15], columns, values))(t)
		if part.starts[0] != 0 || part.starts[6] != len(part.columns) || len(part.columns) != starts[14]-starts[8] {
			t.Errorf("starts %v of %d entries", part.starts, len(part.columns))
		}
		a, b := sparseProblem[float32]{x: whole}, sparseProblem[float32]{x: part}
		for i := range 6 {
			for c := range 9 {
				if a.element(8+i, c) != b.element(i, c) {
					t.Errorf("element (%d, %d) is %v, want %v", i, c, b.element(i, c), a.element(8+i, c))
				}
			}
		}
	}
}

func TestNewSparseRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		starts  []int
		columns []int32
		values  []float64
		want    string
	}{
		{"starts", []int{0, 1}, []int32{0}, nil, "2 x 3 with 2 starts"},
		{"first start", []int{-1, 1, 1}, []int32{0}, nil, "3 starts and 1 entries"},
		{"last start", []int{0, 1, 2}, []int32{0}, nil, "row 1: entries 1 to 2 of 1"},
		{"decreasing starts", []int{0, 2, 1}, []int32{0}, nil, "row 0: entries 0 to 2 of 1"},
		{"back", []int{0, 1, 0}, nil, nil, "row 0: entries 0 to 1 of 0"},
		{"values", []int{0, 1, 1}, []int32{0}, []float64{1, 2}, "2 values of 1 entries"},
		{"column", []int{0, 0, 1}, []int32{3}, nil, "row 1: column 3 after -1, of 3"},
		{"negative column", []int{0, 0, 1}, []int32{-1}, nil, "row 1: column -1"},
		{"repeated column", []int{0, 2, 2}, []int32{1, 1}, nil, "row 0: column 1 after 1"},
		{"decreasing columns", []int{0, 2, 2}, []int32{1, 0}, nil, "row 0: column 0 after 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewSparseIn[float32](nil, 2, 3, test.starts, test.columns, test.values)
			if !errors.Is(err, ErrSparse) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestSparseMisuse checks that a caller's mistakes panic before memory is touched.
func TestSparseMisuse(t *testing.T) {
	k := mustNew[float32](t, Best())
	p := newSparseProblem(t, k, shape{30, 5, 7}, 0.5, ones, rand.New(rand.NewPCG(13, 14)))
	mustPanic(t, map[string]func(){
		"rows past end":   func() { k.MulSparse(p.z, p.ldz, 0, 31, p.factor, p.scratch) },
		"negative row":    func() { k.MulSparse(p.z, p.ldz, -1, 3, p.factor, p.scratch) },
		"short z":         func() { k.MulSparse(p.z[:20], p.ldz, 0, 30, p.factor, p.scratch) },
		"short w":         func() { p.factor.Set(p.w[:20], p.ldw) },
		"no w":            func() { k.MulSparse(p.z, p.ldz, 0, 30, k.NewSparseFactor(p.x, 7), p.scratch) },
		"short d":         func() { k.AddMulTransSparse(p.sums, 0, 30, p.delta[:20], p.ldd) },
		"D's rows behind": func() { k.AddMulTransSparse(p.sums, 20, 10, p.delta, p.ldd) },
	})
}
