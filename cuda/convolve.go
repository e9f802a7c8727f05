package cuda

import (
	"errors"
	"math"
	"math/rand/v2"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// largestError is the largest error of a convolution without patches, relative to the norm of the
// result in float64. Factors in TF32 leave about 0.0003, and in two bfloat16 terms 0.000005.
func largestError(p Products) float64 {
	switch p {
	case TF32:
		return 0x1p-10
	case BF16x2:
		return 0x1p-16
	}
	return 0x1p-21
}

// layer is a convolution whose error was measured, or its derivative by the filters.
type layer struct {
	plan.Window
	filters, terms int
	derivative     bool
}

// terms returns the form of the factors of a layer without patches: the fastest one whose measured
// error is small enough for the device's products. 0 means that the layer needs patches. unfit says
// why the kernels cannot compute the layer.
func (l *lowering) terms(a layer, unfit error) (int, error) {
	if d := l.device; d.options.Implicit && l.dtype == kernels.Float32 && hasIntegers(d.Info()) && unfit == nil {
		for a.terms = 1; a.terms <= 3; a.terms++ {
			if e, err := d.convolutionError(a); err != nil || e <= largestError(d.options.Products) {
				return a.terms, err
			}
		}
	}
	return 0, nil
}

// convolutionError computes a layer of a random picture and of random filters or derivatives, and
// returns the distance of a few filters' results from the host's in float64, relative to the norm.
// The first call for a layer runs the kernels.
func (d *Device) convolutionError(l layer) (float64, error) {
	if e, known := d.convolved[l]; known {
		return e, nil
	}
	rng := rand.New(rand.NewPCG(5, uint64(l.terms)))
	row := func(buffer, rows, cols int) plan.View {
		return plan.View{Buffer: buffer, Rows: rows, Cols: cols, Stride: cols}
	}
	views := []plan.View{row(0, 1, l.Channels*l.Height*l.Width), row(1, l.filters, l.Patch()), row(2, 1, l.filters*l.Places())}
	if l.derivative { // the second factor and the result change places
		views[1], views[2] = row(1, 1, l.filters*l.Places()), row(2, l.filters, l.Patch())
	}
	var m plan.Memory[float32]
	var at [3]kernels.Operand
	for i, v := range views {
		numbers := make([]float32, v.Len())
		for k := range numbers {
			numbers[k] = float32(rng.NormFloat64())
		}
		p, err := d.table("a test of convolutions", raw(numbers))
		if err != nil {
			return 0, err
		}
		defer d.memory.release(p)
		m.Data, m.First = append(m.Data, numbers), append(m.First, 0)
		at[i] = kernels.Operand{At: p, Rows: v.Rows, Cols: v.Cols, Stride: v.Stride}
	}
	set, err := d.set(kernels.Float32)
	if err != nil {
		return 0, err
	}
	last := min(l.filters, 3) // of the filters, which the host multiplies
	before, size := l.filters-last, l.Places()
	if l.derivative {
		size = l.Patch()
	}
	var run, want error
	sums := make([]float64, last*size) // the host's result of the last filters
	if l.derivative {
		run = set.FilterGrad(&d.queue, kernels.FilterGrad{Window: l.Window, Terms: l.terms, In: at[0], D: at[1], Out: at[2]})
		views[1].Offset, views[1].Cols, views[2].Rows = before*l.Places(), last*l.Places(), last
		want = plan.Run(&plan.ConvolutionFilterGrad{Window: l.Window, In: views[0], D: views[1], Out: views[2]}, &m, 0, 1, sums)
	} else {
		run = set.Convolve(&d.queue, kernels.Convolve{Window: l.Window, Terms: l.terms, In: at[0], Filter: at[1], Out: at[2]})
		views[1].Offset, views[1].Rows = before*l.Patch(), last
		want = plan.Run(&plan.Convolution{Window: l.Window, In: views[0], Filter: views[1], Out: views[2]}, &m, 0, 1, nil)
		for k := range sums {
			sums[k] = float64(m.Data[2][k])
		}
	}
	got := make([]float32, l.filters*size)
	if err := errors.Join(run, want, d.driver.Download(d.stream, raw(got), at[2].At), d.driver.Synchronize(d.stream)); err != nil {
		return 0, err
	}
	var distance, norm float64
	for k, sum := range sums {
		e := float64(got[before*size+k]) - sum
		distance, norm = distance+e*e, norm+sum*sum
	}
	d.convolved[l] = math.Sqrt(distance / max(norm, math.SmallestNonzeroFloat32))
	return d.convolved[l], nil
}

// convolve lowers a convolution without patches, fused with the bias and the activation behind it
// where the kernel does both, and reports whether it did.
func (l *lowering) convolve(i int, s plan.Step, c kernels.Convolve, in, filter, out plan.View) (bool, error) {
	w, filters := c.Shape()
	terms, err := l.terms(layer{Window: w, filters: filters}, c.Fits(l.pictures(in)))
	if terms == 0 || err != nil {
		return false, err
	}
	bias := noOperand
	j := l.find(i, func(t plan.Step) bool {
		b, ok := t.(*plan.BiasActivation)
		return ok && b.A == out && (b.Activation == plan.LinearActivation || b.Activation == plan.ReLUActivation)
	})
	if j >= 0 {
		b := l.steps[j].(*plan.BiasActivation)
		if l.untouched(i, j, out.Buffer, out.Buffer) && l.unwritten(i, j, b.Bias.Buffer) {
			l.markDone(j)
			bias, c.Activation = l.wholeView(b.Bias), activations[b.Activation]
		}
	}
	from, by, to := l.view(in), l.wholeView(filter), l.view(out)
	l.emit(s, func(q kernels.Queue) error {
		c := c
		c.Terms, c.In, c.Filter, c.Out, c.Bias = terms, from(), by(), to(), bias()
		return l.set.Convolve(q, c)
	})
	return true, nil
}
