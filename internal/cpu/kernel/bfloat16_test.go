package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
)

// bfloat16Kernels returns the kernels for digits of bfloat16: the AMX kernels in the model of the
// instructions, the loops in Go, and the AMX kernels themselves if the machine has the tiles.
func bfloat16Kernels(t *testing.T) map[string]*ByteKernels {
	list := map[string]*ByteKernels{"model": amxModel(t), "go": must(NewByteKernels(fastest())).WithBFloat16InGo()}
	if AMX.Supported() {
		if k := must(NewByteKernels(AMX)); k.HasBFloat16() {
			list["amx"] = k
		}
	}
	return list
}

// anyFloat draws numbers of many sizes.
func anyFloat(r *rand.Rand) func() float32 {
	return func() float32 { return float32(r.NormFloat64() * math.Exp(2*r.NormFloat64())) }
}

// TestBFloat16Products checks X W and X^T D, block by block, against products with the roundings of
// TDPBF16PS without tiles, to the bit, and against float64. The results end or begin at a guard
// page.
func TestBFloat16Products(t *testing.T) {
	require.NoRace(t, alone)
	r := rand.New(rand.NewPCG(81, 82))
	list := []shape{{1, 1, 1}, {16, 32, 16}, {17, 33, 17}, {33, 160, 16}, {32, 161, 3}, {2*RowBlock + 35, 40, 2}, {60, 321, 20}, {20, 784, 10}}
	for range 4 {
		list = append(list, shape{1 + r.IntN(70), 1 + r.IntN(400), 1 + r.IntN(40)})
	}
	if testing.Short() {
		list = slices.Delete(list, 5, len(list)-2)
	}
	for name, k := range bfloat16Kernels(t) {
		for i, s := range list {
			p := newBFloat16Problem(k, s, 2+i%2, r)
			z, ldz := operand(t, r, s.n, s.h, i%2 == 0, func() float32 { return 7 })
			g, ldg := operand(t, r, s.d, s.h, i%2 == 1, func() float32 { return 0 })
			p.run(k, z, ldz, g, ldg)
			inner := func(row, l int) float32 { return p.x[row*s.d+l] }
			p.check(t, name+": Z", z, ldz, s.n, inner, func(j, l int) float32 { return p.w[l*s.h+j] }, s.d, s.d)
			p.check(t, name+": G", g, ldg, s.d, func(f, row int) float32 { return inner(row, f) },
				func(j, row int) float32 { return p.d[row*s.h+j] }, s.n, RowBlock)
			if t.Failed() {
				t.Fatalf("%v, %d digits", s, p.packed.Digits())
			}
			before := g[0]
			if k.AddMulTransBFloat16(g, ldg, p.packed, 0, min(s.n, RowBlock), p.ofBlock(k, 0), p.scratch); s.n <= bfloat16Sum && g[0] != 2*before {
				t.Errorf("%s, %v: the second product is not added", name, s)
			}
		}
	}
}

// bfloat16Problem has the operands of both products: X of n x d, W of d x h, D of n x h.
type bfloat16Problem struct {
	shape
	x, w, d       []float32
	packed        *PackedBFloat16
	factor, block *BFloat16
	scratch       *ByteScratch
}

func newBFloat16Problem(k *ByteKernels, s shape, digits int, r *rand.Rand) *bfloat16Problem {
	p := &bfloat16Problem{shape: s, packed: NewPackedBFloat16(s.n, s.d, digits), factor: NewBFloat16(s.d, s.h, digits),
		block: NewBFloat16(min(s.n, RowBlock), s.h, digits), scratch: k.NewByteScratch()}
	number := anyFloat(r)
	for _, m := range []struct {
		to *[]float32
		n  int
	}{{&p.x, s.n * s.d}, {&p.w, s.d * s.h}, {&p.d, s.n * s.h}} {
		for range m.n {
			*m.to = append(*m.to, number())
		}
	}
	for i := range s.n {
		p.packed.SetRow(i, p.x[i*s.d:][:s.d])
	}
	k.SplitBFloat16(p.factor, 0, p.factor.Panels(), p.w, s.h)
	return p
}

// ofBlock returns the digits of a block of D.
func (p *bfloat16Problem) ofBlock(k *ByteKernels, lo int) *BFloat16 {
	p.block.Resize(min(RowBlock, p.n-lo))
	k.SplitBFloat16(p.block, 0, p.block.Panels(), p.d[lo*p.h:], p.h)
	return p.block
}

// run computes Z and adds to G.
func (p *bfloat16Problem) run(k *ByteKernels, z []float32, ldz int, g []float32, ldg int) {
	for lo := 0; lo < p.n; lo += RowBlock {
		hi := min(lo+RowBlock, p.n)
		k.MulBFloat16(z[lo*ldz:], ldz, p.packed, lo, hi, p.factor, p.scratch)
		k.AddMulTransBFloat16(g, ldg, p.packed, lo, hi, p.ofBlock(k, lo), p.scratch)
	}
}

// check compares a result with the product of lines of two factors. The sums begin again after each
// block of inner indices.
func (p *bfloat16Problem) check(t *testing.T, what string, c []float32, ldc, lines int, first, second func(line, l int) float32, inner, block int) {
	t.Helper()
	digits := p.packed.Digits()
	want := make([]float32, lines*p.h)
	for lo := 0; lo < inner; lo += block {
		n := min(block, inner-lo)
		a := newBFloat16Factor(lines, n, digits, func(line, l int) float32 { return first(line, lo+l) })
		b := newBFloat16Factor(p.h, n, digits, func(line, l int) float32 { return second(line, lo+l) })
		for e := range want {
			want[e] = bfloat16Dot(want[e], a, b, e/p.h, e%p.h, bfloat16Sum)
		}
	}
	allowed := []float64{0x1p-15, 0x1p-18}[digits-2] // of the sum of magnitudes: digits, and 64 roundings
	for e, got := range c {
		row, column := e/ldc, e%ldc
		if column >= p.h {
			if got != canary {
				t.Fatalf("%s: the kernel wrote between the rows", what)
			}
			continue
		}
		if want := want[row*p.h+column]; math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%s[%d,%d] is %g, want %g", what, row, column, got, want)
		}
		var sum, size float64
		for l := range inner {
			v := float64(first(row, l)) * float64(second(column, l))
			sum, size = sum+v, size+math.Abs(v)
		}
		if math.Abs(float64(got)-sum) > allowed*size {
			t.Fatalf("%s[%d,%d] is %g, in float64 %g", what, row, column, got, sum)
		}
	}
}

// TestSplitBFloat16 compares the digits of a second factor, by the loops in Go and by the
// AVX-512 kernels, with those of nextDigit, to the bit. Numbers of all kinds occur. b ends or
// begins at a guard page.
func TestSplitBFloat16(t *testing.T) {
	require.NoRace(t, alone)
	kernels := []*ByteKernels{must(NewByteKernels(Go)).WithBFloat16InGo()}
	if AVX512.Supported() {
		kernels = append(kernels, &ByteKernels{byteTiles: byteTilesOf(AMX)[0]})
	}
	for _, k := range kernels {
		r := rand.New(rand.NewPCG(83, 84))
		special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
			math.Float32frombits(0x7f800001), math.Float32frombits(0xffffffff), math.MaxFloat32, -math.MaxFloat32, 0x1p-149, -0x1p-126, 1 + 0x1p-8, 1 + 3*0x1p-8}
		for i, s := range []shape{{1, 1, 1}, {2, 0, 16}, {31, 0, 17}, {32, 0, 5}, {33, 0, 40}, {240, 0, 16}, {95, 0, 31}} {
			for _, digits := range []int{2, 3} {
				b, ld := operand(t, r, s.n, s.h, i%2 == 0, func() float32 {
					if r.IntN(3) == 0 {
						return special[r.IntN(len(special))]
					}
					return math.Float32frombits(r.Uint32())
				})
				f := NewBFloat16(s.n+70, s.h, digits)
				for j := range f.data {
					f.data[j] = 0x7fc0 // what an earlier, longer factor left
				}
				f.Resize(s.n)
				k.SplitBFloat16(f, 0, f.Panels(), b, ld)
				for at, got := range f.data[:f.Panels()*f.panel()] {
					panel, rest := at/f.panel(), at%f.panel()
					tile, place := rest/bfloat16Tile, rest%bfloat16Tile
					row, column := tile/digits*bfloat16Depth+place/32*2+place%2, panel*bfloat16Rows+place%32/2
					var want uint16
					if row < s.n && column < s.h {
						v := b[row*ld+column]
						for range tile%digits + 1 {
							want, v = nextDigit(v)
						}
					}
					if got != want {
						t.Fatalf("%v: digit %d of %d, %d is %#x, want %#x", s, tile%digits, row, column, got, want)
					}
				}
			}
		}
	}
}

// TestNextDigit checks roundings and special numbers.
func TestNextDigit(t *testing.T) {
	infinite := float32(math.Inf(1))
	for v, want := range map[float32]struct {
		digit uint16
		rest  float32
	}{
		1:               {0x3f80, 0},
		1 + 0x1p-8:      {0x3f80, 0x1p-8}, // a tie goes to even
		1 + 3*0x1p-8:    {0x3f82, -0x1p-8},
		-1 - 0x1p-7:     {0xbf81, 0},
		infinite:        {0x7f80, 0},
		-infinite:       {0xff80, 0},
		math.MaxFloat32: {0x7f80, 0},
	} {
		if digit, rest := nextDigit(v); digit != want.digit || rest != want.rest {
			t.Errorf("%g: %#x, rest %g", v, digit, rest)
		}
	}
	for _, bits := range []uint32{0x7f800001, 0x7fffffff, 0xffffffff} {
		digit, rest := nextDigit(math.Float32frombits(bits))
		if v := widened(digit); v == v || rest != 0 {
			t.Errorf("NaN %#x: digit %#x, rest %g", bits, digit, rest)
		}
	}
}

// TestBFloat16IsRefused checks the callers' mistakes.
func TestBFloat16IsRefused(t *testing.T) {
	k := must(NewByteKernels(fastest())).WithBFloat16InGo()
	if plain := must(NewByteKernels(Go)); plain.HasBFloat16() || !k.HasBFloat16() || !amxModel(t).HasBFloat16() {
		t.Error("level Go has bfloat16 products, or the models have none")
	}
	p := newBFloat16Problem(k, shape{20, 40, 3}, 3, rand.New(rand.NewPCG(1, 2)))
	z := make([]float32, 3*40)
	mustPanic(t, map[string]func(){
		"four digits":        func() { NewBFloat16(1, 1, 4) },
		"another size":       func() { k.MulBFloat16(z, 3, p.packed, 0, 20, p.block, p.scratch) },
		"rows in a tile":     func() { k.MulBFloat16(z, 3, p.packed, 8, 20, p.factor, p.scratch) },
		"not a block":        func() { k.AddMulTransBFloat16(z, 3, p.packed, 0, 16, p.block, p.scratch) },
		"a short result":     func() { k.MulBFloat16(z[:50], 3, p.packed, 0, 20, p.factor, p.scratch) },
		"a row too long":     func() { p.packed.SetRow(0, p.x[:41]) },
		"more rows":          func() { p.block.Resize(40) },
		"panels beyond":      func() { k.SplitBFloat16(p.factor, 0, 2, p.w, 3) },
		"digits of a matrix": func() { k.SplitBFloat16(&p.packed.byRow, 0, 1, p.x, 40) },
	})
}
