//go:build gpu

package kernels_test

import (
	"math"
	"testing"

	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// windowShapes are windows with and without padding, strides, dilation and overlap, and one that
// covers the picture.
var windowShapes = []plan.Window{
	{Channels: 1, Height: 1, Width: 1, Lines: 1, Columns: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1},
	{Channels: 3, Height: 6, Width: 5, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1},
	{Channels: 2, Height: 9, Width: 7, Lines: 3, Columns: 2, Top: 2, Left: 1, StrideY: 2, StrideX: 3, DilationY: 1, DilationX: 1},
	{Channels: 2, Height: 11, Width: 12, Lines: 3, Columns: 6, Top: 1, Left: 2, StrideY: 1, StrideX: 1, DilationY: 2, DilationX: 3},
	{Channels: 5, Height: 8, Width: 8, Lines: 2, Columns: 2, StrideY: 2, StrideX: 2, DilationY: 1, DilationX: 1},
	{Channels: 2, Height: 9, Width: 9, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 2, StrideX: 2, DilationY: 1, DilationX: 1},
	{Channels: 4, Height: 4, Width: 3, Lines: 4, Columns: 3, StrideY: 4, StrideX: 3, DilationY: 1, DilationX: 1},
	{Channels: 1, Height: 2, Width: 2, Lines: 1, Columns: 1, Top: 2, Left: 2, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1}, // windows of padding only
}

// withOutput returns the window with the size of its output.
func withOutput(w plan.Window) plan.Window {
	size := func(n, window, pad, stride, dilation int) int { return (n+2*pad-(window-1)*dilation-1)/stride + 1 }
	w.OutputHeight = size(w.Height, w.Lines, w.Top, w.StrideY, w.DilationY)
	w.OutputWidth = size(w.Width, w.Columns, w.Left, w.StrideX, w.DilationX)
	return w
}

// Patches are the convolution with the unit matrix as filters, and the sums of patches are its
// derivative by the pictures.
func TestPatches(t *testing.T) {
	both(t, patches[float32], patches[float64])
}

func patches[T plan.Float](t *testing.T) {
	for i, w := range windowShapes {
		w = withOutput(w)
		for _, n := range []int{1, 7} {
			r := newRig[T](t, uint64(i))
			places, size := w.Places(), w.Patch()
			in := r.random(n, w.Channels*w.Height*w.Width, 3)
			unit := r.result(size, size, 0)
			for k := range size {
				for j := range size {
					r.set(unit, k, j, 0)
				}
				r.set(unit, k, k, 1)
			}
			// by picture for the reference, side by side for the device
			byPicture, to := r.result(n, size*places, 0), r.result(size, n*places, 2)
			sum := r.result(n, in.Cols, 1)
			r.step(&plan.Convolution{Window: w, In: in, Filter: unit, Out: byPicture})
			r.step(&plan.ConvolutionInputGrad{Window: w, D: byPicture, Filter: unit, Out: sum})
			for k := range n * size * places {
				picture, row, place := k/(size*places), k/places%size, k%places
				x := r.memory.Row(byPicture, picture)[k%(size*places)]
				r.memory.Row(to, row)[picture*places+place] = x
				r.set(byPicture, picture, k%(size*places), x)
			}
			r.do(r.s.Patches(r.q, w, r.on(to), r.on(in)))
			r.do(r.s.PatchesSum(r.q, w, r.on(sum), r.on(to)))
			r.check(float64(size), 1)
		}
	}
}

// Max-pooling leaves out NaN. Of equal elements the first gets the derivative, and sums have the
// reference's bits.
func TestMaxPool(t *testing.T) {
	both(t, maxPool[float32], maxPool[float64])
}

func maxPool[T plan.Float](t *testing.T) {
	for i, w := range windowShapes {
		w = withOutput(w)
		r := newRig[T](t, uint64(i))
		const n = 6
		in := r.random(n, w.Channels*w.Height*w.Width, 2)
		for k := range n {
			for j := range in.Cols {
				x := T(r.rng.IntN(4)) // equal elements
				switch r.rng.IntN(9) {
				case 0:
					x = T(math.NaN())
				case 1:
					x = T(math.Inf(-1))
				}
				r.set(in, k, j, x)
			}
		}
		d := r.random(n, w.Channels*w.Places(), 1)
		out, grad := r.result(n, d.Cols, 0), r.result(n, in.Cols, 3)
		r.step(&plan.MaxPool{Window: w, In: in, Out: out})
		r.step(&plan.MaxPoolGrad{Window: w, In: in, D: d, Out: grad})
		r.do(r.s.MaxPool(r.q, w, r.on(out), r.on(in)))
		r.do(r.s.MaxPoolGrad(r.q, w, r.on(grad), r.on(in), r.on(d)))
		r.check(0, 0)
	}
}

// Ranges shorter and longer than a warp, and longer than a block.
func TestNormalize(t *testing.T) {
	both(t, normalize[float32], normalize[float64])
}

func normalize[T plan.Float](t *testing.T) {
	for i, c := range []struct{ rows, groups, size int }{{1, 1, 1}, {3, 2, 5}, {7, 3, 40}, {2, 2, 1500}, {300, 5, 2}} {
		r := newRig[T](t, uint64(i))
		in, d := r.random(c.rows, c.groups*c.size, 3), r.random(c.rows, c.groups*c.size, 0)
		out, grad := r.result(c.rows, in.Cols, 1), r.result(c.rows, in.Cols, 2)
		n := describe.Normalization{Groups: c.groups, Epsilon: 1e-5}
		r.step(&plan.Normalize{Normalization: n, In: in, Out: out})
		r.step(&plan.NormalizeGrad{Normalization: n, In: in, D: d, Out: grad})
		r.do(r.s.Normalize(r.q, n.Groups, n.Epsilon, r.on(out), r.on(in)))
		r.do(r.s.NormalizeGrad(r.q, n.Groups, n.Epsilon, r.on(grad), r.on(in), r.on(d)))
		const scale = 1000 // elements that are nearly equal divide their rounding errors by sqrt(epsilon)
		r.check(sumScale[T](c.size)*scale, 1)
	}
}
