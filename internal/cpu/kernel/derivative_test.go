package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/require"
)

// derivativeCase is the operands of a derivative with respect to the inputs of a hidden layer.
type derivativeCase struct {
	rows, cols int
	s          Strided[float32]
	products   []Factors[float32]
	start      []float64 // of the sums
}

// newDerivativeCase draws operands that end or begin at guard pages. heads lists the columns of
// each product, and inner the inner indices.
func newDerivativeCase(t testing.TB, r *rand.Rand, rows, inner int, heads []int, atEnd bool, size float64) derivativeCase {
	normal := func() float32 { return float32(size * r.NormFloat64()) }
	matrix := func(rows, cols int, number func() float32) Strided[float32] {
		data, ld := operand(t, r, rows, cols, atEnd, number)
		return Dense(data, rows, cols, ld)
	}
	c := derivativeCase{rows: rows}
	for _, n := range heads {
		c.products = append(c.products, Factors[float32]{matrix(rows, inner, normal), matrix(inner, n, normals[float32](r))})
		c.cols += n
	}
	c.s = matrix(rows, c.cols, func() float32 { return float32(r.Float64() - 0.3) })
	c.start = guarded[float64](t, c.cols, atEnd)
	for j := range c.start {
		c.start[j] = r.NormFloat64()
	}
	return c
}

// inPasses computes the digits and the sums pass by pass.
func (c derivativeCase) inPasses(t testing.TB, k *ByteKernels, f Activation, d *Digits, sums []float64) {
	b := make([]float32, c.rows*c.cols)
	at := 0
	for _, x := range c.products {
		k.floats.CombineRows(Dense(b[at:], c.rows, x.V.Cols, c.cols), x.E, x.V, false)
		at += x.V.Cols
	}
	slope := []func(d, s []float32){k.floats.SigmoidGrad, k.floats.TanhGrad, k.floats.ReLUGrad}[f]
	for i := range c.rows {
		slope(b[i*c.cols:][:c.cols], c.s.Data[i*c.s.RowStride:][:c.cols])
	}
	k.floats.AddColumns(sums, Dense(b, c.rows, c.cols, c.cols))
	d.Quantize(0, d.Panels(), b, c.cols, 1/255.)
}

// TestQuantizeDerivative compares digits, scales, column sums and columns without digits with those
// of the separate passes, to the bit.
func TestQuantizeDerivative(t *testing.T) {
	require.NoRace(t, alone)
	r := rand.New(rand.NewPCG(71, 72))
	for _, level := range []Level{AVX512, AVX2} {
		if !level.Supported() {
			continue
		}
		k := must(NewByteKernels(level))
		for i := range 120 {
			heads := []int{1 + r.IntN(70)}
			if i%3 == 0 {
				heads = []int{32, 16, 1 + r.IntN(40)}
			}
			rows, inner, count := 1+r.IntN(RowBlock), 1+r.IntN(16), 2+i%2
			size := []float64{1, 1e-6, 1e30, 1e-38, 1e-45}[i%5]
			c := newDerivativeCase(t, r, rows, inner, heads, i%2 == 0, size)
			if i%10 == 9 { // an infinity, and zeros
				c.products[0].E.Data[0] = float32(math.Inf(1))
				clear(c.products[0].V.Data)
			}
			for f := SigmoidActivation; f <= ReLUActivation; f++ {
				want, got := k.NewDigits(rows, c.cols, count), k.NewDigits(rows, c.cols, count)
				wantSums, sums := slices.Clone(c.start), slices.Clone(c.start)
				c.inPasses(t, k, f, want, wantSums)
				if !k.Derives(heads...) {
					t.Fatalf("%v: no derivative of heads %v", level, heads)
				}
				got.QuantizeDerivative(f, c.s, c.products, sums, 1/255., k.NewByteScratch())
				for name, same := range map[string]bool{
					"digits":             slices.Equal(want.data, got.data),
					"largest magnitudes": slices.Equal(want.most, got.most),
					"factors":            equal(want.factors, got.factors),
					"scales":             equal(want.wide, got.wide) && equal(want.narrow, got.narrow),
					"sums":               sameNumbers(wantSums, sums),
					"columns without digits": slices.Equal(want.anyNonFinite, got.anyNonFinite) &&
						slices.EqualFunc(want.nonFinite, got.nonFinite, sameNumbers[float32]),
				} {
					if !same {
						t.Fatalf("%v, activation %d, %d rows, %d inner indices, heads %v, size %g: other %s", level, f, rows, inner, heads, size, name)
					}
				}
			}
		}
	}
}

// sameNumbers reports whether two vectors have the same bits, where a NaN equals every other NaN.
func sameNumbers[F Float](a, b []F) bool {
	return slices.EqualFunc(a, b, func(x, y F) bool {
		return x != x && y != y || math.Float64bits(float64(x)) == math.Float64bits(float64(y))
	})
}

// TestDerives checks which heads have whole panels.
func TestDerives(t *testing.T) {
	k := must(NewByteKernels(fastest()))
	if fastest() == Go {
		if k.Derives(16) {
			t.Error("level Go has no derivative")
		}
		return
	}
	for _, c := range []struct {
		columns []int
		want    bool
	}{{nil, false}, {[]int{5}, true}, {[]int{64, 64, 5}, true}, {[]int{5, 64}, false}} {
		if got := k.Derives(c.columns...); got != c.want {
			t.Errorf("heads %v: %v, want %v", c.columns, got, c.want)
		}
	}
}

// TestQuantizeDerivativePanics checks the operands that a caller must not pass.
func TestQuantizeDerivativePanics(t *testing.T) {
	level := fastest()
	if level == Go {
		t.Skip("level Go has no derivative")
	}
	k := must(NewByteKernels(level))
	r := rand.New(rand.NewPCG(73, 74))
	c := newDerivativeCase(t, r, 20, 4, []int{40}, true, 1)
	d := k.NewDigits(RowBlock+1, 40, 3)
	run := func(rows int, products []Factors[float32], sums []float64) func() {
		return func() {
			d.Resize(rows, 40)
			d.QuantizeDerivative(SigmoidActivation, c.s, products, sums, 1, k.NewByteScratch())
		}
	}
	short := []Factors[float32]{{c.products[0].E, Dense(c.products[0].V.Data, 4, 30, c.products[0].V.RowStride)}}
	mustPanic(t, map[string]func(){
		"other rows":      run(19, c.products, c.start),
		"too many rows":   run(RowBlock+1, c.products, c.start),
		"too few sums":    run(20, c.products, c.start[:39]),
		"too few columns": run(20, short, c.start),
		"no panel":        run(20, append(short, c.products...), c.start),
	})
}

// BenchmarkDerivative measures a block of 240 rows with 256 hidden units and 4 scores: the digits
// of the derivative in one pass over each panel, and pass by pass.
func BenchmarkDerivative(b *testing.B) {
	level := fastest()
	if level == Go {
		b.Skip("level Go has no derivative")
	}
	k := must(NewByteKernels(level))
	const rows, cols, scores, blocks = RowBlock, 256, 4, 50
	r := rand.New(rand.NewPCG(75, 76))
	number := func(n int) []float32 {
		x := Alloc[float32](n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	e, v, s := number(rows*scores), number(scores*cols), number(blocks*rows*cols)
	sums, d, own := make([]float64, cols), k.NewDigits(rows, cols, 3), Alloc[float32](rows*cols)
	products := []Factors[float32]{{Dense(e, rows, scores, scores), Dense(v, scores, cols, cols)}}
	scratch := k.NewByteScratch()
	for _, run := range []struct {
		name string
		do   func(s []float32)
	}{
		{"one", func(s []float32) {
			d.QuantizeDerivative(SigmoidActivation, Dense(s, rows, cols, cols), products, sums, 1, scratch)
		}},
		{"passes", func(s []float32) {
			k.floats.CombineRows(Dense(own, rows, cols, cols), products[0].E, products[0].V, false)
			k.floats.SigmoidGrad(own, s)
			d.Quantize(0, d.Panels(), own, cols, 1)
			k.floats.AddColumns(sums, Dense(own, rows, cols, cols))
		}},
	} {
		b.Run(run.name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				run.do(s[i*rows*cols:][:rows*cols])
				i = (i + 1) % blocks
			}
		})
	}
}

// TestMulActivate compares products that are followed by an activation with the product and the
// pass one after the other, to the bit, for the kernels of all levels and those in the model. The
// sums reach from below the range of the exponential to above. The last shapes need several calls;
// some factors have a column without digits.
func TestMulActivate(t *testing.T) {
	require.NoRace(t, alone)
	level := fastest()
	if level == Go {
		t.Skip("the functions in Go have other bits than those of the kernels for tiles")
	}
	passes := must(New[float32](level))
	reference := must(NewByteKernels(level))
	kernels := []*ByteKernels{amxModel(t), reference}
	if AMX.Supported() {
		kernels = append(kernels, must(NewByteKernels(AMX)))
	}
	if level == AVX512 {
		kernels = append(kernels, must(NewByteKernels(AVX2)))
	}
	r := rand.New(rand.NewPCG(61, 62))
	list := []shape{{1, 1, 1}, {17, 65, 17}, {33, 784, 18}, {RowBlock + 30, 70, 33}, {100, 64, 48}, {40, 0, 3}, {3, 6200, 16}}
	for range 20 {
		list = append(list, shape{1 + r.IntN(300), 1 + r.IntN(150), 1 + r.IntN(40)})
	}
	if testing.Short() {
		list = list[:8]
	}
	for i, s := range list {
		for f := SigmoidActivation; f <= ReLUActivation; f++ {
			count := 2 + (i+int(f))%2
			size := float32(math.Pow(10, float64(i%5-3)))
			bias := guarded[float32](t, s.h, true)
			for j := range bias {
				bias[j] = size * float32(r.NormFloat64())
			}
			draw := func(k *ByteKernels) *byteProblem {
				r := rand.New(rand.NewPCG(63, uint64(i)))
				normal, drawn := normals[float32](r), 0
				return newByteProblem(t, k, s, count, r, anyByte(r), func() float32 {
					if drawn++; i%7 == 6 && drawn == 5 {
						return float32(math.Inf(1))
					}
					return size * normal()
				})
			}
			want := draw(reference)
			for lo := 0; lo < s.n; lo += RowBlock {
				hi := min(lo+RowBlock, s.n)
				reference.Mul(want.z[lo*want.ldz:], want.ldz, want.x, lo, hi, want.factor, want.scratch)
				passes.BiasActivation(f, want.z[lo*want.ldz:], want.ldz, hi-lo, bias)
			}
			for _, k := range kernels {
				got := draw(k)
				for lo := 0; lo < s.n; lo += RowBlock {
					hi := min(lo+RowBlock, s.n)
					k.MulActivate(got.z[lo*got.ldz:], got.ldz, got.x, lo, hi, got.factor, bias, f, got.scratch)
				}
				for e, z := range want.z {
					if a, b := math.Float32bits(z), math.Float32bits(got.z[e]); a != b && !(z != z && got.z[e] != got.z[e]) {
						t.Fatalf("%s, activation %d, %v, %d digits: element %d is %v (%#x), want %v (%#x)", k.instruction, f, s, count, e, got.z[e], b, z, a)
					}
				}
			}
		}
	}
}

// TestActivationsOfTiles checks that the products on tiles compute the activation themselves.
func TestActivationsOfTiles(t *testing.T) {
	k := amxModel(t)
	calls := 0
	for f := range k.activateStrip {
		inner := k.activateStrip[f][1]
		k.activateStrip[f][1] = func(n, rows int, x *uint8, panel int, q *int8, unit *float64, bias, c *float32, ldc, columns, ahead int, sums *int32) {
			calls++
			inner(n, rows, x, panel, q, unit, bias, c, ldc, columns, ahead, sums)
		}
	}
	r := rand.New(rand.NewPCG(64, 65))
	p := newByteProblem(t, k, shape{20, 70, 33}, 3, r, anyByte(r), normals[float32](r))
	for f := SigmoidActivation; f <= ReLUActivation; f++ {
		k.MulActivate(p.z, p.ldz, p.x, 0, 20, p.factor, make([]float32, 33), f, p.scratch)
	}
	if calls != 9 { // three panels of columns
		t.Errorf("%d calls of kernels with an activation, want 9", calls)
	}
}
