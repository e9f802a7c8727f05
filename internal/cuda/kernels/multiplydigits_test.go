//go:build gpu

package kernels_test

import (
	"testing"

	"ppal/internal/cuda/kernels"
)

// MultiplyDigits agrees with a product of integers and Dequantize to the bit, for shapes that do
// and do not fill tiles of threads, for more pieces of the sums than there are stages in shared
// memory, and for several blocks of indices (the helper multiply compares the bits).
func TestMultiplyDigits(t *testing.T) {
	for seed, c := range []struct{ rows, inner, cols, count, most int }{
		{1, 1, 1, 3, 999}, {128, 32, 64, 3, 999}, {129, 96, 65, 2, 999}, {257, 130, 20, 3, 999}, {100, 300, 140, 3, 999},
		{60, 700, 8, 2, 96}, {140, 250, 70, 3, 64}, {127, 224, 63, 2, 999},
	} {
		r := newRig[float32](t, uint64(seed))
		u := make([]byte, c.rows*c.inner)
		for i := range u {
			u[i] = byte(r.rng.Uint32())
		}
		b, out, bias := r.random(c.inner, c.cols, 1), r.random(c.rows, c.cols, 3), r.random(1, c.cols, 0)
		r.inPlace(out)
		d := placed(r, kernels.NewDigits(c.inner, c.cols, c.count, c.most, testScale))
		x := kernels.SignedBytes{Stride: d.Blocks * d.Length}
		x.At = r.put(make([]byte, c.rows*x.Stride))
		other := kernels.SignedBytes{Stride: kernels.PaddedIndices(c.rows)}
		other.At = r.put(make([]byte, c.inner*other.Stride))
		r.do(r.s.LoadSigned(r.q, x, other, r.put(u), c.rows, c.inner))
		r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
		multiply(r, x, c.rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out), Add: true})
		multiply(r, x, c.rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(out), Add: true, Activation: kernels.Sigmoid, Bias: r.on(bias)})
	}
	r := newRig[float32](t, 1)
	d := kernels.NewDigits(1<<20, 4, 3, 8, 1).Place(1 << 20)
	if r.s.MultiplyDigits(r.q, kernels.Dequantize{Digits: d, B: r.on(r.random(4, 4, 0)), Out: r.on(r.random(4, 4, 0))}) == nil {
		t.Error("too many blocks: no error")
	}
}
