package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
)

// The functions in this file compute products of two factors in digits of bfloat16 with the
// roundings of TDPBF16PS, without tiles. docs/reference/products.md has the errors.

// bfloat16Digits writes the digits of a number, the largest first. Each digit is the bfloat16
// number nearest to the remainder of the number without the digits before.
func bfloat16Digits(v float32, to []uint16) {
	for i := range to {
		to[i], v = nextDigit(v)
	}
}

// bfloat16Factor has the digits of a factor's lines, which are rows of A or columns of B:
// [line][digit][inner index], filled with zeros up to a multiple of bfloat16Depth.
type bfloat16Factor struct {
	digits, length int
	data           []uint16
}

func newBFloat16Factor(lines, inner, digits int, at func(line, l int) float32) *bfloat16Factor {
	f := &bfloat16Factor{digits: digits, length: ceil(inner, bfloat16Depth) * bfloat16Depth}
	f.data = make([]uint16, lines*digits*f.length)
	list := make([]uint16, digits)
	for i := range lines {
		for l := range inner {
			bfloat16Digits(at(i, l), list)
			for p, v := range list {
				f.data[(i*digits+p)*f.length+l] = v
			}
		}
	}
	return f
}

func (f *bfloat16Factor) tile(line, digit, l int) []uint16 {
	return f.data[(line*f.digits+digit)*f.length+l:][:bfloat16Depth]
}

// bfloat16Dot returns total plus the product of a line of a and a line of b: of each 32 inner
// indices the products of the digits p and q with p + q < digits, the smallest first. After each
// block of inner indices the sum is added, in float32, to the sum of the earlier blocks.
func bfloat16Dot(total float32, a, b *bfloat16Factor, i, j, block int) float32 {
	for from := 0; from < a.length; from += block {
		var sum float32
		for l := from; l < min(from+block, a.length); l += bfloat16Depth {
			for p := a.digits - 1; p >= 0; p-- {
				for q := a.digits - 1 - p; q >= 0; q-- {
					sum = dotBFloat16(sum, a.tile(i, p, l), b.tile(j, q, l), 2)
				}
			}
		}
		total += sum
	}
	return total
}

// TestDotBFloat16 checks the order of the sums and the roundings.
func TestDotBFloat16(t *testing.T) {
	const half = 0x1p-24 // half a place of 1
	for name, c := range map[string]struct {
		sum  float32
		a, b []float32
		want float32
	}{
		"a tie goes to even":                    {1, []float32{half, 0}, []float32{1, 0}, 1},
		"a tie goes up to even":                 {1 + 2*half, []float32{half, 0}, []float32{1, 0}, 1 + 4*half},
		"even and odd indices have own sums":    {0, []float32{1, half, 0, half}, []float32{1, 1, 0, 1}, 1 + 2*half},
		"a sum of even indices rounds in order": {0, []float32{1, 0, half, 0, half, 0}, []float32{1, 0, 1, 0, 1, 0}, 1},
		"both sums meet before the old value":   {1, []float32{half, half}, []float32{1, 1}, 1 + 2*half},
		"subnormal operands are zero":           {0, []float32{0x1p-127, 0}, []float32{0x1p100, 0}, 0},
		"subnormal results are zero":            {0, []float32{0x1p-100, 0}, []float32{0x1p-27, 0}, 0},
		"a subnormal old value is zero":         {0x1p-127, []float32{0, 0}, []float32{0, 0}, 0},
	} {
		var a, b []uint16
		for i := range c.a {
			first, _ := nextDigit(c.a[i])
			second, _ := nextDigit(c.b[i])
			a, b = append(a, first), append(b, second)
		}
		if got := dotBFloat16(c.sum, a, b, 2); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// TestBFloat16DigitsAreExact checks that three digits add up to a number of at least 2^-109, and
// that two digits leave at most 2^-16 of it.
func TestBFloat16DigitsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	digits := make([]uint16, 3)
	for range 100000 {
		v := float32(math.Ldexp(1+r.Float64(), r.IntN(230)-109))
		if r.IntN(2) == 0 {
			v = -v
		}
		bfloat16Digits(v, digits)
		if sum := float64(widened(digits[0])) + float64(widened(digits[1])) + float64(widened(digits[2])); sum != float64(v) {
			t.Fatalf("%g: the digits add up to %g", v, sum)
		}
		two := float64(widened(digits[0])) + float64(widened(digits[1]))
		if math.Abs(two-float64(v)) > math.Ldexp(math.Abs(float64(v)), -16) {
			t.Fatalf("%g: two digits add up to %g", v, two)
		}
	}
}

// TestBFloat16Errors compares products of digits, and float32 products of this package, with
// float64. Three digits are at least as accurate as float32 if sums of 160 indices are added in
// float32. The errors are the table of docs/reference/products.md.
func TestBFloat16Errors(t *testing.T) {
	require.NoRace(t, alone)
	normal := func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }
	uniform := func(r *rand.Rand) float32 { return float32(r.Float64()-0.5) / 10 }
	wide := func(r *rand.Rand) float32 { return float32(r.NormFloat64() * math.Exp(3*r.NormFloat64())) }
	positive := func(r *rand.Rand) float32 { return float32(r.Float64()) }
	for _, c := range []struct {
		name                 string
		rows, columns, inner int
		a, b                 func(r *rand.Rand) float32
		transposed           bool // sums over rows, as X^T D, in blocks of RowBlock
	}{
		{"X W, 96 columns", 96, 8, 96, normal, uniform, false},
		{"X W, 800 columns", 48, 8, 800, normal, uniform, false},
		{"X W, 3,072 columns", 24, 8, 3072, normal, uniform, false},
		{"X W, 800 columns, all positive", 48, 8, 800, positive, positive, false},
		{"X W, 800 columns, wide range", 48, 8, 800, wide, wide, false},
		{"X^T D, 2,400 rows", 32, 8, 2400, normal, normal, true},
		{"X^T D, 2,400 rows, wide range", 32, 8, 2400, normal, wide, true},
	} {
		r := rand.New(rand.NewPCG(7, 5))
		a, b := make([]float32, c.rows*c.inner), make([]float32, c.inner*c.columns) // A by rows, B by rows
		for i := range a {
			a[i] = c.a(r)
		}
		for i := range b {
			b[i] = c.b(r)
		}
		exact := func(i, j int) (sum float64) {
			for l := range c.inner {
				sum += float64(a[i*c.inner+l]) * float64(b[l*c.columns+j])
			}
			return sum
		}
		errorOf := func(product func(i, j int) float32) float64 {
			var e, n float64
			for i := range c.rows {
				for j := range c.columns {
					want := exact(i, j)
					e, n = e+(float64(product(i, j))-want)*(float64(product(i, j))-want), n+want*want
				}
			}
			return math.Sqrt(e / n)
		}
		floats := floatProduct(t, a, b, c.rows, c.columns, c.inner, c.transposed)
		single := errorOf(func(i, j int) float32 { return floats[i*c.columns+j] })
		digits := func(n, block int) float64 {
			x := newBFloat16Factor(c.rows, c.inner, n, func(i, l int) float32 { return a[i*c.inner+l] })
			w := newBFloat16Factor(c.columns, c.inner, n, func(j, l int) float32 { return b[l*c.columns+j] })
			return errorOf(func(i, j int) float32 { return bfloat16Dot(0, x, w, i, j, block) })
		}
		three, two, long := digits(3, 160), digits(2, 160), digits(3, math.MaxInt32)
		t.Logf("%-32s float32 %.1e, three digits %.1e (one sum %.1e), two digits %.1e", c.name, single, three, long, two)
		if three > single {
			t.Errorf("%s: three digits have the error %.2e, float32 products %.2e", c.name, three, single)
		}
		if two > 1e-5 {
			t.Errorf("%s: two digits have the error %.2e", c.name, two)
		}
	}
}

// floatProduct returns the product of a and b by the package's float32 kernels: as X W, or as X^T D
// with X = A^T, block by block.
func floatProduct(t *testing.T, a, b []float32, rows, columns, inner int, transposed bool) []float32 {
	k := mustNew[float32](t, fastest())
	out := make([]float32, rows*columns)
	if !transposed {
		x, w := k.NewPackedFloats(rows, inner), k.NewPanels(inner, columns)
		for i := range rows {
			x.SetRow(i, a[i*inner:][:inner])
		}
		w.Pack(inner, columns, b, columns)
		k.Mul(out, columns, x, 0, rows, w, k.NewScratch(rows, columns))
		return out
	}
	x, row := k.NewPackedFloats(inner, rows), make([]float32, rows)
	for l := range inner {
		for i := range row {
			row[i] = a[i*inner+l]
		}
		x.SetRow(l, row)
	}
	s := k.NewScratch(RowBlock, columns)
	for lo := 0; lo < inner; lo += RowBlock {
		hi := min(lo+RowBlock, inner)
		k.AddMulTrans(out, columns, x, lo, hi, b[lo*columns:], columns, columns, s)
	}
	return out
}
