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

// layer is a convolution whose error was measured.
type layer struct {
	plan.Window
	filters, terms int
}

// terms returns the form of the factors of a convolution without patches: the fastest one whose
// measured error is small enough for the device's products. 0 means that the convolution needs
// patches.
func (l *lowering) terms(c kernels.Convolve, pictures int) (int, error) {
	if d := l.device; d.options.Implicit && l.dtype == kernels.Float32 && hasIntegers(d.Info()) && c.Fits(pictures) == nil {
		for terms := 1; terms <= 3; terms++ {
			w, filters := c.Shape()
			if e, err := d.convolutionError(layer{w, filters, terms}); err != nil || e <= largestError(d.options.Products) {
				return terms, err
			}
		}
	}
	return 0, nil
}

// convolutionError convolves a random picture with random filters, and returns the distance of a
// few channels from the host's in float64, relative to the norm. The first call for a layer runs
// the convolution.
func (d *Device) convolutionError(l layer) (float64, error) {
	if e, known := d.convolved[l]; known {
		return e, nil
	}
	const most = 3 // filters that the host multiplies
	rng := rand.New(rand.NewPCG(5, uint64(l.terms)))
	row := func(buffer, rows, cols int) plan.View {
		return plan.View{Buffer: buffer, Rows: rows, Cols: cols, Stride: cols}
	}
	views := []plan.View{row(0, 1, l.Channels*l.Height*l.Width), row(1, l.filters, l.Patch()), row(2, 1, l.filters*l.Places())}
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
	got := make([]float32, views[2].Len())
	if err := errors.Join(set.Convolve(&d.queue, kernels.Convolve{Window: l.Window, Terms: l.terms, In: at[0], Filter: at[1], Out: at[2]}),
		d.driver.Download(d.stream, raw(got), at[2].At), d.driver.Synchronize(d.stream)); err != nil {
		return 0, err
	}
	views[1].Rows = min(l.filters, most) // the first and the last ones, and one between
	every := (l.filters - 1) / max(views[1].Rows-1, 1)
	views[1].Stride *= every
	if err := plan.Run(&plan.Convolution{Window: l.Window, In: views[0], Filter: views[1], Out: views[2]}, &m, 0, 1, nil); err != nil {
		return 0, err
	}
	var distance, norm float64
	for k, want := range m.Data[2][:views[1].Rows*l.Places()] {
		e := float64(got[k/l.Places()*every*l.Places()+k%l.Places()]) - float64(want)
		distance, norm = distance+e*e, norm+float64(want)*float64(want)
	}
	d.convolved[l] = math.Sqrt(distance / max(norm, math.SmallestNonzeroFloat32))
	return d.convolved[l], nil
}

// convolve lowers a convolution without patches, fused with the bias and the activation behind it
// where the kernel does both, and reports whether it did.
func (l *lowering) convolve(i int, s plan.Step, c kernels.Convolve, in, filter, out plan.View) (bool, error) {
	terms, err := l.terms(c, l.pictures(in))
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
