package cuda

import (
	"slices"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// factor returns the place of the quantized second factor of a product with 8-bit data. The memory
// is the product's own; the windows of the rows use the memory one after the other.
func (l *lowering) factor(s *plan.Product) (kernels.Quantized, error) {
	to, bytes := l.eight[s.A.Buffer].form.place(s, l.span(s))
	at, have := l.quantized[s]
	if !have {
		var err error
		if at, err = l.allocate("quantized "+l.describe(s.B.Buffer), bytes); err != nil { // the first window is the largest
			return kernels.Quantized{}, err
		}
		l.quantized[s] = at
	}
	return to(at), nil
}

// span returns the window of a product's rows, or all rows if there are no windows.
func (l *lowering) span(s *plan.Product) window {
	if l.window.whole {
		return window{to: l.eight[s.A.Buffer].rows, first: true, whole: true}
	}
	return l.window
}

// eightBitProduct returns the product with 8-bit data for step s. The product quantizes its second
// factor, unless an earlier pass does, or the first window did and the windows share the factor.
func (l *lowering) eightBitProduct(s *plan.Product, x *eightBit) (eightBitProduct, error) {
	factor, err := l.factor(s)
	if err != nil {
		return nil, err
	}
	quantize := quantizer(func(q kernels.Queue, to kernels.Quantized, b kernels.Operand) error {
		return l.set.Quantize(q, to, b, s.TransB)
	})
	if l.quantizedBefore[s] || l.centered[s] || !s.TransA && !l.window.first {
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

// center fuses t = m W, c = b - t and the quantization of W, for the product X W of centered 8-bit
// data with digits, into one pass over W at step i, the product t.
func (l *lowering) center(i int, s *plan.Product) (done bool, err error) {
	x := l.quantizes(s)
	if x == nil || s.A.Rows != 1 || s.TransA || s.TransB || s.Add || !l.window.whole || outputs(l.plan)[s.Out.Buffer] {
		return false, nil
	}
	j := l.find(i, func(t plan.Step) bool {
		m, ok := t.(*plan.Map)
		return ok && m.Expr.Op == describe.Sub && m.Expr.X.Op == describe.Load && m.Expr.Y.Op == describe.Load && m.Args[m.Expr.Y.Arg] == s.Out
	})
	if j < 0 {
		return false, nil
	}
	m := l.steps[j].(*plan.Map)
	b, inPlace := m.Args[m.Expr.X.Arg], m.Out == s.Out
	if b.Rows != 1 || b.Cols != m.Out.Cols || b.Buffer == m.Out.Buffer || !inPlace && len(l.readers[s.Out.Buffer]) != 1 ||
		!l.untouched(i, j, b.Buffer, m.Out.Buffer) || !l.untouched(i, j, b.Buffer, s.Out.Buffer) {
		return false, nil
	}
	to, err := l.factor(x)
	if err != nil || to.Digits.Blocks != 1 {
		return false, err
	}
	l.centered[x] = true
	l.markDone(j)
	means, w, bias, out := l.wholeView(s.A), l.wholeView(s.B), l.wholeView(b), l.wholeView(m.Out)
	l.emit(s, func(q kernels.Queue) error { return l.set.CenterDigits(q, to.Digits, w(), means(), bias(), out()) })
	return true, nil
}

// quantizes returns the product of the forward half after step s that multiplies 8-bit data by s's
// second factor in digits, or nil.
func (l *lowering) quantizes(s *plan.Product) *plan.Product {
	after := false
	for _, r := range l.plan.Forward {
		for _, t := range r.Steps {
			p, ok := t.(*plan.Product)
			if x := l.eightOf(p); ok && after && x != nil && x.kind.Integers() && p.B == s.B && !p.TransA && !p.TransB {
				return p
			}
			after = after || p == s
		}
	}
	return nil
}

// eightOf returns the 8-bit data of a product, or nil.
func (l *lowering) eightOf(p *plan.Product) *eightBit {
	if p == nil {
		return nil
	}
	return l.eight[p.A.Buffer]
}

// quantizeFor returns the place to which the pass at step i, which writes v, writes the quantized
// v, and whether the pass keeps v itself, because a later step reads v other than as the second
// factor of a product with 8-bit data. The caller marks the steps of the pass as done first.
func (l *lowering) quantizeFor(i int, v plan.View) (to kernels.Quantized, keep bool, err error) {
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
	l.quantizedBefore[p] = true
	return to, l.readElsewhere(i, v.Buffer, p), nil
}

// isQuantized reports whether an earlier pass quantizes v for a product with 8-bit data.
func (l *lowering) isQuantized(v plan.View) bool {
	for p := range l.quantizedBefore {
		if p.B == v {
			return true
		}
	}
	return false
}

// readElsewhere reports whether anything but p reads a buffer after the pass at step i.
func (l *lowering) readElsewhere(i, buffer int, p *plan.Product) bool {
	if c := l.plan.Buffers[buffer].Class; c != plan.Local && c != plan.Temporary || outputs(l.plan)[buffer] {
		return true
	}
	return slices.ContainsFunc(l.readers[buffer], func(s plan.Step) bool {
		k := slices.Index(l.steps, s)
		return s != plan.Step(p) && (k < 0 || k > i && !l.done[k])
	})
}

// activated fuses the product at step i with the activation that follows, out = f(out + 1 bias), if
// the product supports that.
func (l *lowering) activated(i int, s *plan.Product, p eightBitProduct) {
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
	if l.unwritten(i, j, b.Bias.Buffer) && p.activate(activations[b.Activation], l.wholeView(b.Bias)) {
		l.markDone(j)
	}
}
