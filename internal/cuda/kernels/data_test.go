//go:build gpu

package kernels_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

func TestWiden(t *testing.T) {
	both(t, widen[float32], widen[float64])
}

func widen[T plan.Float](t *testing.T) {
	for i, sh := range shapes {
		r := newRig[T](t, uint64(i))
		bytes, numbers := make([]byte, sh.rows*sh.cols), make([]float64, sh.rows*sh.cols)
		to, rounded := r.result(sh.rows, sh.cols, sh.gap), r.result(sh.rows, sh.cols, sh.gap)
		for k := range bytes {
			bytes[k], numbers[k] = byte(r.rng.IntN(256)), r.rng.NormFloat64()
			r.memory.Row(to, k/sh.cols)[k%sh.cols] = T(float64(bytes[k]) / 255)
			r.memory.Row(rounded, k/sh.cols)[k%sh.cols] = T(numbers[k])
		}
		r.do(r.s.Widen(r.q, r.on(to), r.put(bytes), 1.0/255))
		r.do(r.s.Round(r.q, r.on(rounded), r.put(bytesOf(numbers))))
		r.check(0, 1)
	}
}

// Unpacking and packing again returns the same numbers and changes no memory outside the matrix.
func TestPack(t *testing.T) {
	r := newRig[float32](t, 1)
	f, g, h := r.result(1, 1, 0), r.result(3, 1, 4), r.result(2, 3, 1)
	list := []kernels.Operand{r.on(f), r.on(g), r.on(h)}
	table, from, to := r.put(r.s.Addresses(list...)), make([]float64, 10), r.put(make([]byte, 80))
	at := 0
	for _, v := range []plan.View{f, g, h} {
		for i := range v.Rows {
			for j := range v.Cols {
				from[at] = float64(at) + 0.5
				r.memory.Row(v, i)[j] = float32(from[at])
				at++
			}
		}
	}
	r.do(r.s.Unpack(r.q, r.put(bytesOf(from)), table, list...))
	r.check(0, 0)
	r.do(r.s.Pack(r.q, to, table, list...))
	if d := cmp.Diff(from, r.numbers(to, 10)); d != "" {
		t.Error(d)
	}
}
