package cuda

import (
	"errors"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// product computes out = op(A) op(B), or out += op(A) op(B) with add.
type product interface {
	multiply(q kernels.Queue, a, b, out kernels.Operand, add bool) error
}

// product lowers a product: over the data's entries, by a kernel of this package for a vector or a
// narrow factor, or by cuBLAS.
func (l *lowering) product(i int, s *plan.Product) error {
	a, b, out := l.wholeView(s.A), l.wholeView(s.B), l.wholeView(s.Out)
	add := s.Add
	if !l.window.whole {
		a = l.view(s.A)
		if s.TransA {
			b, add = l.view(s.B), add || !l.window.first
		} else {
			out = l.view(s.Out)
		}
	}
	p := l.choose(s)
	if x := l.eight[s.A.Buffer]; x != nil {
		e, err := l.eightBitProduct(s, x)
		if err != nil {
			return err
		}
		l.activated(i, s, e)
		p = e
	}
	l.emit(s, func(q kernels.Queue) error { return p.multiply(q, a(), b(), out(), add) })
	return nil
}

// wholeView returns all rows of a view when the pass runs.
func (l *lowering) wholeView(v plan.View) func() kernels.Operand {
	return func() kernels.Operand { return l.whole(v) }
}

func (l *lowering) choose(s *plan.Product) product {
	e := l.sparse[s.A.Buffer]
	switch {
	case e != nil && s.Sparse && !s.TransB && !l.window.whole:
		return &sparseProduct{l.set, l.entriesOf(e, s.TransA)}
	case s.A.Rows == 1 && !s.TransA && !s.TransB:
		return vectorProduct{l.set}
	case narrow(s) && !s.TransA:
		return narrowForward{l.set, s.TransB}
	case narrow(s) && !s.TransB:
		return narrowGradient{l.set}
	}
	return libraryProduct{l.device, l.precision(), s.TransA, s.TransB}
}

// narrow reports whether the result of a product over the data's rows has few columns.
func narrow(s *plan.Product) bool {
	rows := max(s.A.Rows, s.Out.Rows)
	return s.Out.Cols <= kernels.Narrow && rows >= narrowRows
}

// narrowRows is the number of rows from which narrow kernels have enough blocks.
const narrowRows = 64

func (l *lowering) entriesOf(e *entries, transposed bool) kernels.Sparse {
	k := 0
	if size := l.device.options.MicroBatch; size > 0 {
		k = l.window.from / size
	}
	if transposed {
		return e.transposed[k]
	}
	return e.rows[k]
}

// precision returns the precision of cuBLAS's products.
func (p *Program) precision() driver.Precision {
	if p.dtype == kernels.Float64 {
		return driver.Float64
	}
	if p.device.options.Products == TF32 {
		return driver.TF32
	}
	return driver.Float32
}

// libraryProduct is a product by cuBLAS.
type libraryProduct struct {
	d              *Device
	precision      driver.Precision
	transA, transB bool
}

func (p libraryProduct) multiply(_ kernels.Queue, a, b, out kernels.Operand, add bool) error {
	g := driver.Gemm{Precision: p.precision, Rows: out.Rows, Cols: out.Cols, Inner: a.Cols, TransA: p.transA, TransB: p.transB, Alpha: 1,
		A: a.At, B: b.At, C: out.At, StrideA: a.Stride, StrideB: b.Stride, StrideC: out.Stride}
	if p.transA {
		g.Inner = a.Rows
	}
	if add {
		g.Beta = 1
	}
	return p.d.multiply(&g)
}

// sparseProduct is a product over the entries of A or A^T.
type sparseProduct struct {
	set *kernels.Set
	x   kernels.Sparse
}

func (p *sparseProduct) multiply(q kernels.Queue, _, b, out kernels.Operand, add bool) error {
	return p.set.SparseProduct(q, p.x, b, out, add)
}

// vectorProduct is a product of a row and a matrix.
type vectorProduct struct{ set *kernels.Set }

func (p vectorProduct) multiply(q kernels.Queue, a, b, out kernels.Operand, add bool) error {
	return p.set.WeightedSums(q, 1, a, b, out, add)
}

// narrowForward is a product with few columns of B, in one pass over A.
type narrowForward struct {
	set        *kernels.Set
	transposed bool
}

func (p narrowForward) multiply(q kernels.Queue, a, b, out kernels.Operand, add bool) error {
	return p.set.OutputForward(q, kernels.OutputForward{A: a, W: b, Transposed: p.transposed, Out: out, Add: add})
}

// narrowGradient is A^T B with few columns of B, in one pass over A.
type narrowGradient struct{ set *kernels.Set }

func (p narrowGradient) multiply(q kernels.Queue, a, b, out kernels.Operand, add bool) error {
	return p.set.OutputBackward(q, kernels.OutputBackward{A: a, D: b, G: out, AddG: add})
}

// shape is a product without the addresses of its operands.
type shape struct {
	precision                driver.Precision
	rows, cols, inner, batch int
	transA, transB           bool
}

func shapeOf(g *driver.Gemm) shape {
	return shape{g.Precision, g.Rows, g.Cols, g.Inner, g.Batch, g.TransA, g.TransB}
}

// multiply runs a product by the driver's library. If the library refuses the product, or its
// products of integers are wrong, a kernel of this program computes the product. A refusal comes
// before a graph is captured, because the first run of a plan's half is not captured.
func (d *Device) multiply(g *driver.Gemm) error {
	dims := shapeOf(g)
	if !d.refused[dims] {
		if g.Precision == driver.Int8 && d.driver.Integers() != nil {
			d.refused[dims] = true
			return d.multiplyItself(g)
		}
		err := d.driver.Multiply(d.stream, g)
		if !errors.Is(err, driver.ErrNotSupported) {
			return err
		}
		d.refused[dims] = true
		if g.Precision == driver.Int8 {
			_ = d.TestDigits() // before a graph is captured; multipliesRefused reads the result
		}
	}
	return d.multiplyItself(g)
}

// multiplyItself runs a product by a kernel of this program.
func (d *Device) multiplyItself(g *driver.Gemm) error {
	dtype := kernels.Float32
	if g.Precision == driver.Float64 {
		dtype = kernels.Float64
	}
	set, err := d.set(dtype)
	if err != nil {
		return err
	}
	return set.Multiply(&d.queue, g)
}
