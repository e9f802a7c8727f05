package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
)

// eachByteKernels runs a test for the kernels of every level and number of digits, and for the
// kernels of level AMX in the model.
func eachByteKernels(t *testing.T, test func(t *testing.T, k *ByteKernels, count int)) {
	run := func(t *testing.T, k *ByteKernels) {
		for _, count := range []int{2, 3} {
			t.Run(fmt.Sprint(count), func(t *testing.T) { test(t, k, count) })
		}
	}
	eachLevel(t, func(t *testing.T, level Level) {
		k := require.Value(NewByteKernels(level))(t)
		run(t, k)
	})
	t.Run("model", func(t *testing.T) { run(t, amxModel(t)) })
}

// slow reports whether the kernels run in Go, where tests leave out large problems.
func (k *ByteKernels) slow() bool { return k.level == Go || k.instruction == "model" }

// byteProblem holds the operands of both products with 8-bit data. Each operand ends (or begins) at
// a guard page.
type byteProblem struct {
	shape
	ldw, ldz, ldd, ldg int
	x                  *PackedBytes
	w, z, delta, g     []float32
	factor, block      *Digits
	scratch            *ByteScratch
}

const testScale = 1 / 76.5 // not a power of two

// newByteProblem fills the data with value and the factors with number.
func newByteProblem(t testing.TB, k *ByteKernels, s shape, count int, r *rand.Rand, value func() uint8, number func() float32) *byteProblem {
	atEnd := r.IntN(2) == 0
	p := &byteProblem{shape: s, x: k.NewPackedBytes(s.n, s.d, testScale), scratch: k.NewByteScratch()}
	p.x.byRow, p.x.byCol = guarded[uint8](t, len(p.x.byRow), atEnd), guarded[uint8](t, len(p.x.byCol), atEnd)
	for lo := 0; lo < s.n; lo += RowBlock {
		values := make([]uint8, min(RowBlock, s.n-lo)*s.d)
		for i := range values {
			values[i] = value()
		}
		p.x.setRows(lo, values)
	}
	operand := func(rows, cols int) ([]float32, int) { return operand(t, r, rows, cols, atEnd, number) }
	p.w, p.ldw = operand(s.d, s.h)
	p.z, p.ldz = operand(s.n, s.h)
	p.delta, p.ldd = operand(s.n, s.h)
	p.g, p.ldg = operand(s.d, s.h)
	guard := func(s *Digits) *Digits {
		s.data, s.most = guarded[int8](t, len(s.data), atEnd), guarded[uint32](t, len(s.most), atEnd)
		s.factors, s.tail = guarded[float32](t, len(s.factors), atEnd), guarded[float32](t, len(s.tail), atEnd)
		s.wide, s.narrow = guarded[float64](t, len(s.wide), atEnd), guarded[float32](t, len(s.narrow), atEnd)
		return s
	}
	p.factor, p.block = guard(k.NewDigits(s.d, s.h, count)), guard(k.NewDigits(min(s.n, RowBlock), s.h, count))
	p.scratch.tile = guarded[float32](t, len(p.scratch.tile), atEnd)
	p.scratch.sums = guarded[int32](t, len(p.scratch.sums), atEnd)
	p.factor.Quantize(0, p.factor.Panels(), p.w, p.ldw, testScale)
	return p
}

// run computes both products, block by block.
func (p *byteProblem) run(k *ByteKernels) {
	for lo := 0; lo < p.n && p.h > 0; lo += RowBlock {
		hi := min(lo+RowBlock, p.n)
		k.Mul(p.z[lo*p.ldz:], p.ldz, p.x, lo, hi, p.factor, p.scratch)
		p.quantizeBlock(lo, hi)
		k.AddMulTrans(p.g, p.ldg, p.x, lo, hi, p.block, p.scratch)
	}
}

func (p *byteProblem) quantizeBlock(lo, hi int) {
	p.block.Resize(hi-lo, p.h)
	p.block.Quantize(0, p.block.Panels(), p.delta[lo*p.ldd:], p.ldd, testScale)
}

func anyByte(r *rand.Rand) func() uint8 { return func() uint8 { return uint8(r.Uint32()) } }

// TestLayouts runs the products of the reference on data in layouts that no assembly tile uses.
func TestLayouts(t *testing.T) {
	for _, layout := range []Layout{{16, 64}, {12, 4}, {4, 8}} {
		k := byteKernelsGo(Go, layout, layout.Rows/2, 8)
		r := rand.New(rand.NewPCG(33, 34))
		for _, s := range []shape{{1, 1, 1}, {RowBlock + 17, 70, 9}, {2 * RowBlock, 129, 3}} {
			p := newByteProblem(t, &k, s, 3, r, anyByte(r), normals[float32](r))
			before := append([]float32(nil), p.g...)
			p.run(&k)
			p.checkForward(t, fmt.Sprint(layout))
			p.checkBackward(t, fmt.Sprint(layout), before)
		}
	}
}

// TestByteKernelsExact compares Z with integer arithmetic, to the bit: an exact integer times the
// unit, rounded to float64 and then to float32. It compares G with the same arithmetic in float64,
// up to the float32 roundings. The values are random, extreme and unequal. The test covers all
// shapes.
func TestByteKernelsExact(t *testing.T) {
	eachByteKernels(t, func(t *testing.T, k *ByteKernels, count int) {
		r := rand.New(rand.NewPCG(21, 22))
		most := func() uint8 { return 255 }
		huge := 0
		for name, operands := range map[string]struct {
			value  func() uint8
			number func() float32
		}{
			"random":              {anyByte(r), normals[float32](r)},
			"all 255, all -127":   {most, func() float32 { return -3 }},
			"all 255, all 127":    {most, func() float32 { return 0.1 }},
			"one huge among tiny": {anyByte(r), func() float32 { huge++; return []float32{1e-30, -3e-26, 1e-35}[huge%3] + float32(huge%37/36)*1e30 }},
			"subnormal":           {anyByte(r), func() float32 { return float32(r.NormFloat64()) * 1e-41 }},
		} {
			for _, s := range shapes() {
				if (testing.Short() || name != "random") && s.n*s.d*s.h > 50000 || k.slow() && s.n*s.d*s.h > 200000 {
					continue
				}
				p := newByteProblem(t, k, s, count, r, operands.value, operands.number)
				before := append([]float32(nil), p.g...)
				p.run(k)
				p.checkForward(t, name)
				p.checkBackward(t, name, before)
			}
		}
	})
}

// integers returns the data of rows lo to hi-1 and the columns of a factor as plain matrices of
// integers, row by row; digit d alone, or with d = -1 the whole numbers.
func (p *byteProblem) integers(lo, hi int, s *Digits, d int) (x, factor []int64) {
	x, factor = make([]int64, 0, (hi-lo)*p.d), make([]int64, 0, s.rows*p.h)
	for i := lo; i < hi; i++ {
		for l := range p.d {
			x = append(x, int64(p.x.At(i, l)))
		}
	}
	for l := range s.rows {
		for j := range p.h {
			if d < 0 {
				factor = append(factor, s.whole(l, j))
			} else {
				factor = append(factor, s.digit(d, l, j))
			}
		}
	}
	return x, factor
}

// addTimes adds x to the row sum, times the row of integers.
func addTimes(sum []int64, x int64, row []int64) {
	for j, v := range row {
		sum[j] += x * v
	}
}

func (p *byteProblem) checkForward(t *testing.T, name string) {
	t.Helper()
	if p.d > 0 {
		x, w := p.integers(0, p.n, p.factor, -1)
		for i := range p.n {
			total := make([]int64, p.h)
			for l := range p.d {
				addTimes(total, x[i*p.d+l], w[l*p.h:][:p.h])
			}
			for j := range p.h {
				if want := float32(p.factor.wide[j] * float64(total[j])); p.z[i*p.ldz+j] != want {
					t.Fatalf("%s %v: Z[%d,%d] = %v, want %v", name, p.shape, i, j, p.z[i*p.ldz+j], want)
				}
			}
		}
	}
	checkGaps(t, p.z, p.ldz, p.h)
}

// checkBackward bounds the error of adding a block by 2^-23 of the sum of all magnitudes: three
// roundings of 2^-24 each, the rounding of the sum of the middle digit, and the roundings of the
// additions.
func (p *byteProblem) checkBackward(t *testing.T, name string, g []float32) {
	t.Helper()
	const relative = 3 * 0x1p-24
	want, bound := make([]float64, p.d*p.h), make([]float64, p.d*p.h)
	for lo := 0; lo < p.n && p.h > 0; lo += RowBlock {
		hi := min(lo+RowBlock, p.n)
		p.quantizeBlock(lo, hi)
		x, whole := p.integers(lo, hi, p.block, -1)
		_, digit := p.integers(lo, lo, p.block, 1)
		for f := range p.d {
			total, middle := make([]int64, p.h), make([]int64, p.h)
			for i := range hi - lo {
				addTimes(total, x[i*p.d+f], whole[i*p.h:][:p.h])
				addTimes(middle, x[i*p.d+f], digit[i*p.h:][:p.h])
			}
			for j := range p.h {
				want[f*p.h+j] += p.block.wide[j] * float64(total[j])
				bound[f*p.h+j] += relative*p.block.wide[j]*(math.Abs(float64(total[j]))+base*math.Abs(float64(middle[j]))) + 0x1p-149
				bound[f*p.h+j] += 0x1p-24 * math.Abs(want[f*p.h+j]+float64(g[f*p.ldg+j]))
			}
		}
	}
	for f := range p.d {
		for j := range p.h {
			got := float64(p.g[f*p.ldg+j]) - float64(g[f*p.ldg+j])
			if !(math.Abs(got-want[f*p.h+j]) <= 1.01*bound[f*p.h+j]+0x1p-24*math.Abs(float64(g[f*p.ldg+j]))) {
				t.Fatalf("%s %v: G[%d,%d] has %v more, want %v to within %v", name, p.shape, f, j, got, want[f*p.h+j], bound[f*p.h+j])
			}
		}
	}
	checkGaps(t, p.g, p.ldg, p.h)
}

func checkGaps(t *testing.T, a []float32, ld, cols int) {
	t.Helper()
	for at, v := range a {
		if at%ld >= cols && v != canary {
			t.Fatalf("wrote between rows, after row %d", at/ld)
		}
	}
}

// TestByteKernelsSameBits checks that all levels give the same bits as the loops in Go.
func TestByteKernelsSameBits(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	for _, count := range []int{2, 3} {
		for _, s := range shapes() {
			if s.n*s.d*s.h > 200000 {
				continue
			}
			var ref *byteProblem
			kernels := []*ByteKernels{}
			for _, level := range Levels() {
				k := require.Value(NewByteKernels(level))(t)
				kernels = append(kernels, k)
			}
			for _, k := range append(kernels, amxModel(t)) {
				r := rand.New(rand.NewPCG(25, 26))
				p := newByteProblem(t, k, s, count, r, anyByte(r), normals[float32](r))
				p.run(k)
				if ref == nil {
					ref = p
				}
				if !equal(p.z, ref.z) || !equal(p.g, ref.g) {
					t.Fatalf("%v, %d count: %v differs from go", s, count, k.level)
				}
			}
		}
	}
}

// TestExactDepth computes sums near the largest 32-bit integer, of both signs, and larger sums,
// which are split in two.
func TestExactDepth(t *testing.T) {
	exactDepth := Layout{Rows: 8, Depth: quad}.exactDepth()
	if (exactDepth+4)*255*127 <= math.MaxInt32 || exactDepth*255*127 > math.MaxInt32 {
		t.Fatalf("%d is not the largest depth", exactDepth)
	}
	eachByteKernels(t, func(t *testing.T, k *ByteKernels, count int) {
		for _, d := range []int{exactDepth - 1, exactDepth, exactDepth + 1, exactDepth + 9, 2*exactDepth + 1} {
			const n, h = 3, 2
			x := k.NewPackedBytes(n, d, 1)
			values := make([]uint8, n*d)
			for i := range values {
				values[i] = 255
			}
			x.setRows(0, values)
			w := make([]float32, d*h)
			for i := range w {
				w[i] = float32(2*(i%h) - 1)
			}
			f := k.NewDigits(d, h, count)
			f.Quantize(0, f.Panels(), w, h, 1)
			z := make([]float32, n*h)
			k.Mul(z, h, x, 0, n, f, k.NewByteScratch())
			for i, v := range z {
				if want := float64(2*(i%h)-1) * 255 * float64(d); math.Abs(float64(v)-want) > want*0x1p-23*float64(2*(i%h)-1) {
					t.Errorf("%d columns: %v, want %v", d, v, want)
				}
			}
		}
	})
}

// TestByteKernelsNonFinite puts zeros, infinities and NaNs into columns of the factors. The other
// columns do not change. A column of zeros gives zeros. A column with an infinity or a NaN gives
// the float32 product.
func TestByteKernelsNonFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachByteKernels(t, func(t *testing.T, k *ByteKernels, count int) {
		float := mustNew[float32](t, AVXOrGo())
		for _, bad := range []float32{inf, -inf, nan} {
			const n, d, h = 35, 21, 20
			s := shape{n, d, h}
			r := rand.New(rand.NewPCG(27, 28))
			value := func() uint8 { return uint8(r.IntN(3)) } // includes zeros
			p := newByteProblem(t, k, s, count, r, value, normals[float32](r))
			for i := range d {
				p.w[i*p.ldw+4] = 0
			}
			for i := range n {
				p.delta[i*p.ldd+4] = 0
			}
			p.w[7*p.ldw+3], p.w[5*p.ldw+17] = bad, nan
			p.delta[8*p.ldd+3], p.delta[6*p.ldd+17] = bad, nan
			clear(p.g)
			p.factor.Quantize(0, p.factor.Panels(), p.w, p.ldw, testScale)
			p.run(k)
			z, g := floatProducts(float, p)
			same := func(name string, a []float32, ld int, want []float32) {
				for at, v := range want {
					got := float64(a[at/h*ld+at%h])
					special := math.IsInf(float64(v), 0) || math.IsNaN(float64(v))
					switch {
					case special && fmt.Sprint(got) != fmt.Sprint(v), at%h == 4 && got != 0, !special && math.Abs(got-float64(v)) > 1e-3:
						t.Errorf("%s[%d,%d] = %v, want %v", name, at/h, at%h, got, v)
					}
				}
			}
			same("Z", p.z, p.ldz, z)
			same("G", p.g, p.ldg, g)
			// The next factor is finite.
			p.factor.Quantize(0, p.factor.Panels(), make([]float32, d*p.ldw), p.ldw, testScale)
			k.Mul(p.z, p.ldz, p.x, 0, n, p.factor, p.scratch)
			for at, v := range p.z {
				if at%p.ldz < h && v != 0 {
					t.Fatalf("Z[%d,%d] = %v after an infinity", at/p.ldz, at%p.ldz, v)
				}
			}
		}
	})
}

// AVXOrGo returns a level whose float32 products also multiply zeros, if the machine has such a
// level.
func AVXOrGo() Level {
	if AVX2.Supported() {
		return AVX2
	}
	return Go
}

// floatProducts returns Z and G in float32.
func floatProducts(k *Kernels[float32], p *byteProblem) (z, g []float32) {
	x := k.NewPackedFloats(p.n, p.d)
	row := make([]float32, p.d)
	for i := range p.n {
		for l := range row {
			row[l] = float32(float64(p.x.At(i, l)) * testScale)
		}
		x.SetRow(i, row)
	}
	panels, scratch := k.NewPanels(p.d, p.h), k.NewScratch(RowBlock, p.h)
	panels.Pack(p.d, p.h, p.w, p.ldw)
	z, g = make([]float32, p.n*p.h), make([]float32, p.d*p.h)
	k.Mul(z, p.h, x, 0, p.n, panels, scratch)
	k.AddMulTrans(g, p.h, x, 0, p.n, p.delta, p.ldd, p.h, scratch)
	return z, g
}

func TestByteKernelsAllocate(t *testing.T) {
	eachByteKernels(t, func(t *testing.T, k *ByteKernels, count int) {
		if k.instruction == "model" {
			t.Skip("the model allocates")
		}
		r := rand.New(rand.NewPCG(29, 30))
		p := newByteProblem(t, k, shape{50, 30, 40}, count, r, anyByte(r), normals[float32](r))
		if n := testing.AllocsPerRun(10, func() {
			p.factor.Quantize(0, p.factor.Panels(), p.w, p.ldw, testScale)
			p.run(k)
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestByteKernelsMisuse checks that a caller's mistakes panic before memory is touched.
func TestByteKernelsMisuse(t *testing.T) {
	k := require.Value(NewByteKernels(Best()))(t)
	other := require.Value(NewByteKernels(Go))(t)
	r := rand.New(rand.NewPCG(31, 32))
	p := newByteProblem(t, k, shape{30, 5, 7}, 3, r, anyByte(r), normals[float32](r))
	p.quantizeBlock(0, 30)
	calls := map[string]func(){
		"odd block":         func() { k.Mul(p.z, p.ldz, p.x, 0, 13, p.factor, p.scratch) },
		"odd beginning":     func() { k.Mul(p.z, p.ldz, p.x, 1, 30, p.factor, p.scratch) },
		"rows past end":     func() { k.Mul(p.z, p.ldz, p.x, 24, 32, p.factor, p.scratch) },
		"short z":           func() { k.Mul(p.z[:20], p.ldz, p.x, 0, 30, p.factor, p.scratch) },
		"short g":           func() { k.AddMulTrans(p.g[:20], p.ldg, p.x, 0, 30, p.block, p.scratch) },
		"part of a block":   func() { k.AddMulTrans(p.g, p.ldg, p.x, 0, 8, p.block, p.scratch) },
		"factor's size":     func() { k.Mul(p.z, p.ldz, p.x, 0, 30, k.NewDigits(4, 7, 3), p.scratch) },
		"room":              func() { p.block.Resize(31, 7) },
		"short b":           func() { p.factor.Quantize(0, 1, p.w[:20], p.ldw, 1) },
		"one digit":         func() { k.NewDigits(4, 7, 1) },
		"short row room":    func() { p.x.ByteRow(0, make([]uint8, 4)) },
		"too many rows":     func() { p.x.setRows(1, make([]uint8, 30*5)) },
		"a short row":       func() { p.x.setRows(0, make([]uint8, 29*5-1)) },
		"row past rows":     func() { p.x.ByteRow(30, make([]uint8, 5)) },
		"negative columns":  func() { k.NewPackedBytes(1, -1, 1) },
		"element past rows": func() { p.x.At(30, 0) },
	}
	if Best() != Go {
		calls["other level"] = func() { k.Mul(p.z, p.ldz, p.x, 0, 30, other.NewDigits(5, 7, 3), p.scratch) }
	}
	if k.lanes >= 7 {
		calls["panels past end"] = func() { p.factor.Quantize(0, 2, p.w, p.ldw, 1) }
	}
	mustPanic(t, calls)
}
