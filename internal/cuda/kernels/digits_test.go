//go:build gpu

package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"ppal/internal/cpu/kernel"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/internal/require"
)

const testScale = 1 / 76.5 // not a power of two

// signed holds 8-bit data in both layouts, for products with a second factor of digits d.
func signed(r *rig[float32], u []byte, rows, cols int) (byRow, byCol kernels.SignedBytes) {
	byRow.Stride, byCol.Stride = kernels.PaddedIndices(cols), kernels.PaddedIndices(rows)
	byRow.At, byCol.At = r.put(make([]byte, rows*byRow.Stride)), r.put(make([]byte, cols*byCol.Stride))
	r.do(r.s.LoadSigned(r.q, byRow, byCol, r.put(u), rows, cols))
	return byRow, byCol
}

// placed places digits in poisoned device memory.
func placed(r *rig[float32], d kernels.Digits) kernels.Digits {
	bytes, _, _ := d.Layout()
	at, err := r.d.Allocate(bytes)
	r.do(err)
	r.held = append(r.held, at)
	return d.Place(at)
}

// read returns the digits from the device by block, slice, column and index, with the units and the
// offsets.
func read(r *rig[float32], d kernels.Digits) (digits []int8, units []float64, offsets []int64) {
	raw := make([]byte, d.Bytes())
	r.do(r.d.Download(0, raw, d.At))
	for _, b := range raw {
		digits = append(digits, int8(b))
	}
	units, offsets = r.numbers(d.Units, d.Blocks*d.Width), make([]int64, d.Blocks*d.Width)
	raw = make([]byte, 8*len(offsets))
	r.do(r.d.Download(0, raw, d.Offsets))
	if _, err := binary.Decode(raw, binary.LittleEndian, offsets); err != nil {
		r.t.Fatal(err)
	}
	return digits, units, offsets
}

// expected computes the digits of a column by their definition. Each remainder is rounded once to
// float32.
func expected(column []float32, count int) (digits [][]int8, unit float64) {
	var most float32
	finite := true
	for _, v := range column {
		most = max(most, float32(math.Abs(float64(v)))) // keeps NaN
		finite = finite && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
	}
	lift, inverse, base := float32(1), float32(0), math.Pow(254, float64(count-1))
	if most < 0x1p-64 {
		lift = 0x1p96
	}
	switch {
	case !finite:
		unit, lift = math.NaN(), 0
	case most > 0:
		inverse = 127 / (most * lift)
		unit = testScale / (float64(inverse) * base) / float64(lift)
	}
	digits = make([][]int8, count)
	for _, v := range column {
		rest, factor := v*lift, inverse
		if !finite {
			rest = 0
		}
		for s := range digits {
			digit := math.RoundToEven(float64(rest) * float64(factor))
			digits[s] = append(digits[s], int8(digit))
			rest, factor = float32(float64(rest)*float64(factor)-digit), 254
		}
	}
	return digits, unit
}

// checkDigits compares the digits on the device with the digits of the matrix that element reads.
func checkDigits(r *rig[float32], d kernels.Digits, element func(l, j int) float32) {
	r.t.Helper()
	digits, units, offsets := read(r, d)
	for b := range d.Blocks {
		for j := range d.Width {
			var column []float32
			for l := b * d.Length; l < min((b+1)*d.Length, d.Inner) && j < d.Columns; l++ {
				column = append(column, element(l, j))
			}
			want, unit := expected(column, d.Count)
			sum := int64(0)
			for s := range want {
				row := digits[((b*d.Count+s)*d.Width+j)*d.Length:][:d.Length]
				own := int64(0)
				for i, got := range row {
					w := int8(0)
					if i < len(column) {
						w = want[s][i]
					}
					if got != w {
						r.t.Fatalf("%+v: digit %d of index %d, column %d is %d, want %d", d, s, b*d.Length+i, j, got, w)
					}
					own += int64(got)
				}
				sum = sum*254 + own
			}
			if at := b*d.Width + j; offsets[at] != 128*sum || units[at] != unit && !(math.IsNaN(units[at]) && math.IsNaN(unit)) {
				r.t.Fatalf("%+v: column %d has unit %v and offset %d, want %v and %d", d, j, units[at], offsets[at], unit, 128*sum)
			}
		}
	}
}

// CenterDigits writes the digits that Quantize writes, and bias - means w.
func TestCenterDigits(t *testing.T) {
	for seed, c := range []struct{ inner, cols, count int }{{1, 1, 3}, {9, 20, 2}, {300, 12, 3}, {703, 33, 3}} {
		r := newRig[float32](t, uint64(seed))
		w, means, bias, out := r.random(c.inner, c.cols, 3), r.random(1, c.inner, 0), r.random(1, c.cols, 0), r.result(1, c.cols, 0)
		r.set(w, c.inner-1, 0, 1e30)
		if seed == 3 {
			r.set(w, 5, 2, float32(math.Inf(1)))
		}
		d := placed(r, kernels.NewDigits(c.inner, c.cols, c.count, kernels.ExactIndices, testScale))
		r.do(r.s.CenterDigits(r.q, d, r.on(w), r.on(means), r.on(bias), r.on(out)))
		checkDigits(r, d, func(l, j int) float32 { return r.memory.Row(w, l)[j] })
		for j, got := range r.contents(out.Buffer) {
			sum := 0.0
			for l := range c.inner {
				sum += float64(r.memory.Row(means, 0)[l]) * float64(r.memory.Row(w, l)[j])
			}
			if want := r.memory.Row(bias, 0)[j] - float32(sum); !near(got, want, 1, 2) {
				t.Errorf("%+v: column %d: %v, want %v", c, j, got, want)
			}
		}
		d.Blocks = 2
		if err := r.s.CenterDigits(r.q, d, r.on(w), r.on(means), r.on(bias), r.on(out)); err == nil {
			t.Error("digits in two blocks are not an error")
		}
	}
}

// Quantize writes the digits of the definition for all magnitudes, shapes, blocks and layouts, and
// zeros in the padding.
func TestCutDigits(t *testing.T) {
	sizes := []float32{1, 1e-3, 1e30, 0x1p127, 1e-19, 1e-30, 1e-38, 1e-42, 0x1p-149}
	for seed, c := range []struct{ inner, cols, most, count int }{{1, 1, 99, 3}, {17, 9, 99, 2}, {300, 12, 99, 3}, {130, 3, 16, 2}, {700, 17, 4096, 3}} {
		for _, transposed := range []bool{false, true} {
			r := newRig[float32](t, uint64(seed))
			v := r.random(c.inner, c.cols, 3)
			if transposed {
				v = r.random(c.cols, c.inner, 3)
			}
			element := func(l, j int) float32 {
				if transposed {
					l, j = j, l
				}
				return r.memory.Row(v, l)[j]
			}
			for l := range c.inner {
				for j := range c.cols {
					i, k := l, j
					if transposed {
						i, k = j, l
					}
					x := element(l, j) * sizes[j%len(sizes)]
					if j%10 == 9 {
						x = 0
					}
					r.set(v, i, k, x)
				}
			}
			d := placed(r, kernels.NewDigits(c.inner, c.cols, c.count, c.most, testScale))
			r.do(r.s.Quantize(r.q, kernels.Quantized{Digits: d}, r.on(v), transposed))
			checkDigits(r, d, element)
		}
	}
	r := newRig[float32](t, 1)
	if r.s.QuantizeDigits(r.q, kernels.NewDigits(3, 3, 4, 99, 1).Place(1<<20), r.on(r.random(3, 3, 0)), false) == nil {
		t.Error("four digits: no error")
	}
}

// multiply computes X B, or X^T B from the transposed layout, for data u (rows x inner) and the
// digits of b: by a product of integers and Dequantize, and by MultiplyDigits, by warps and by
// warpgroups. All give the same bits.
func multiply(r *rig[float32], x kernels.SignedBytes, rows int, d kernels.Digits, j kernels.Dequantize) {
	j.Digits, j.X = d, x
	size := (j.Out.Rows-1)*j.Out.Stride + j.Out.Cols
	before, library := make([]byte, 4*size), make([]byte, 4*size)
	r.do(r.d.Download(0, before, j.Out.At))
	warpgroups, err := kernels.Load(hopper{r.d}, kernels.Float32)
	r.do(err)
	var own [2][]byte
	for i, s := range []*kernels.Set{r.s, warpgroups} {
		own[i] = make([]byte, 4*size)
		r.do(r.d.Upload(0, j.Out.At, before))
		r.do(s.MultiplyDigits(r.q, j))
		r.do(r.d.Download(0, own[i], j.Out.At))
	}
	r.do(r.d.Upload(0, j.Out.At, before))
	byLibrary(r, x, rows, d, j)
	r.do(r.d.Download(0, library, j.Out.At))
	for k, own := range own {
		for i := range size {
			got, want := binary.LittleEndian.Uint32(own[4*i:]), binary.LittleEndian.Uint32(library[4*i:])
			if g, w := math.Float32frombits(got), math.Float32frombits(want); got != want && !(g != g && w != w) {
				r.t.Fatalf("%+v: MultiplyDigits by %s gives %v at (%d, %d), want %v", d, []string{"warps", "warpgroups"}[k], g, i/j.Out.Stride,
					i%j.Out.Stride, w)
			}
		}
	}
}

// hopper is a device of compute capability 9.0.
type hopper struct{ driver.Driver }

func (hopper) Info() driver.Info { return driver.Info{Major: 9} }

// byLibrary multiplies by a product of integers and Dequantize.
func byLibrary(r *rig[float32], x kernels.SignedBytes, rows int, d kernels.Digits, j kernels.Dequantize) {
	wide := d.Count * d.Width
	sums, err := r.d.Allocate(4 * d.Blocks * rows * wide)
	r.do(err)
	r.held = append(r.held, sums)
	r.do(r.d.Multiply(0, &driver.Gemm{Precision: driver.Int8, Rows: rows, Cols: wide, Inner: d.Length, TransB: true, Alpha: 1, A: x.At, B: d.At,
		C: sums, StrideA: x.Stride, StrideB: d.Length, StrideC: wide, Batch: d.Blocks, StepA: d.Length, StepB: wide * d.Length, StepC: rows * wide}))
	j.Digits, j.X, j.Sums, j.SumRows = d, x, sums, rows
	r.do(r.s.Dequantize(r.q, j))
}

// Products with one block of indices equal integer arithmetic to the bit, for random and extreme
// data and factors. They also equal the products of the CPU's kernels.
func TestDigitProducts(t *testing.T) {
	huge := 0
	for name, operands := range map[string]struct {
		value  func(i int) byte
		number func(r *rig[float32]) float32
	}{
		"random":            {func(i int) byte { return byte(i * i * 31 >> 3) }, func(r *rig[float32]) float32 { return float32(r.rng.NormFloat64()) }},
		"all 255, all -127": {func(int) byte { return 255 }, func(*rig[float32]) float32 { return -3 }},
		"all 0, all 127":    {func(int) byte { return 0 }, func(*rig[float32]) float32 { return 0.1 }},
		"one huge among tiny": {func(i int) byte { return byte(i * 7) }, func(*rig[float32]) float32 {
			huge++
			return []float32{1e-30, -3e-26, 1e-35}[huge%3] + float32(huge%37/36)*1e30
		}},
		"subnormal": {func(i int) byte { return byte(i * 13) }, func(r *rig[float32]) float32 { return float32(r.rng.NormFloat64()) * 1e-41 }},
	} {
		for seed, c := range []struct{ rows, inner, cols int }{{1, 1, 1}, {35, 21, 20}, {9, 300, 7}, {64, 17, 33}} {
			for _, count := range []int{2, 3} {
				r := newRig[float32](t, uint64(seed))
				u := make([]byte, c.rows*c.inner)
				for i := range u {
					u[i] = operands.value(i)
				}
				b, out := r.random(c.inner, c.cols, 2), r.result(c.rows, c.cols, 3)
				numbers := make([]float32, c.inner*c.cols)
				for i := range numbers {
					numbers[i] = operands.number(r)
					r.set(b, i/c.cols, i%c.cols, numbers[i])
				}
				x, _ := signed(r, u, c.rows, c.inner)
				d := placed(r, kernels.NewDigits(c.inner, c.cols, count, kernels.ExactIndices, testScale))
				r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
				multiply(r, x, c.rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out)})
				got := r.contents(out.Buffer)
				cpu := onCPU(t, u, numbers, c.rows, c.inner, c.cols, count)
				digits, units, _ := read(r, d)
				for i := range c.rows {
					for j := range c.cols {
						total := int64(0)
						for l := range c.inner {
							whole := int64(0)
							for s := range count {
								whole = whole*254 + int64(digits[(s*d.Width+j)*d.Length+l])
							}
							total += int64(u[i*c.inner+l]) * whole
						}
						z := got[out.Offset+i*out.Stride+j]
						if want := float32(units[j] * float64(total)); z != want || z != cpu[i*c.cols+j] {
							t.Fatalf("%s %+v, %d digits: (%d, %d) is %v, want %v, on the CPU %v", name, c, count, i, j, z, want, cpu[i*c.cols+j])
						}
					}
				}
			}
		}
	}
}

// onCPU computes the product with the CPU's kernels.
func onCPU(t *testing.T, u []byte, b []float32, rows, inner, cols, count int) []float32 {
	t.Helper()
	k := require.Value(kernel.NewByteKernels(kernel.Go))(t)
	x := k.NewPackedBytes(rows, inner, testScale)
	x.SetRows(0, slices.Collect(slices.Chunk(u, inner)))
	w := k.NewDigits(inner, cols, count)
	w.Quantize(0, w.Panels(), b, cols, testScale)
	z := make([]float32, rows*cols)
	k.Mul(z, cols, x, 0, rows, w, k.NewByteScratch())
	return z
}

// The sums reach the largest and the smallest 32-bit integer. Longer sums are split in two. The
// double refuses a sum that does not fit. The longest products run with one order of the threads,
// and the two blocks without MultiplyDigits, because emulated threads are slow.
func TestExactIndices(t *testing.T) {
	if (kernels.ExactIndices+32)*128*127 <= math.MaxInt32 || kernels.ExactIndices*128*127 > math.MaxInt32 {
		t.Fatalf("%d is not the largest number of indices", kernels.ExactIndices)
	}
	l := require.Value(newLab(kernels.Float32, double.Options{}))(t)
	for blocks, inner := range map[int]int{1: kernels.ExactIndices, 2: kernels.ExactIndices + 1} {
		const rows, cols = 2, 2
		r := rigOf[float32](t, 1, l)
		ones := make([]float32, inner*cols)
		for i := range ones {
			ones[i] = float32(2*(i%cols) - 1)
		}
		b := plan.View{Buffer: r.buffer(ones), Stride: cols, Rows: inner, Cols: cols}
		out := r.result(rows, cols, 0)
		d := placed(r, kernels.NewDigits(inner, cols, 3, kernels.ExactIndices, testScale))
		if d.Blocks != blocks {
			t.Errorf("%d indices: %d blocks", inner, d.Blocks)
		}
		stride := d.Blocks * d.Length
		bytes := make([]byte, rows*stride) // minus 128: the first row is -128, the second row is 127
		for l := range stride {
			bytes[l], bytes[stride+l] = 0x80, 127
		}
		x := kernels.SignedBytes{At: r.put(bytes), Stride: stride}
		r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
		by := multiply
		if blocks > 1 {
			by = byLibrary
		}
		by(r, x, rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out)})
		for i, z := range r.contents(out.Buffer) {
			want := float64(i/cols) * 255 * float64(inner) * float64(2*(i%cols)-1) * testScale
			if math.Abs(float64(z)-want) > 0x1p-23*math.Abs(want) {
				t.Errorf("%d indices: element %d is %v, want %v", inner, i, z, want)
			}
		}
	}
}

// A column with an infinity or a NaN gives the float32 product, in both products and for any number
// of blocks. The other columns do not change.
func TestDigitsNonFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for seed, bad := range []float32{inf, -inf, nan} {
		const rows, inner, cols = 19, 70, 6
		r := newRig[float32](t, uint64(seed))
		u := make([]byte, rows*inner)
		for i := range u {
			u[i] = byte(i % 3) // includes zeros
		}
		x, _ := signed(r, u, rows, inner)
		b, out := r.random(inner, cols, 1), r.result(rows, cols, 0)
		for l := range inner {
			r.set(b, l, 4, 0)
		}
		r.set(b, 30, 2, bad) // beside a column with digits
		r.set(b, 5, 1, nan)
		stride := kernels.NewDigits(inner, cols, 3, 32, testScale)
		wide := kernels.SignedBytes{Stride: stride.Blocks * stride.Length}
		wide.At = r.put(make([]byte, rows*wide.Stride))
		r.do(r.s.LoadSigned(r.q, wide, kernels.SignedBytes{At: r.put(make([]byte, inner*kernels.PaddedIndices(rows))),
			Stride: kernels.PaddedIndices(rows)}, r.put(u), rows, inner))
		for _, c := range []struct {
			x    kernels.SignedBytes
			most int
		}{{x, 99}, {wide, 32}} {
			d := placed(r, kernels.NewDigits(inner, cols, 3, c.most, testScale))
			r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
			multiply(r, c.x, rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out)})
			for at, z := range r.contents(out.Buffer) {
				i, j, want := at/cols, at%cols, 0.0
				for l := range inner {
					want += float64(u[i*inner+l]) * testScale * float64(r.memory.Row(b, l)[j])
				}
				special := math.IsInf(want, 0) || math.IsNaN(want)
				if special && fmt.Sprint(z) != fmt.Sprint(want) || !special && math.Abs(float64(z)-want) > 1e-5 || j == 4 && z != 0 {
					t.Errorf("%v, blocks of %d: (%d, %d) is %v, want %v", bad, c.most, i, j, z, want)
				}
			}
		}
	}
}
