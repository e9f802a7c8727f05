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
