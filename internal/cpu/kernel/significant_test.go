package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"ppal/internal/require"
)

// leastDerivative returns the smallest magnitude of a derivative that is not zero.
func leastDerivative[F Float]() F {
	if unsafe.Sizeof(F(0)) == 4 {
		return F(math.Ldexp(1, -100))
	}
	return F(math.Ldexp(1, -960))
}

// unlessNegligible returns the derivative x, and zero below the least magnitude of F.
func unlessNegligible[F Float](x float64) float64 {
	if math.Abs(x) < float64(leastDerivative[F]()) {
		return 0
	}
	return x
}

// Derivatives of activations are zero below the least magnitude, and all others remain.
func TestNegligibleDerivatives(t *testing.T) {
	eachKernel(t, testNegligible[float32], testNegligible[float64])
}

func testNegligible[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	least := leastDerivative[F]()
	inf, tiny := F(math.Inf(1)), least/0x1p40 // tiny is subnormal in float32
	for _, c := range []struct{ d, want F }{
		{1, 1}, {-1, -1}, {least, least}, {-least, -least}, {least * 0.999, 0}, {least * -0.999, 0},
		{tiny, 0}, {-tiny, 0}, {0, 0}, {inf, inf}, {-inf, -inf}, {F(math.NaN()), F(math.NaN())},
	} {
		for _, f := range []struct {
			name string
			pass func(d, s []F)
			s    F // of slope 1
		}{{"tanh", k.TanhGrad, 0}, {"relu", k.ReLUGrad, 1}} {
			for n := 1; n <= 40; n += 13 {
				d := slices.Repeat([]F{c.d}, n)
				f.pass(d, slices.Repeat([]F{f.s}, n))
				for i, got := range d {
					if fmt.Sprint(got) != fmt.Sprint(c.want) {
						t.Fatalf("%s' of %v: element %d of %d is %v, want %v", f.name, c.d, i, n, got, c.want)
					}
				}
			}
		}
		// sigmoid has a slope of 1/4.
		d := []F{4 * c.d}
		if k.SigmoidGrad(d, []F{0.5}); fmt.Sprint(d[0]) != fmt.Sprint(c.want) {
			t.Errorf("sigmoid' of %v: %v, want %v", c.d, d[0], c.want)
		}
	}
}

// The derivative of a layer and the product for its gradient take as long with saturated units as
// with others.
func BenchmarkSaturated(b *testing.B) {
	const rows, cols = RowBlock, 784
	for _, level := range Levels()[1:] {
		k := require.Value(New[float32](level))(b)
		x, row := k.NewPackedFloats(rows, cols), slices.Repeat([]float32{0.5}, cols)
		for i := range rows {
			x.SetRow(i, row)
		}
		g, d, units := Alloc[float32](cols*benchWidth), Alloc[float32](rows*benchWidth), slices.Repeat([]float32{0.5}, rows*benchWidth)
		s := k.NewScratch(rows, benchWidth)
		for _, v := range []float32{1, 1e-38} {
			b.Run(fmt.Sprintf("%v/%g", level, v), func(b *testing.B) {
				for b.Loop() {
					for i := range d {
						d[i] = v
					}
					k.SigmoidGrad(d, units)
					k.AddMulTrans(g, benchWidth, x, 0, rows, d, benchWidth, benchWidth, s)
				}
			})
		}
	}
}
