//go:build gpu

package double_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
)

// formats gives, for each precision, the bytes of an operand, the bytes of a result, and the
// rounding of operands.
var formats = map[driver.Precision]struct {
	in, out int
	rounded func(x float64) float64
}{
	driver.Float32: {4, 4, func(x float64) float64 { return float64(float32(x)) }},
	driver.TF32: {4, 4, func(x float64) float64 {
		f, e := math.Frexp(float64(float32(x)))
		return math.Ldexp(math.Round(f*(1<<11)), e-11) // 10 bits after the leading bit; ties round away from zero
	}},
	driver.Float64: {8, 8, func(x float64) float64 { return x }},
	driver.BF16:    {2, 4, func(x float64) float64 { return float64(math.Float32frombits(math.Float32bits(float32(x)) &^ 0xffff)) }},
}

func appendNumber(b []byte, x float64, size int) []byte {
	switch size {
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(x))>>16))
	case 4:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

func TestMultiply(t *testing.T) {
	const rows, cols, inner, gap = 5, 7, 11, 3
	for precision, f := range formats {
		for variant := range 8 {
			t.Run(fmt.Sprint(precision, variant), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(5, uint64(variant)))
				d := double.Computing(double.Options{})
				g := driver.Gemm{Precision: precision, Rows: rows, Cols: cols, Inner: inner, TransA: variant&1 > 0, TransB: variant&2 > 0, Alpha: 1}
				if variant&4 > 0 {
					g.Alpha, g.Beta = -0.5, 2
				}
				make2 := func(rows, cols, size int) (p driver.Pointer, stride int, data []float64) {
					stride = cols + gap
					var b []byte
					for range rows * stride {
						x := rng.NormFloat64()
						data = append(data, x)
						b = appendNumber(b, x, size)
					}
					p = allocate(t, d, len(b))
					ok(t, d.Upload(0, p, b))
					return p, stride, data
				}
				ar, ac, br, bc := rows, inner, inner, cols
				if g.TransA {
					ar, ac = ac, ar
				}
				if g.TransB {
					br, bc = bc, br
				}
				var a, b, c []float64
				g.A, g.StrideA, a = make2(ar, ac, f.in)
				g.B, g.StrideB, b = make2(br, bc, f.in)
				g.C, g.StrideC, c = make2(rows, cols, f.out)
				ok(t, d.Multiply(0, &g))
				got := make([]byte, len(c)*f.out)
				ok(t, d.Download(0, got, g.C))
				for i := range rows {
					for j := range cols {
						sum := 0.0
						for l := range inner {
							x, y := a[min(i*g.StrideA+l, len(a)-1)], b[min(l*g.StrideB+j, len(b)-1)]
							if g.TransA {
								x = a[l*g.StrideA+i]
							}
							if g.TransB {
								y = b[j*g.StrideB+l]
							}
							sum += f.rounded(x) * f.rounded(y)
						}
						at := i*g.StrideC + j
						want := g.Alpha*sum + g.Beta*c[at]
						var x float64
						if f.out == 8 {
							x = math.Float64frombits(binary.LittleEndian.Uint64(got[8*at:]))
						} else {
							x = float64(math.Float32frombits(binary.LittleEndian.Uint32(got[4*at:])))
						}
						if math.Abs(x-want) > 2e-6*(1+math.Abs(want)) || f.out == 8 && math.Abs(x-want) > 1e-13*(1+math.Abs(want)) {
							t.Fatalf("(%d, %d) is %v, want %v", i, j, x, want)
						}
					}
				}
			})
		}
	}
}

// Batched integer products are exact up to the largest and the smallest 32-bit sum. A sum beyond
// this range is an error.
func TestMultiplyIntegers(t *testing.T) {
	const inner, count = 16, 2
	d := double.Computing(double.Options{})
	a, b := make([]byte, count*inner), make([]byte, count*4*inner)
	for i := range a {
		a[i] = 0x80 // -128
	}
	for i := range b {
		b[i] = byte(3 * i)
	}
	g := driver.Gemm{Precision: driver.Int8, Rows: 1, Cols: 4, Inner: inner, TransB: true, Alpha: 1, A: allocate(t, d, len(a)), B: allocate(t, d, len(b)),
		C: allocate(t, d, 4*4*count), StrideA: inner, StrideB: inner, StrideC: 4, Batch: count, StepA: inner, StepB: 4 * inner, StepC: 4}
	ok(t, d.Upload(0, g.A, a), d.Upload(0, g.B, b), d.Multiply(0, &g))
	got := make([]byte, 4*4*count)
	ok(t, d.Download(0, got, g.C))
	for at := range 4 * count {
		want := int32(0)
		for l := range inner {
			want += -128 * int32(int8(b[at*inner+l]))
		}
		if x := int32(binary.LittleEndian.Uint32(got[4*at:])); x != want {
			t.Errorf("sum %d is %d, want %d", at, x, want)
		}
	}
	const most = 1 << 31 / (128 * 128) // products -128 x -128 that add up to 2^31, one beyond the largest sum
	long := allocate(t, d, 4*most)
	all := make([]byte, 4*most)
	for i := range all {
		all[i] = 0x80
	}
	ok(t, d.Upload(0, long, all))
	g = driver.Gemm{Precision: driver.Int8, Rows: 1, Cols: 4, Inner: most, TransB: true, Alpha: 1, A: long, B: long, C: g.C, StrideA: most, StrideB: most,
		StrideC: 4}
	refused(t, d.Multiply(0, &g), "not a 32-bit integer")
	g.Inner -= 16
	ok(t, d.Multiply(0, &g))
	g.TransB = false
	refused(t, d.Multiply(0, &g), "8-bit integers")
}

func TestMultiplyChecks(t *testing.T) {
	d := double.Computing(double.Options{})
	p := allocate(t, d, 24)
	g := driver.Gemm{Rows: 2, Cols: 3, Inner: 1, A: p, B: p, C: p, StrideA: 1, StrideB: 3, StrideC: 3, Alpha: 1}
	ok(t, d.Clear(0, p, 24), d.Multiply(0, &g))
	g.StrideC = 2
	refused(t, d.Multiply(0, &g), "1, 3 and 2 apart")
	g.StrideC = 4
	refused(t, d.Multiply(0, &g), "28 bytes from byte 0 of 24")
	g.Inner = 0
	refused(t, d.Multiply(0, &g), "sums over 0")
}
