package cuda

import (
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// eightBit is a data matrix scale U, with 8-bit U, in the form that products on the device read.
type eightBit struct {
	kind       plan.Products
	rows, cols int
	scale      float64
	form       form
}

// form is the layout of 8-bit data on the device.
type form interface {
	// load converts the rows from to to-1 from the bytes at narrow.
	load(narrow driver.Pointer, from, to int) error
	// pieces are the ranges of rows that a load must not cross.
	pieces() []window
	// place returns the place of a product's quantized second factor at an address, and its size.
	place(s *plan.Product, w window) (to func(at driver.Pointer) kernels.Quantized, bytes int)
	// product returns the product over a window's rows. quantize quantizes the second factor; nil
	// means that an earlier pass does.
	product(s *plan.Product, w window, factor kernels.Quantized, quantize quantizer) eightBitProduct
}

// quantizer quantizes a second factor.
type quantizer func(q kernels.Queue, to kernels.Quantized, b kernels.Operand) error

// eightBitProduct is a product with 8-bit data that may be fused with an activation.
type eightBitProduct interface {
	product
	// activate makes the product f(op(A) op(B) + 1 bias), and reports whether that is supported.
	activate(f kernels.Activation, bias func() kernels.Operand) bool
}

// readAsBytes reports whether a buffer is 8-bit data that all steps read as the first factor of
// products with digits: whole, or by windows if there are windows.
func (p *Program) readAsBytes(buffer int) bool {
	data, ok := p.plan.DataOf(buffer).(matrix.EightBit)
	if !ok || p.dtype != kernels.Float32 || len(p.readers[buffer]) == 0 {
		return false
	}
	rows, cols := data.Dims()
	if p.device.Products(cols).Digits() == 0 {
		return false
	}
	factor := func(s plan.Step) bool {
		product, ok := s.(*plan.Product)
		return ok && product.B.Buffer != buffer && product.A.Rows == rows && product.A.Cols == cols && product.A.Stride == cols
	}
	for _, r := range p.regions() {
		for _, s := range r.Steps {
			reads := slices.ContainsFunc(s.Reads(), func(o plan.Operand) bool { return o.Buffer == buffer })
			if reads && (!factor(s) || r.Rows == 0 && p.device.options.MicroBatch > 0) {
				return false
			}
		}
	}
	return true
}

// loadEightBit uploads 8-bit data in the form that products read.
func (p *Program) loadEightBit(buffer int, data matrix.EightBit) error {
	rows, cols := data.Dims()
	x := &eightBit{kind: p.device.Products(cols), rows: rows, cols: cols, scale: data.ByteScale()}
	var err error
	if x.kind.Integers() {
		x.form, err = newSignedBytes(p, buffer, x)
	} else {
		x.form, err = newWideBytes(p, buffer, x)
	}
	if err != nil {
		return err
	}
	p.eight[buffer] = x
	return p.loadRows(x, data)
}

// loadRows uploads 8-bit rows, a few megabytes at a time, and converts them to the form of the
// products on the device.
func (p *Program) loadRows(x *eightBit, data matrix.EightBit) error {
	most := min(max(stageBytes/x.cols, 1), x.rows)
	narrow, err := p.device.memory.allocate("bytes of 8-bit data", most*x.cols)
	if err != nil {
		return err
	}
	defer p.device.memory.release(narrow)
	for _, w := range x.form.pieces() {
		for from := w.from; from < w.to; from += most {
			to := min(from+most, w.to)
			if err := p.device.uploadRows(narrow, data, from, to); err != nil {
				return err
			}
			if err := x.form.load(narrow, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}
