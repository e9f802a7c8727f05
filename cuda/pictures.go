package cuda

import (
	"cmp"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// patchBytes is the default of Options.Patches. A part of the pictures stays in the L2 cache of an
// H200 from the pass that writes its patches to the product that reads them, as the integer sums of
// sumsBytes do, and has enough columns to fill the device.
const patchBytes = 64 << 20

// convolution is a convolution or a derivative of one: a product of the filters [L, K] with patches
// [K, P] of each picture, P places each. The patches of a part of the pictures lie side by side in
// memory that all convolutions share, so that picture n has the columns n P to (n + 1) P - 1.
type convolution struct {
	*Program
	plan.Window
	filters int
	others  int // rows with the places' other elements, which a part stores after its patches
	most    int // largest number of pictures of a part
}

// newConvolution returns the convolution of a number of pictures, and raises l.patches, the size of
// the shared memory in bytes, to the size of a part.
func (l *lowering) newConvolution(w plan.Window, pictures, filters, others int) convolution {
	c := convolution{Program: l.Program, Window: w, filters: filters, others: others}
	if c.whole() {
		return c
	}
	one := (w.Patch() + others) * w.Places() * l.size
	parts := max(1, (pictures*one-1)/cmp.Or(l.device.options.Patches, patchBytes)+1)
	c.most = max(1, (pictures+parts-1)/parts)
	l.patches = max(l.patches, c.most*one)
	return c
}

// whole reports whether the window covers the picture at a single place: the patches are the
// pictures then.
func (c convolution) whole() bool {
	w := c.Window
	return w.Places() == 1 && w.Top == 0 && w.Left == 0 && w.Lines == w.Height && w.Columns == w.Width && w.DilationY == 1 && w.DilationX == 1
}

// part is a part of the pictures. patches [K, count P] and other [others, count P] are its views of
// the shared memory.
type part struct {
	from, count    int
	patches, other kernels.Operand
}

// each calls do for the parts of the pictures.
func (c convolution) each(pictures int, do func(p part) error) error {
	memory := &c.device.queue.patches
	if _, err := memory.grow(c.device, "patches of pictures", c.Program.patches); err != nil {
		return err
	}
	for from := 0; from < pictures; from += c.most {
		p := part{from: from, count: min(c.most, pictures-from)}
		cols := p.count * c.Places()
		p.patches = kernels.Operand{At: memory.at, Rows: c.Patch(), Cols: cols, Stride: cols}
		p.other = kernels.Operand{At: memory.at.Offset(c.Patch() * cols * c.size), Rows: c.others, Cols: cols, Stride: cols}
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// operand returns the rows of o that belong to the pictures of the part.
func (p part) operand(o kernels.Operand, size int) kernels.Operand {
	return kernels.Operand{At: o.At.Offset(p.from * o.Stride * size), Rows: p.count, Cols: o.Cols, Stride: o.Stride}
}

// forward computes out_n = F patches_n for every picture n.
func (c convolution) forward(q kernels.Queue, in, filter, out kernels.Operand) error {
	if c.whole() {
		return libraryProduct{c.device, c.precision(), false, true}.multiply(q, in, filter, out, false)
	}
	return c.each(in.Rows, func(p part) error {
		if err := c.set.Patches(q, c.Window, p.patches, p.operand(in, c.size)); err != nil {
			return err
		}
		to := p.operand(out, c.size)
		return c.device.multiply(&driver.Gemm{Precision: c.precision(), Rows: c.filters, Cols: c.Places(), Inner: c.Patch(), Alpha: 1,
			A: filter.At, StrideA: filter.Stride, B: p.patches.At, StrideB: p.patches.Stride, StepB: c.Places(),
			C: to.At, StrideC: c.Places(), StepC: to.Stride, Batch: p.count})
	})
}

// inputGrad computes patches_n = F^T d_n for every picture n, and adds them up in the pictures.
func (c convolution) inputGrad(q kernels.Queue, d, filter, out kernels.Operand) error {
	if c.whole() {
		return libraryProduct{c.device, c.precision(), false, false}.multiply(q, d, filter, out, false)
	}
	return c.each(out.Rows, func(p part) error {
		from := p.operand(d, c.size)
		if err := c.device.multiply(&driver.Gemm{Precision: c.precision(), Rows: c.Patch(), Cols: c.Places(), Inner: c.filters, TransA: true,
			Alpha: 1, A: filter.At, StrideA: filter.Stride, B: from.At, StrideB: c.Places(), StepB: from.Stride,
			C: p.patches.At, StrideC: p.patches.Stride, StepC: c.Places(), Batch: p.count}); err != nil {
			return err
		}
		return c.set.PatchesSum(q, c.Window, p.operand(out, c.size), p.patches)
	})
}

// filterGrad computes out = sum over n of d_n patches_n^T, or adds the sum to out. The pictures' d
// are copied side by side, as patches of a window of one element, so that a product sums over the
// pictures of a part.
func (c convolution) filterGrad(q kernels.Queue, in, d, out kernels.Operand, add bool) error {
	if c.whole() {
		return libraryProduct{c.device, c.precision(), true, false}.multiply(q, d, in, out, add)
	}
	one := plan.Window{Channels: c.filters, Height: c.OutputHeight, Width: c.OutputWidth, Lines: 1, Columns: 1, StrideY: 1, StrideX: 1,
		DilationY: 1, DilationX: 1, OutputHeight: c.OutputHeight, OutputWidth: c.OutputWidth}
	return c.each(in.Rows, func(p part) error {
		if err := c.set.Patches(q, c.Window, p.patches, p.operand(in, c.size)); err != nil {
			return err
		}
		if err := c.set.Patches(q, one, p.other, p.operand(d, c.size)); err != nil {
			return err
		}
		return libraryProduct{c.device, c.precision(), false, true}.multiply(q, p.other, p.patches, out, add || p.from > 0)
	})
}

// pictures returns the number of pictures in the window's rows.
func (l *lowering) pictures(v plan.View) int {
	if l.window.whole {
		return v.Rows
	}
	return l.window.rows()
}

// picture lowers a step over pictures, and reports whether s is one.
func (l *lowering) picture(i int, s plan.Step) (bool, error) {
	switch s := s.(type) {
	case *plan.Convolution:
		if done, err := l.convolve(i, s, kernels.Convolve{Window: s.Window, Filter: l.whole(s.Filter)}, s.In, s.Filter, s.Out); done || err != nil {
			return true, err
		}
		in, filter, out := l.view(s.In), l.wholeView(s.Filter), l.view(s.Out)
		c := l.newConvolution(s.Window, l.pictures(s.In), s.Filter.Rows, 0)
		l.emit(s, func(q kernels.Queue) error { return c.forward(q, in(), filter(), out()) })
	case *plan.ConvolutionInputGrad:
		if done, err := l.convolve(i, s, kernels.Convolve{Window: s.Window, Backward: true, Filter: l.whole(s.Filter)}, s.D, s.Filter, s.Out); done || err != nil {
			return true, err
		}
		d, filter, out := l.view(s.D), l.wholeView(s.Filter), l.view(s.Out)
		c := l.newConvolution(s.Window, l.pictures(s.D), s.Filter.Rows, 0)
		l.emit(s, func(q kernels.Queue) error { return c.inputGrad(q, d(), filter(), out()) })
	case *plan.ConvolutionFilterGrad:
		in, d, out, add := l.view(s.In), l.view(s.D), l.wholeView(s.Out), !l.window.first
		g := kernels.FilterGrad{Window: s.Window, Out: l.whole(s.Out), Add: add}
		terms, err := 0, error(nil)
		if s.Places() > 1 { // at a single place, the derivative is a product of the library
			terms, err = l.terms(layer{Window: s.Window, filters: s.Out.Rows, derivative: true}, g.Fits(l.pictures(s.In)))
		}
		if err != nil {
			return true, err
		}
		if terms > 0 {
			l.emit(s, func(q kernels.Queue) error {
				g := g
				g.Terms, g.In, g.D, g.Out = terms, in(), d(), out()
				return l.set.FilterGrad(q, g)
			})
			break
		}
		c := l.newConvolution(s.Window, l.pictures(s.In), s.Out.Rows, s.Out.Rows)
		l.emit(s, func(q kernels.Queue) error { return c.filterGrad(q, in(), d(), out(), add) })
	case *plan.MaxPool:
		in, out := l.view(s.In), l.view(s.Out)
		l.emit(s, func(q kernels.Queue) error { return l.set.MaxPool(q, s.Window, out(), in()) })
	case *plan.MaxPoolGrad:
		in, d, out := l.view(s.In), l.view(s.D), l.view(s.Out)
		l.emit(s, func(q kernels.Queue) error { return l.set.MaxPoolGrad(q, s.Window, out(), in(), d()) })
	case *plan.Normalize:
		in, out := l.view(s.In), l.view(s.Out)
		l.emit(s, func(q kernels.Queue) error { return l.set.Normalize(q, s.Groups, s.Epsilon, out(), in()) })
	case *plan.NormalizeGrad:
		in, d, out := l.view(s.In), l.view(s.D), l.view(s.Out)
		l.emit(s, func(q kernels.Queue) error { return l.set.NormalizeGrad(q, s.Groups, s.Epsilon, out(), in(), d()) })
	default:
		return false, nil
	}
	return true, nil
}
