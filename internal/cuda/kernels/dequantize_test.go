//go:build gpu

package kernels_test

import (
	"math"
	"testing"

	"ppal/internal/cuda/kernels"
)

// Dequantize accumulates, or applies an activation with its bias.
func TestJoinActivates(t *testing.T) {
	const rows, inner, cols = 9, 40, 5
	r := newRig[float32](t, 3)
	u := make([]byte, rows*inner)
	for i := range u {
		u[i] = byte(i * 11)
	}
	x, _ := signed(r, u, rows, inner)
	b, plain, added, active, bias := r.random(inner, cols, 0), r.result(rows, cols, 0), r.random(rows, cols, 2), r.result(rows, cols, 1), r.random(1, cols, 0)
	r.inPlace(added)
	before := r.contents(added.Buffer)
	d := placed(r, kernels.NewDigits(inner, cols, 2, 99, testScale))
	r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
	multiply(r, x, rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(plain)})
	multiply(r, x, rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(added), Add: true})
	multiply(r, x, rows, d, kernels.Dequantize{B: r.on(b), Out: r.on(active), Activation: kernels.Tanh, Bias: r.on(bias)})
	sums, after, activated := r.contents(plain.Buffer), r.contents(added.Buffer), r.contents(active.Buffer)
	for i, z := range sums {
		row, j := i/cols, i%cols
		if at := added.Offset + row*added.Stride + j; after[at] != before[at]+z {
			t.Errorf("(%d, %d) with %v is %v", row, j, before[at], after[at])
		}
		want := float32(math.Tanh(float64(z + r.memory.Row(bias, 0)[j])))
		if got := activated[active.Offset+row*active.Stride+j]; !near(got, want, 1, 4) {
			t.Errorf("the activation of (%d, %d) is %v, want %v", row, j, got, want)
		}
	}
}

// The kernels for four columns a thread give the bits of the kernel for any matrices, for every
// number of digits, blocks of indices and activation, also next to columns without digits.
func TestDequantizeFour(t *testing.T) {
	const rows, inner, cols = 21, 150, 12
	for seed, c := range []struct {
		count, most int
		bad         bool
	}{{2, 999, false}, {3, 999, true}, {2, 64, true}, {3, 64, false}} {
		r := newRig[float32](t, uint64(seed))
		u := make([]byte, rows*inner)
		for i := range u {
			u[i] = byte(i * i * 13 >> 2)
		}
		b, bias := r.random(inner, cols, 0), r.random(1, cols, 0)
		if c.bad {
			r.set(b, 70, 6, float32(math.Inf(1)))
		}
		d := placed(r, kernels.NewDigits(inner, cols, c.count, c.most, testScale))
		x := kernels.SignedBytes{Stride: d.Blocks * d.Length}
		x.At = r.put(make([]byte, rows*x.Stride))
		other := kernels.SignedBytes{Stride: kernels.PaddedIndices(rows)}
		other.At = r.put(make([]byte, inner*other.Stride))
		r.do(r.s.LoadSigned(r.q, x, other, r.put(u), rows, inner))
		r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
		forms := []kernels.Dequantize{{}}
		for f := kernels.Identity; f <= kernels.ReLU && d.Blocks == 1; f++ {
			forms = append(forms, kernels.Dequantize{Activation: f, Bias: r.on(bias)})
		}
		for _, j := range forms {
			any, four := r.result(rows, cols, 1), r.result(rows, cols, 4) // four begins at a multiple of 16 bytes
			four.Offset = 0
			j.B = r.on(b)
			j.Out = r.on(any)
			multiply(r, x, rows, d, j)
			j.Out = r.on(four)
			multiply(r, x, rows, d, j)
			for i := range rows {
				want, got := r.contents(any.Buffer)[any.Offset+i*any.Stride:][:cols], r.contents(four.Buffer)[i*four.Stride:][:cols]
				for k := range want {
					if math.Float32bits(want[k]) != math.Float32bits(got[k]) && !(want[k] != want[k] && got[k] != got[k]) {
						t.Fatalf("%+v, activation %v: (%d, %d) is %v, want %v", c, j.Activation, i, k, got[k], want[k])
					}
				}
			}
		}
	}
}

// The second factor of a gradient has separate scales in every block of rows. The errors are within
// the bound of docs/reference/products.md, sum_b kappa_K c_j^b |X|_f^b + u |G_fj|, even for columns
// whose entries grow along the rows.
func TestGradientBound(t *testing.T) {
	const rows, features, cols = 150, 23, 6
	kappas := map[int]float64{2: (1/(2*254.) + 0x1p-25) / 127, 3: (1/(2*254.*254) + 0x1p-25) / 127}
	for _, most := range []int{16, 64, 2048} {
		for count, kappa := range kappas {
			r := newRig[float32](t, uint64(most))
			u := make([]byte, rows*features)
			for i := range u {
				u[i] = byte(r.rng.Uint32())
			}
			b, out := r.random(rows, cols, 1), r.result(features, cols, 2)
			for i := range rows {
				r.set(b, i, 1, r.memory.Row(b, i)[1]*float32(math.Exp(float64(i)/5)))
			}
			d := placed(r, kernels.NewDigits(rows, cols, count, most, testScale))
			x := kernels.SignedBytes{Stride: d.Blocks * d.Length}
			x.At = r.put(make([]byte, features*x.Stride))
			byRow := kernels.SignedBytes{At: r.put(make([]byte, rows*32)), Stride: 32}
			r.do(r.s.LoadSigned(r.q, byRow, x, r.put(u), rows, features))
			r.do(r.s.QuantizeDigits(r.q, d, r.on(b), false))
			multiply(r, x, features, d, kernels.Dequantize{B: r.on(b), Out: r.on(out)})
			got := r.contents(out.Buffer)
			for f := range features {
				for j := range cols {
					var want, bound float64
					for lo := 0; lo < rows; lo += d.Length {
						var most, sum float64
						for i := lo; i < min(lo+d.Length, rows); i++ {
							v, x := float64(r.memory.Row(b, i)[j]), float64(u[i*features+f])*testScale
							most, sum, want = max(most, math.Abs(v)), sum+x, want+x*v
						}
						bound += kappa * most * sum
					}
					bound = 1.0001*bound + 0x1p-24*math.Abs(want)
					if z := float64(got[out.Offset+f*out.Stride+j]); !(math.Abs(z-want) <= bound) {
						t.Errorf("%d digits, blocks of %d: (%d, %d) is %v, want %v to within %v", count, most, f, j, z, want, bound)
					}
				}
			}
		}
	}
}
