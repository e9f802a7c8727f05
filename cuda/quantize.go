package cuda

import (
	"slices"

	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// factor returns where the second factor of a product with 8-bit data is quantized to: memory of
// the product, which the windows of the rows use one after the other.
func (l *lowering) factor(s *plan.Product) (kernels.Quantized, error) {
	to, bytes := l.eight[s.A.Buffer].form.place(s, l.span(s))
	at, have := l.factors[s]
	if !have {
		var err error
		if at, err = l.allocate("digits of "+l.describe(s.B.Buffer), bytes); err != nil { // the first window is largest
			return kernels.Quantized{}, err
		}
		l.factors[s] = at
	}
	return to(at), nil
}

// span is the window of the rows of a product, all rows if there are no windows.
func (l *lowering) span(s *plan.Product) window {
	if l.window.whole {
		return window{to: l.eight[s.A.Buffer].rows, first: true, whole: true}
	}
	return l.window
}

// quantizedProduct returns the product of step s with 8-bit data. The product quantizes its second
// factor, unless an earlier pass does that or the first window did.
func (l *lowering) quantizedProduct(s *plan.Product, x *eightBit) (quantizedProduct, error) {
	factor, err := l.factor(s)
	if err != nil {
		return nil, err
	}
	quantize := quantizer(func(q kernels.Queue, to kernels.Quantized, b kernels.Operand) error {
		return l.set.Quantize(q, to, b, s.TransB)
	})
	if l.quantized[s] || !s.TransA && !l.window.first {
		quantize = nil
	}
	p := x.form.product(s, l.span(s), factor, quantize)
	if d, ok := p.(*digitsProduct); ok {
		rows := s.Out.Rows
		if !s.TransA {
			rows = l.span(s).rows()
		}
		err = d.reserve(rows)
	}
	return p, err
}

// digitsFor returns where a pass at step i, which writes v, writes the digits of v, and whether the
// pass also writes v: a later step may read v otherwise than as the second factor of a product with
// 8-bit data.
func (l *lowering) digitsFor(i int, v plan.View) (to kernels.Quantized, keep bool, err error) {
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
	l.quantized[p] = true
	return to, l.readElsewhere(i, v.Buffer, p), nil
}

// isQuantized reports whether an earlier pass quantizes v for a product with 8-bit data.
func (l *lowering) isQuantized(v plan.View) bool {
	for p := range l.quantized {
		if p.B == v {
			return true
		}
	}
	return false
}

// readElsewhere reports whether anything except p reads a buffer after the pass at step i.
func (l *lowering) readElsewhere(i, buffer int, p *plan.Product) bool {
	if c := l.plan.Buffers[buffer].Class; c != plan.Local && c != plan.Temporary || outputs(l.plan)[buffer] {
		return true
	}
	return slices.ContainsFunc(l.readers[buffer], func(s plan.Step) bool {
		k := slices.Index(l.steps, s)
		return s != plan.Step(p) && (k < 0 || k > i && !l.done[k])
	})
}

// activated fuses the activation behind the product at step i into the product: out = f(out + 1
// bias).
func (l *lowering) activated(i int, s *plan.Product, p quantizedProduct) {
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
