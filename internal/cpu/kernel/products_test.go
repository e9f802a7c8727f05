package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

type shape struct{ n, d, h int }

func shapes() []shape {
	s := []shape{
		{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0},
		{1, 1, 1}, {1, 7, 1}, {7, 1, 1}, {1, 1, 40}, {12, 12, 32}, {24, 6, 16},
		{13, 11, 33}, {11, 13, 31}, {25, 5, 17}, {30, 512, 8}, {26, 513, 15}, {14, 1030, 3},
		{241, 25, 49}, {480, 24, 64}, {500, 37, 1},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		s = append(s, shape{1 + r.IntN(80), 1 + r.IntN(80), 1 + r.IntN(80)})
	}
	return s
}

// problem holds the operands of both products. Each operand ends (or begins) at a guard page, with
// gaps of canaries between rows.
type problem[F Float] struct {
	shape
	ldw, ldz, ldd, ldg int
	x                  *PackedFloats[F]
	w, z, delta, g     []F
	panels             *Panels[F]
	scratch            *Scratch[F]
}

func newProblem[F Float](t testing.TB, k *Kernels[F], s shape, r *rand.Rand) *problem[F] {
	atEnd := r.IntN(2) == 0
	buf := func(like []F) []F { return guarded[F](t, len(like), atEnd) }
	p := &problem[F]{shape: s, x: k.NewPackedFloats(s.n, s.d)}
	p.x.data = buf(p.x.data)
	row := make([]F, s.d)
	for i := range s.n {
		for j := range row {
			row[j] = F(r.NormFloat64())
		}
		p.x.SetRow(i, row)
	}
	operand := func(rows, cols int) ([]F, int) { return operand(t, r, rows, cols, atEnd, normals[F](r)) }
	p.w, p.ldw = operand(s.d, s.h)
	p.z, p.ldz = operand(s.n, s.h)
	p.delta, p.ldd = operand(s.n, s.h)
	p.g, p.ldg = operand(s.d, s.h)
	p.panels = k.NewPanels(s.d, s.h)
	p.panels.data = buf(p.panels.data)
	p.panels.Pack(s.d, s.h, p.w, p.ldw)
	p.scratch = k.NewScratch(min(s.n, RowBlock), s.h)
	p.scratch.tile = buf(p.scratch.tile)
	p.scratch.panels.data = buf(p.scratch.panels.data)
	return p
}

// run computes both products block by block.
func (p *problem[F]) run(k *Kernels[F], block int) {
	for lo := 0; lo < p.n; lo += block {
		hi := min(lo+block, p.n)
		z, d := p.z, p.delta
		if p.h > 0 {
			z, d = z[lo*p.ldz:], d[lo*p.ldd:]
		}
		k.Mul(z, p.ldz, p.x, lo, hi, p.panels, p.scratch)
		k.AddMulTrans(p.g, p.ldg, p.x, lo, hi, d, p.ldd, p.h, p.scratch)
	}
}

// TestProducts compares both products with sums in float64. The error of a sum of n products is at
// most n u sum |x| |w|, and its typical size is sqrt(n) u sum |x| |w|.
func TestProducts(t *testing.T) {
	eachKernel(t, testProducts[float32], testProducts[float64])
}

func testProducts[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range shapes() {
		t.Run(fmt.Sprintf("%dx%dx%d", s.n, s.d, s.h), func(t *testing.T) {
			p := newProblem(t, k, s, r)
			before := append([]F(nil), p.g...)
			p.run(k, []int{12, 36, RowBlock}[r.IntN(3)])
			compare(t, "Z", p.z, p.ldz, s.n, s.h, func(i, j int) (sum, size float64) {
				for l := range s.d {
					v := float64(p.x.At(i, l)) * float64(p.w[l*p.ldw+j])
					sum, size = sum+v, size+math.Abs(v)
				}
				return sum, size * float64(s.d)
			})
			compare(t, "G", p.g, p.ldg, s.d, s.h, func(i, j int) (sum, size float64) {
				sum = float64(before[i*p.ldg+j])
				size = math.Abs(sum)
				for l := range s.n {
					v := float64(p.x.At(l, i)) * float64(p.delta[l*p.ldd+j])
					sum, size = sum+v, size+math.Abs(v)
				}
				return sum, size * float64(s.n+1)
			})
		})
	}
}

// compare checks a matrix against its elements in float64, within epsilon times their condition
// (plus the condition of the float64 sum). It also checks the gaps.
func compare[F Float](t *testing.T, name string, a []F, ld, rows, cols int, want func(i, j int) (sum, size float64)) {
	t.Helper()
	for at, v := range a {
		i, j := at/ld, at%ld
		if j >= cols {
			if v != canary {
				t.Fatalf("%s: wrote between rows, after row %d", name, i)
			}
			continue
		}
		if sum, size := want(i, j); !(math.Abs(float64(v)-sum) <= 2*epsilon[F]()*size) {
			t.Fatalf("%s[%d,%d] = %v, want %v", name, i, j, v, sum)
		}
	}
}

// TestProductsSameBits checks that AVX2 and AVX-512 add in the same order, that blocks of rows do
// not change Z, and that a second run gives the same bits.
func TestProductsSameBits(t *testing.T) {
	bothWide(t, testSameBits[float32], testSameBits[float64])
}

func testSameBits[F Float](t *testing.T) {
	for _, s := range shapes() {
		var ref *problem[F]
		for _, level := range []Level{AVX2, AVX512, AVX512} {
			k := mustNew[F](t, level)
			p := newProblem(t, k, s, rand.New(rand.NewPCG(5, 6)))
			p.run(k, 36)
			if ref == nil {
				ref = p
				continue
			}
			if !equal(p.z, ref.z) || !equal(p.g, ref.g) {
				t.Fatalf("%v: %v differs from AVX2", s, level)
			}
			p.run(k, RowBlock)
			if !equal(p.z, ref.z) {
				t.Fatalf("%v: Z depends on the block", s)
			}
		}
	}
}

// TestProductsNonFinite puts one NaN or infinity into X and checks that it reaches its row of Z and
// its row of G, and no other row.
func TestProductsNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			for _, s := range []shape{{13, 14, 35}, {29, 1, 1}, {12, 12, 32}} {
				r := rand.New(rand.NewPCG(7, 8))
				p := newProblem(t, k, s, r)
				row, col := r.IntN(s.n), r.IntN(s.d)
				at, _ := p.x.at(row, col)
				p.x.data[at] = bad
				p.run(k, RowBlock)
				check := func(name string, a []float32, ld, bad int) {
					for at, v := range a {
						finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
						if at%ld < s.h && finite == (at/ld == bad) {
							t.Errorf("%v: %s[%d,%d] = %v", s, name, at/ld, at%ld, v)
						}
					}
				}
				check("Z", p.z, p.ldz, row)
				check("G", p.g, p.ldg, col)
			}
		}
	})
}

// TestProductsConcurrent runs blocks on several goroutines, each with separate scratch and G, and
// compares the results with the results of one goroutine.
func TestProductsConcurrent(t *testing.T) {
	k := mustNew[float32](t, Best())
	s := shape{960, 50, 40}
	ref := newProblem(t, k, s, rand.New(rand.NewPCG(9, 10)))
	p := newProblem(t, k, s, rand.New(rand.NewPCG(9, 10)))
	ref.run(k, RowBlock)
	var group sync.WaitGroup
	for lo := 0; lo < s.n; lo += RowBlock {
		group.Go(func() {
			scratch := k.NewScratch(RowBlock, s.h)
			g := make([]float32, s.d*s.h)
			k.Mul(p.z[lo*p.ldz:], p.ldz, p.x, lo, lo+RowBlock, p.panels, scratch)
			k.AddMulTrans(g, s.h, p.x, lo, lo+RowBlock, p.delta[lo*p.ldd:], p.ldd, s.h, scratch)
		})
	}
	group.Wait()
	if !equal(p.z, ref.z) {
		t.Error("Z depends on who computes it")
	}
}

// TestProductsAllocate checks that products allocate nothing.
func TestProductsAllocate(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		p := newProblem(t, k, shape{50, 30, 40}, rand.New(rand.NewPCG(11, 12)))
		if n := testing.AllocsPerRun(10, func() { p.run(k, RowBlock) }); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestProductsMisuse checks that a caller's mistakes panic before memory is touched.
func TestProductsMisuse(t *testing.T) {
	k := mustNew[float32](t, Best())
	p := newProblem(t, k, shape{30, 5, 7}, rand.New(rand.NewPCG(13, 14)))
	other := mustNew[float32](t, Go)
	calls := map[string]func(){
		"odd block":        func() { k.Mul(p.z, p.ldz, p.x, 0, 13, p.panels, p.scratch) },
		"odd beginning":    func() { k.Mul(p.z, p.ldz, p.x, 1, 30, p.panels, p.scratch) },
		"rows past end":    func() { k.Mul(p.z, p.ldz, p.x, 24, 36, p.panels, p.scratch) },
		"short z":          func() { k.Mul(p.z[:20], p.ldz, p.x, 0, 30, p.panels, p.scratch) },
		"short g":          func() { k.AddMulTrans(p.g[:20], p.ldg, p.x, 0, 30, p.delta, p.ldd, 7, p.scratch) },
		"short d":          func() { k.AddMulTrans(p.g, p.ldg, p.x, 0, 30, p.delta[:20], p.ldd, 7, p.scratch) },
		"small scratch":    func() { k.AddMulTrans(p.g, p.ldg, p.x, 0, 30, p.delta, p.ldd, 7, k.NewScratch(24, 7)) },
		"factor's size":    func() { k.Mul(p.z, p.ldz, p.x, 0, 30, k.NewPanels(4, 7), p.scratch) },
		"panels too small": func() { k.NewPanels(4, 7).Pack(5, 7, p.w, p.ldw) },
	}
	if Best() != Go {
		calls["other level"] = func() { k.Mul(p.z, p.ldz, p.x, 0, 30, other.NewPanels(5, 7), p.scratch) }
	}
	mustPanic(t, calls)
}
