//go:build gpu

package kernels_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"ppal/internal/cuda/driver"
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

// bfloat16s reads n bfloat16 numbers from the device.
func bfloat16s(r *rig[float32], p driver.Pointer, n int) []float64 {
	b, list := make([]byte, 2*n), make([]float64, n)
	r.do(r.d.Download(0, b, p))
	for i := range list {
		list[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
	}
	return list
}

func TestWidenBFloat16(t *testing.T) {
	const rows, cols, stride = 16, 16, 20
	r := newRig[float32](t, 1)
	bytes := make([]byte, rows*cols)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	to := kernels.BFloat16s{At: []driver.Pointer{r.put(make([]byte, 2*rows*stride))}, Stride: stride}
	r.do(r.s.WidenBFloat16(r.q, to, r.put(bytes), rows, cols))
	got := bfloat16s(r, to.At[0], rows*stride)
	for i, x := range got {
		want := 0.0
		if i%stride < cols {
			want = float64(bytes[i/stride*cols+i%stride])
		}
		if x != want {
			t.Fatalf("number %d is %v, want %v", i, x, want)
		}
	}
}

// AddParts adds in float64 and rounds once: small parts between large parts of opposite signs stay.
func TestAddParts(t *testing.T) {
	const count, rows, cols = 4, 37, 19
	for _, add := range []bool{false, true} {
		r := newRig[float32](t, 5)
		parts, out := make([]float32, count*rows*cols), r.inPlace(r.random(rows, cols, 3))
		before := r.contents(out.Buffer)
		for i := range parts {
			parts[i] = float32(r.rng.NormFloat64()) * [...]float32{1e8, 1, -1e8, 1e-3}[i/(rows*cols)]
		}
		for e := range rows * cols {
			parts[2*rows*cols+e] = -parts[e]
		}
		r.do(r.s.AddParts(r.q, r.put(bytesOf(parts)), count, r.on(out), add))
		got := r.contents(out.Buffer)
		for e := range rows * cols {
			at, sum := out.Offset+e/cols*out.Stride+e%cols, 0.0
			for k := range count {
				sum += float64(parts[k*rows*cols+e])
			}
			if add {
				sum += float64(before[at])
			}
			if got[at] != float32(sum) {
				t.Fatalf("add %v, element %d: %v, want %v", add, e, got[at], float32(sum))
			}
			before[at] = got[at]
		}
		if !slices.EqualFunc(got, before, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }) {
			t.Errorf("add %v: AddParts wrote beside the matrix", add)
		}
	}
}

func TestSplitBFloat16(t *testing.T) {
	for terms := 1; terms <= 3; terms++ {
		r := newRig[float32](t, uint64(terms))
		v := r.random(9, 33, 2)
		special(r, v)
		for j := range v.Cols { // halfway between two numbers: rounds to even
			r.set(v, 8, j, math.Float32frombits(0x3f808000+uint32(j)<<16))
		}
		to := kernels.BFloat16s{Stride: 35}
		for range terms {
			to.At = append(to.At, r.put(make([]byte, 2*9*35)))
		}
		r.do(r.s.SplitBFloat16(r.q, to, r.on(v)))
		left := math.Ldexp(1, -8*terms) // remainder relative to the number: a term holds 8 bits
		for i := range v.Rows {
			for j, x := range r.memory.Row(v, i) {
				sum, want := 0.0, float64(x)
				for k, p := range to.At {
					term := bfloat16s(r, p, 9*35)[i*35+j]
					sum += term
					if even := math.Float32bits(float32(term))>>16&1 == 0; k == 0 && i == 8 && !even {
						t.Errorf("%v is split into %v first, want the even neighbour", x, term)
					}
				}
				same := sum == want || math.IsNaN(sum) && math.IsNaN(want)
				if !same && !(math.Abs(sum-want) <= left*math.Abs(want)) {
					t.Fatalf("%d terms of %v are %v", terms, want, sum)
				}
			}
		}
	}
	r := newRig[float32](t, 9)
	if r.s.SplitBFloat16(r.q, kernels.BFloat16s{}, r.on(r.random(1, 1, 0))) == nil {
		t.Error("no terms: no error")
	}
}
