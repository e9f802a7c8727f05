//go:build gpu

package kernels_test

import (
	"testing"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

func TestSums(t *testing.T) {
	both(t, sums[float32], sums[float64])
}

func sums[T plan.Float](t *testing.T) {
	for i, sh := range append(shapes, struct{ rows, cols, gap int }{3000, 2, 1}, struct{ rows, cols, gap int }{2100, 70, 0}) {
		for _, over := range []plan.Axis{plan.OverRows, plan.OverColumns, plan.OverAll} {
			r := newRig[T](t, uint64(i))
			in := r.random(sh.rows, sh.cols, sh.gap)
			rows, cols := 1, 1
			if over == plan.OverRows {
				cols = sh.cols
			} else if over == plan.OverColumns {
				rows = sh.rows
			}
			out := r.result(rows, cols, 2)
			r.do(r.s.Sums(r.q, over, r.on(in), r.on(out), false))
			r.step(&plan.Sums{Over: over, In: in, Out: out})
			r.check(sumScale[T](sh.rows*sh.cols), 1)
			r.do(r.s.Sums(r.q, over, r.on(in), r.on(out), true))
			for b := range rows {
				for j := range r.memory.Row(out, b) {
					r.memory.Row(out, b)[j] *= 2
				}
			}
			r.check(2*sumScale[T](sh.rows*sh.cols), 1)
		}
	}
}

// sumScale is the scale of the rounding error of a sum of n numbers. A float32 sum accumulates in
// float64, so the order of additions shows only where terms cancel.
func sumScale[T plan.Float](n int) float64 {
	if dtypeOf[T]() == kernels.Float32 {
		return float64(n) * 0x1p-29
	}
	return float64(n)
}

func TestSumsOfNothing(t *testing.T) {
	r := newRig[float32](t, 1)
	in, out := r.on(r.random(3, 4, 0)), r.result(1, 4, 2)
	in.Rows = 0
	r.do(r.s.Sums(r.q, plan.OverRows, in, r.on(out), false))
	clear(r.memory.Row(out, 0))
	r.check(0, 0)
}

func TestWeightedSums(t *testing.T) {
	both(t, weighted[float32], weighted[float64])
}

func weighted[T plan.Float](t *testing.T) {
	for i, sh := range shapes {
		r := newRig[T](t, uint64(i))
		w, b, out := r.random(1, sh.rows, 3), r.random(sh.rows, sh.cols, sh.gap), r.result(1, sh.cols, 0)
		r.do(r.s.WeightedSums(r.q, 1, r.on(w), r.on(b), r.on(out), false))
		r.step(&plan.Product{A: w, B: b, Out: out})
		r.check(4*sumScale[T](sh.rows), 1)
		r.do(r.s.WeightedSums(r.q, -2, r.on(w), r.on(b), r.on(out), true))
		for j := range r.memory.Row(out, 0) {
			r.memory.Row(out, 0)[j] *= -1
		}
		r.check(float64(sh.rows), 2)
	}
}
