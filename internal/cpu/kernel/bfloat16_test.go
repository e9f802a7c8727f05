package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/racing"
)

// TestBFloat16Products runs the AMX kernels for digits of bfloat16 in the model of the
// instructions. The products equal the products of the model without tiles to the bit. Their
// distance from float64 is at most what the digits and float32 allow. The result ends or begins at
// a guard page.
func TestBFloat16Products(t *testing.T) {
	racing.Skip(t, alone)
	k := amxModel(t)
	if reference := must(NewByteKernels(fastest())); reference.HasBFloat16() || !k.HasBFloat16() {
		t.Error("the level of the other kernels has bfloat16 products, or level AMX has none")
	}
	r := rand.New(rand.NewPCG(81, 82))
	list := []shape{{1, 1, 1}, {16, 32, 16}, {17, 33, 17}, {33, 160, 16}, {32, 161, 3}, {40, 321, 20}, {20, 784, 10}, {140, 900, 2}}
	for range 20 {
		list = append(list, shape{1 + r.IntN(70), 1 + r.IntN(400), 1 + r.IntN(40)})
	}
	if testing.Short() {
		list = list[:10]
	}
	for i, s := range list {
		digits := 2 + i%2
		number := func() float32 { return float32(r.NormFloat64() * math.Exp(2*r.NormFloat64())) }
		a, b := make([]float32, s.n*s.d), make([]float32, s.d*s.h)
		for j := range a {
			a[j] = number()
		}
		for j := range b {
			b[j] = number()
		}
		at := func(line, l int) float32 { return a[line*s.d+l] }
		bt := func(line, l int) float32 { return b[l*s.h+line] }
		x, w := NewBFloat16(s.n, s.d, digits, false), NewBFloat16(s.h, s.d, digits, true)
		for _, f := range []struct {
			to *BFloat16
			of func(line, l int) float32
		}{{x, at}, {w, bt}} {
			for line := range f.to.lines {
				for l := range s.d {
					f.to.Set(line, l, f.of(line, l))
				}
			}
		}
		c, ldc := operand(t, r, s.n, s.h, i%2 == 0, func() float32 { return 0 })
		k.AddBFloat16(c, ldc, x, w)
		modelX, modelW := newBFloat16Factor(s.n, s.d, digits, at), newBFloat16Factor(s.h, s.d, digits, bt)
		allowed := []float64{0x1p-15, 0x1p-21}[digits-2] // of the sum of magnitudes
		for e, got := range c {
			row, column := e/ldc, e%ldc
			if column >= s.h {
				if got != canary {
					t.Fatalf("%v: the kernel wrote between the rows", s)
				}
				continue
			}
			if want := bfloat16Dot(modelX, modelW, row, column, 160); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%v, %d digits: element %d, %d is %g, want %g", s, digits, row, column, got, want)
			}
			var sum, size float64
			for l := range s.d {
				v := float64(at(row, l)) * float64(bt(column, l))
				sum, size = sum+v, size+math.Abs(v)
			}
			if math.Abs(float64(got)-sum) > allowed*size {
				t.Fatalf("%v, %d digits: element %d, %d is %g, in float64 %g", s, digits, row, column, got, sum)
			}
		}
		before := c[0]
		if k.AddBFloat16(c, ldc, x, w); s.d <= 160 && c[0] != before+before {
			t.Errorf("%v: the second product is not added", s)
		}
	}
}
