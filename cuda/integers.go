package cuda

import (
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

// signedBytes is 8-bit data minus 128, as signed bytes in both layouts. The sums of both products
// then run along rows, as tensor cores require for integers. The transpose is stored by windows of
// the rows; its rows begin at multiples of 16 bytes.
type signedBytes struct {
	*eightBit
	p       *Program
	byRow   kernels.SignedBytes
	byCol   []kernels.SignedBytes // of the windows
	windows []window
}

// ScaleRows is the default of Options.ScaleRows, the largest number of rows of a second factor
// with one scale for each column. Fewer rows follow the magnitudes more closely; more rows give
// fewer sums to dequantize, since a block of rows has three integer sums for each element of the
// gradient.
const ScaleRows = 3072

func newSignedBytes(p *Program, buffer int, x *eightBit) (form, error) {
	f := &signedBytes{eightBit: x, p: p, byRow: kernels.SignedBytes{Stride: kernels.PaddedIndices(x.cols)}, windows: p.windows(x.rows)}
	var err error
	if f.byRow.At, err = f.memory(p.describe(buffer)+" as signed bytes", paddedRows(x.rows)*f.byRow.Stride); err != nil {
		return nil, err
	}
	for _, w := range f.windows {
		d := kernels.NewDigits(w.rows(), 0, x.kind.Digits(), p.device.options.ScaleRows, x.scale)
		t := kernels.SignedBytes{Stride: d.Blocks * d.Length}
		if t.At, err = f.memory(p.describe(buffer)+", transposed, as signed bytes", paddedRows(x.cols)*t.Stride); err != nil {
			return nil, err
		}
		f.byCol = append(f.byCol, t)
	}
	return f, nil
}

// paddedRows returns the rows in memory: a product of any of the rows reads at least FewestRows.
func paddedRows(rows int) int { return rows + kernels.FewestRows - 1 }

// memory allocates bytes that are 0; the padding between rows stays 0.
func (x *signedBytes) memory(name string, bytes int) (driver.Pointer, error) {
	at, err := x.p.allocate(name, bytes)
	if err != nil {
		return 0, err
	}
	return at, x.p.device.driver.Clear(x.p.device.stream, at, bytes)
}

func (x *signedBytes) pieces() []window { return x.windows }

func (x *signedBytes) load(narrow driver.Pointer, from, to int) error {
	k := x.windowOf(from)
	rows, columns := x.byRow, x.byCol[k]
	rows.At = rows.At.Offset(from * rows.Stride)
	columns.At = columns.At.Offset(from - x.windows[k].from)
	return x.p.set.LoadSigned(&x.p.device.queue, rows, columns, narrow, to-from, x.cols)
}

// windowOf returns the index of a row's window.
func (x *signedBytes) windowOf(row int) int {
	if size := x.p.device.options.MicroBatch; size > 0 {
		return row / size
	}
	return 0
}

// digits describes the digits of a product's second factor.
func (x *signedBytes) digits(s *plan.Product, w window) kernels.Digits {
	cols := s.B.Cols
	if s.TransB {
		cols = s.B.Rows
	}
	if s.TransA {
		return kernels.NewDigits(w.rows(), cols, x.kind.Digits(), x.p.device.options.ScaleRows, x.scale)
	}
	return kernels.NewDigits(x.cols, cols, x.kind.Digits(), kernels.ExactIndices, x.scale)
}

func (x *signedBytes) place(s *plan.Product, w window) (to func(at driver.Pointer) kernels.Quantized, bytes int) {
	d := x.digits(s, w)
	bytes, _, _ = d.Layout()
	return func(at driver.Pointer) kernels.Quantized { return kernels.Quantized{Digits: d.Place(at)} }, bytes
}

func (x *signedBytes) product(s *plan.Product, w window, factor kernels.Quantized, quantize quantizer) eightBitProduct {
	p := &digitsProduct{d: x.p.device, set: x.p.set, x: x.byRow, transposed: s.TransB, digits: factor.Digits, backward: s.TransA,
		quantize: quantize}
	p.x.At = p.x.At.Offset(w.from * p.x.Stride)
	if s.TransA {
		p.x = x.byCol[x.windowOf(w.from)]
	}
	return p
}

// digitsProduct is out = scale op(U) op(B) with B in digits: one product of integers with all
// digits side by side, and a pass that dequantizes the sums and applies a fused activation. The
// program's own kernel does both in one launch.
type digitsProduct struct {
	d          *Device
	set        *kernels.Set
	x          kernels.SignedBytes // op(U)
	transposed bool                // op(B) is B^T
	digits     kernels.Digits
	backward   bool      // op(U) is U^T
	quantize   quantizer // nil: an earlier pass quantizes
	activation kernels.Activation
	bias       func() kernels.Operand
}

func (p *digitsProduct) activate(f kernels.Activation, bias func() kernels.Operand) bool {
	p.activation, p.bias = f, bias
	return true
}

// tileRows is the number of rows that a library's kernel computes together. Pieces of the rows are
// multiples of it where they can be, so that no piece leaves a tile half empty.
const tileRows = 128

// rowsAtATime returns the number of the result's rows whose integer sums are in memory at a time,
// of rows rows: all, or pieces of about equal size.
func (p *digitsProduct) rowsAtATime(rows int) int {
	const number = 4
	most := max(p.d.sums/(number*p.digits.Blocks*p.digits.Count*p.digits.Width), 1)
	if rows <= most {
		return rows
	}
	tiles := max(most/tileRows, 1) * tileRows
	pieces := (rows + tiles - 1) / tiles
	equal := (rows + pieces - 1) / pieces
	return min((equal+tileRows-1)/tileRows*tileRows, rows)
}

func (p *digitsProduct) multiply(q kernels.Queue, _, b, out kernels.Operand, add bool) error {
	if p.quantize != nil {
		if err := p.quantize(q, kernels.Quantized{Digits: p.digits}, b); err != nil {
			return err
		}
	}
	d, most := p.digits, p.rowsAtATime(out.Rows)
	if p.multipliesDigits() {
		most = out.Rows
	}
	for from := 0; from < out.Rows; from += most {
		part := out
		part.Rows, part.At = min(most, out.Rows-from), out.At.Offset(from*out.Stride*p.set.Dtype().Size())
		x := p.x
		x.At = x.At.Offset(from * x.Stride)
		g := p.gemm(x, max(part.Rows, kernels.FewestRows))
		j := kernels.Dequantize{Sums: g.C, SumRows: g.Rows, Digits: d, X: x, B: b, Transposed: p.transposed, Out: part, Add: add}
		if p.bias != nil {
			j.Activation, j.Bias = p.activation, p.bias()
		}
		if p.multipliesDigits() || p.d.multipliesRefused(g) {
			if err := p.set.MultiplyDigits(q, j); err != nil {
				return err
			}
			continue
		}
		if err := p.d.multiply(g); err != nil {
			return err
		}
		if err := p.set.Dequantize(q, j); err != nil {
			return err
		}
	}
	return nil
}

// gemm returns the product of rows with all digits: C is blocks x rows x (count width). Rows
// beyond the data's give sums that nothing reads.
func (p *digitsProduct) gemm(x kernels.SignedBytes, rows int) *driver.Gemm {
	d := p.digits
	wide := d.Count * d.Width
	return &driver.Gemm{Precision: driver.Int8, Rows: rows, Cols: wide, Inner: d.Length, TransB: true, Alpha: 1,
		A: x.At, B: d.At, C: p.d.queue.sums.at, StrideA: x.Stride, StrideB: d.Length, StrideC: wide,
		Batch: d.Blocks, StepA: d.Length, StepB: wide * d.Length, StepC: rows * wide}
}

// reserve allocates memory for the sums before a graph is captured.
func (p *digitsProduct) reserve(rows int) error {
	if p.multipliesDigits() {
		return nil
	}
	const number = 4
	_, err := p.d.queue.sums.grow(p.d, "integer sums", number*max(p.rowsAtATime(rows), kernels.FewestRows)*p.digits.Blocks*p.digits.Count*p.digits.Width)
	return err
}
