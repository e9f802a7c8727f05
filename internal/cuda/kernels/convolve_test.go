//go:build gpu

package kernels_test

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// The products are as near to the reference's as their factors allow: TF32 rounds factors to 2^-11,
// two bfloat16 terms to 2^-17, and three terms hold float32. The shapes have tails of channels,
// filters, places and pictures, places of the window in several pieces and several places in one
// piece, aligned and unaligned results, and several ranges of places.
func TestConvolve(t *testing.T) {
	shapes := append(windowShapes,
		plan.Window{Channels: 8, Height: 6, Width: 6, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1},
		plan.Window{Channels: 19, Height: 7, Width: 5, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 2, StrideX: 2, DilationY: 1, DilationX: 1},
		plan.Window{Channels: 40, Height: 4, Width: 6, Lines: 2, Columns: 3, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1},
		plan.Window{Channels: 1, Height: 14, Width: 13, Lines: 3, Columns: 3, Top: 1, Left: 1, StrideY: 1, StrideX: 1, DilationY: 1, DilationX: 1})
	units := map[int]float64{1: 0x1p14, 2: 0x1p9, 3: 16}
	for i, w := range shapes {
		w = withOutput(w)
		for terms, unit := range units {
			if i < len(windowShapes) && terms != 1+i%3 {
				continue
			}
			pictures, filters := []int{1, 5, 4}[i%3], []int{5, 33, 70, 129}[(i+terms)%4]
			r := newRig[float32](t, uint64(i))
			in, filter, bias := r.random(pictures, w.Channels*w.Height*w.Width, i%3), r.random(filters, w.Patch(), 3), r.random(1, filters*w.Places(), 0)
			plain, rectified := r.result(pictures, filters*w.Places(), 2-i%2), r.result(pictures, filters*w.Places(), i%2)
			r.step(&plan.Convolution{Window: w, In: in, Filter: filter, Out: plain})
			r.step(&plan.Convolution{Window: w, In: in, Filter: filter, Out: rectified})
			r.step(&plan.BiasActivation{A: rectified, Bias: bias, Activation: plan.ReLUActivation})
			c := kernels.Convolve{Window: w, Terms: terms, In: r.on(in), Filter: r.on(filter), Out: r.on(plain)}
			r.do(r.s.Convolve(r.q, c))
			c.Out, c.Bias, c.Activation = r.on(rectified), r.on(bias), kernels.ReLU
			r.do(r.s.Convolve(r.q, c))
			r.check(math.Sqrt(float64(w.Patch())), unit)

			r = newRig[float32](t, uint64(i))
			d, grad := r.random(pictures, filters*w.Places(), 1), r.result(pictures, w.Channels*w.Height*w.Width, 0)
			filter = r.random(filters, w.Patch(), 0)
			c = kernels.Convolve{Window: w, Backward: true, Terms: terms, In: r.on(d), Filter: r.on(filter), Out: r.on(grad)}
			if err := r.s.Convolve(r.q, c); (err != nil) != (w.StrideY > 1 || w.StrideX > 1) {
				t.Errorf("derivative with strides of %d and %d: error %v", w.StrideY, w.StrideX, err)
			} else if err == nil {
				r.step(&plan.ConvolutionInputGrad{Window: w, D: d, Filter: filter, Out: grad})
				r.check(math.Sqrt(float64(filters*w.Lines*w.Columns)), unit)
			}

			r = newRig[float32](t, uint64(i))
			in, d, grad = r.random(pictures, w.Channels*w.Height*w.Width, 2), r.random(pictures, filters*w.Places(), 1), r.random(filters, w.Patch(), i%2)
			g := kernels.FilterGrad{Window: w, Terms: terms, In: r.on(in), D: r.on(d), Out: r.on(r.inPlace(grad)), Add: i%2 == 0}
			before := slices.Clone(r.memory.Data[grad.Buffer])
			r.do(r.s.FilterGrad(r.q, g))
			r.step(&plan.ConvolutionFilterGrad{Window: w, In: in, D: d, Out: grad})
			for k := range before {
				if at := k%grad.Stride - grad.Offset; g.Add && at >= 0 && at < grad.Cols {
					r.memory.Data[grad.Buffer][k] += before[k]
				}
			}
			r.check(2+math.Sqrt(float64(pictures*w.Places())), unit)
		}
	}
}
