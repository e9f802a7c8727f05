package cuda

import (
	"slices"

	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// factor returns where the second factor of a product with 8-bit data is cut to: memory of the product's own, which the windows of the rows
// use one after the other.
func (l *lowering) factor(s *plan.Product) (kernels.Quantized, error) {
	to, bytes := l.eight[s.A.Buffer].form.place(s, l.span(s))
	at, have := l.cuts[s]
	if !have {
		var err error
		if at, err = l.allocate("slices of "+l.describe(s.B.Buffer), bytes); err != nil { // the first window is the largest
			return kernels.Quantized{}, err
		}
		l.cuts[s] = at
	}
	return to(at), nil
}

// span is the window of a product's rows, all of them where there are no windows.
func (l *lowering) span(s *plan.Product) window {
	if l.window.whole {
		return window{to: l.eight[s.A.Buffer].rows, first: true, whole: true}
	}
	return l.window
}

// sliced is the product with 8-bit data that a step is. Its second factor is cut by it, but where a pass before does that, or did it for the
// first of the windows that share it.
func (l *lowering) sliced(s *plan.Product, x *eightBit) (slicedProduct, error) {
	factor, err := l.factor(s)
	if err != nil {
		return nil, err
	}
	cut := cutter(func(q kernels.Queue, to kernels.Quantized, b kernels.Operand) error {
		return l.set.Quantize(q, to, b, s.TransB)
	})
	if l.cutBefore[s] || !s.TransA && !l.window.first {
		cut = nil
	}
	p := x.form.product(s, l.span(s), factor, cut)
	if d, ok := p.(*digitsProduct); ok {
		rows := s.Out.Rows
		if !s.TransA {
			rows = l.span(s).rows()
		}
		err = d.reserve(rows)
	}
	return p, err
}

// cutFor returns where a pass at step i, which writes v, is to write v in slices, and whether v itself is to be written: a later step
// reads it otherwise than as the second factor of a product with 8-bit data. Steps that the pass takes along are marked as done before.
func (l *lowering) cutFor(i int, v plan.View) (to kernels.Quantized, keep bool, err error) {
	j := l.find(i, func(s plan.Step) bool {
		p, ok := s.(*plan.Product)
		return ok && p.B == v && p.TransA && !p.TransB && l.eight[p.A.Buffer] != nil
	})
	if j < 0 || !l.unwritten(i, j, v.Buffer) {
		return to, true, nil
	}
	p := l.steps[j].(*plan.Product)
	if to, err = l.factor(p); err != nil {
		return to, true, err
	}
	l.cutBefore[p] = true
	return to, l.readElsewhere(i, v.Buffer, p), nil
}

// isCut says whether a pass before cuts v for a product with 8-bit data.
func (l *lowering) isCut(v plan.View) bool {
	for p := range l.cutBefore {
		if p.B == v {
			return true
		}
	}
	return false
}

// readElsewhere says whether anything but p reads a buffer after the pass at step i.
func (l *lowering) readElsewhere(i, buffer int, p *plan.Product) bool {
	if c := l.plan.Buffers[buffer].Class; c != plan.Local && c != plan.Temporary || outputs(l.plan)[buffer] {
		return true
	}
	return slices.ContainsFunc(l.readers[buffer], func(s plan.Step) bool {
		k := slices.Index(l.steps, s)
		return s != plan.Step(p) && (k < 0 || k > i && !l.done[k])
	})
}

// activated lets a product at step i do the activation behind it, in place: out = f(out + 1 bias).
func (l *lowering) activated(i int, s *plan.Product, p slicedProduct) {
	if l.window.whole || s.TransA || s.Add {
		return
	}
	j := l.find(i, func(t plan.Step) bool {
		b, ok := t.(*plan.BiasActivation)
		return ok && b.A == s.Out && b.A.Rows > 1
	})
	if j < 0 || !l.untouched(i, j, s.Out.Buffer, s.Out.Buffer) {
		return
	}
	b := l.steps[j].(*plan.BiasActivation)
	if l.unwritten(i, j, b.Bias.Buffer) && p.activate(activations[b.Activation], l.wholly(b.Bias)) {
		l.take(j)
	}
}
