package cuda

import (
	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// slicedProduct is out = scale op(U) op(B) with B = B1 + B2 (+ B3) in bfloat16: two or three products on tensor cores with sums of
// float32, the smallest terms first. Every addition to out rounds to what out then is, so the small terms' sums are rounded as small
// numbers, and only those of B1 as large ones. U is exact, and three terms are (two leave up to 2^-16 of an entry).
type slicedProduct struct {
	d              *Device
	set            *kernels.Set
	x              *bytes8
	window         window
	transA, transB bool
	fixed          driver.Pointer // where the terms of a B that all of the rows' slices share are; 0: in the room that products share
	terms          int
}

// innerBlock is the longest sum of a product on tensor cores. They add with truncation, so errors of long sums do not cancel; the blocks'
// sums are added rounded to nearest.
const innerBlock = 4096

// sliced is the product with 8-bit data that a step is, in slices.
func (l *lowering) sliced(s *plan.Product, x *bytes8) (product, error) {
	p := &slicedProduct{d: l.device, set: l.set, x: x, window: l.window, transA: s.TransA, transB: s.TransB, terms: l.device.options.Slices}
	if l.window.whole {
		p.window = window{to: x.rows, first: true, whole: true}
	}
	rows := s.B.Rows
	if s.TransA && !s.TransB {
		rows = p.window.rows()
	}
	bytes := p.terms * rows * padded(s.B.Cols) * bfloat16Bytes
	if s.TransA || l.window.whole {
		_, err := l.device.queue.terms.grow(l.device, "terms of bfloat16", bytes) // now: not while a graph is captured
		return p, err
	}
	at, have := l.termsOf[s]
	if !have {
		var err error
		if at, err = l.allocate("terms of "+l.describe(s.B.Buffer), bytes); err != nil {
			return nil, err
		}
		l.termsOf[s] = at
	}
	p.fixed = at
	return p, nil
}

func (p *slicedProduct) multiply(q kernels.Queue, _, b, out kernels.Operand, add bool) error {
	stride := padded(b.Cols)
	to := kernels.BFloat16s{Stride: stride}
	at := p.fixed
	if at == 0 {
		at = p.d.queue.terms.at
	}
	for range p.terms {
		to.At = append(to.At, at)
		at = at.Offset(b.Rows * stride * bfloat16Bytes)
	}
	if p.fixed == 0 || p.window.first {
		if err := p.set.SplitBFloat16(q, to, b); err != nil {
			return err
		}
	}
	inner := p.x.cols
	if p.transA {
		inner = p.window.rows()
	}
	for k := p.terms - 1; k >= 0; k-- {
		for from := 0; from < inner; from += innerBlock {
			g := p.block(to.At[k], stride, out, from, min(from+innerBlock, inner))
			if add {
				g.Beta = 1
			}
			if err := p.d.driver.Multiply(p.d.stream, g); err != nil {
				return err
			}
			add = true
		}
	}
	return nil
}

// block is the part of a term's product whose sums are from from to to-1.
func (p *slicedProduct) block(term driver.Pointer, stride int, out kernels.Operand, from, to int) *driver.Gemm {
	g := &driver.Gemm{Precision: driver.BF16, Rows: out.Rows, Cols: out.Cols, Inner: to - from, TransA: p.transA, TransB: p.transB,
		Alpha: p.x.scale, A: p.x.from(p.window.from), B: term, C: out.At, StrideA: p.x.stride, StrideB: stride, StrideC: out.Stride}
	if p.transA {
		g.A = p.x.from(p.window.from + from)
	} else {
		g.A = g.A.Offset(from * bfloat16Bytes)
	}
	if p.transB {
		g.B = g.B.Offset(from * bfloat16Bytes)
	} else {
		g.B = g.B.Offset(from * stride * bfloat16Bytes)
	}
	return g
}
