package cuda

import (
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// wideBytes is 8-bit data as bfloat16, which holds integers up to 255 exactly. One copy serves both
// products, plain and transposed.
type wideBytes struct {
	*eightBit
	p      *Program
	at     driver.Pointer
	stride int
}

// tensorRow is the multiple to which rows of bfloat16 are padded, so that each row begins at a
// multiple of 16 bytes, as tensor cores require.
const tensorRow = 8

func padded(cols int) int { return (cols + tensorRow - 1) / tensorRow * tensorRow }

const bfloat16Bytes = 2

func newWideBytes(p *Program, buffer int, x *eightBit) (form, error) {
	f := &wideBytes{eightBit: x, p: p, stride: padded(x.cols)}
	var err error
	if f.at, err = p.allocate(p.describe(buffer)+" as bfloat16", x.rows*f.stride*bfloat16Bytes); err != nil {
		return nil, err
	}
	return f, p.device.driver.Clear(p.device.stream, f.at, x.rows*f.stride*bfloat16Bytes)
}

// from returns the address of a row.
func (x *wideBytes) from(row int) driver.Pointer { return x.at.Offset(row * x.stride * bfloat16Bytes) }

func (x *wideBytes) pieces() []window { return []window{{to: x.rows}} }

func (x *wideBytes) load(narrow driver.Pointer, from, to int) error {
	wide := kernels.BFloat16s{At: []driver.Pointer{x.from(from)}, Stride: x.stride}
	return x.p.set.WidenBFloat16(&x.p.device.queue, wide, narrow, to-from, x.cols)
}

func (x *wideBytes) place(s *plan.Product, w window) (to func(at driver.Pointer) kernels.Quantized, bytes int) {
	rows, stride := s.B.Rows, padded(s.B.Cols)
	if s.TransA && !s.TransB {
		rows = w.rows()
	}
	term := rows * stride * bfloat16Bytes
	return func(at driver.Pointer) kernels.Quantized {
		terms := kernels.BFloat16s{Stride: stride}
		for k := range x.kind.Digits() {
			terms.At = append(terms.At, at.Offset(k*term))
		}
		return kernels.Quantized{Terms: terms}
	}, x.kind.Digits() * term
}

func (x *wideBytes) product(s *plan.Product, w window, factor kernels.Quantized, quantize quantizer) eightBitProduct {
	return &termsProduct{x: x, window: w, transA: s.TransA, transB: s.TransB, factor: factor, quantize: quantize}
}

// termsProduct is out = scale op(U) op(B) with B = B1 + B2 (+ B3) in bfloat16: two or three
// products on tensor cores with float32 sums, the smallest term first. An addition to out rounds
// relative to out's size at that time, so the sums of small terms keep their precision. U and three
// terms are exact; two terms leave a relative error of up to 2^-16.
//
// If U is transposed and has more rows than a block, a term is a strided batch of the blocks'
// products, because a product with the shape of a layer's weights leaves most of a device idle. A
// pass then adds the products of all blocks and terms in float64.
type termsProduct struct {
	x              *wideBytes
	window         window
	transA, transB bool
	factor         kernels.Quantized
	quantize       quantizer // nil: an earlier pass quantizes
}

// innerBlock is the default of Options.InnerBlock, the longest sum of one product on tensor cores.
// They add with truncation, so the errors of a long sum do not cancel. The sums of blocks are added
// with rounding to nearest, or in float64.
const innerBlock = 4096

func (p *termsProduct) activate(kernels.Activation, func() kernels.Operand) bool { return false }

func (p *termsProduct) multiply(q kernels.Queue, _, b, out kernels.Operand, add bool) error {
	if p.quantize != nil {
		if err := p.quantize(q, p.factor, b); err != nil {
			return err
		}
	}
	inner, terms, d := p.x.cols, p.factor.Terms, p.x.p.device
	if p.transA {
		if inner = p.window.rows(); inner > d.options.InnerBlock && !p.transB {
			return p.batched(q, out, add)
		}
	}
	for k := len(terms.At) - 1; k >= 0; k-- {
		for from, most := 0, d.options.InnerBlock; from < inner; from += most {
			g := p.block(terms.At[k], terms.Stride, out, from, min(from+most, inner))
			if add {
				g.Beta = 1
			}
			if err := d.multiply(g); err != nil {
				return err
			}
			add = true
		}
	}
	return nil
}

// batched is multiply with a strided batch for each term. If the last block of rows is shorter, it
// has a product of its own.
func (p *termsProduct) batched(q kernels.Queue, out kernels.Operand, add bool) error {
	inner, terms, d, set := p.window.rows(), p.factor.Terms, p.x.p.device, p.x.p.set
	blocks := (inner + d.options.InnerBlock - 1) / d.options.InnerBlock
	length := (inner + blocks - 1) / blocks
	full := inner / length
	part := kernels.Operand{Rows: out.Rows, Cols: out.Cols, Stride: out.Cols}
	size := out.Rows * out.Cols
	count := len(terms.At) * blocks
	var err error
	if part.At, err = q.Scratch(count * size * set.Dtype().Size()); err != nil {
		return err
	}
	all := part.At
	for k := len(terms.At) - 1; k >= 0; k-- {
		g := p.block(terms.At[k], terms.Stride, part, 0, length)
		g.Batch, g.StepA, g.StepB, g.StepC = full, length*g.StrideA, length*g.StrideB, size
		if err := d.multiply(g); err != nil {
			return err
		}
		if full < blocks {
			g := p.block(terms.At[k], terms.Stride, part, full*length, inner)
			g.C = g.C.Offset(full * size * set.Dtype().Size())
			if err := d.multiply(g); err != nil {
				return err
			}
		}
		part.At = part.At.Offset(blocks * size * set.Dtype().Size())
	}
	return set.AddParts(q, all, count, out, add)
}

// block returns the part of a term's product that sums over from to to-1.
func (p *termsProduct) block(term driver.Pointer, stride int, out kernels.Operand, from, to int) *driver.Gemm {
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
