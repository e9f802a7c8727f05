package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// WithBFloat16InGo returns a copy of the device that computes products of bfloat16 digits with the
// model in Go, on any machine and slowly. It is for tests.
func (d *Device) WithBFloat16InGo() *Device {
	own := *d
	own.bytes = d.bytes.WithBFloat16InGo()
	return &own
}

// bfloat16Leaf returns the packed form of a leaf of dense data for products of bfloat16 digits, nil
// for other leaves. 8-bit data count as floats.
func (e *executor[T]) bfloat16Leaf(buffer int) (*kernel.PackedBFloat16, error) {
	data, d := e.plan.DataOf(buffer), e.device
	if _, single := any(e).(*executor[float32]); !single || data == nil || !d.products.BFloat16() || e.ofPictures(buffer) {
		return nil, nil
	}
	rows, cols := data.Dims()
	return kernel.NewPackedBFloat16In(d.allocator(), rows, cols, d.products.Digits())
}

// ofPictures reports whether a region of pictures reads a buffer. The blocks of such regions have
// any number of rows.
func (e *executor[T]) ofPictures(buffer int) bool {
	return slices.ContainsFunc(slices.Concat(e.plan.Forward, e.plan.Backward), func(r plan.Region) bool {
		reads, _ := readsOf(r, buffer)
		return reads && r.OfPictures()
	})
}

// newBFloat16Product compiles a product with data in digits of bfloat16, in float32.
func newBFloat16Product[T plan.Float](e *executor[T], p *plan.Product, x *kernel.PackedBFloat16) step[T] {
	single := any(e).(*executor[float32])
	var s step[float32]
	if p.TransA {
		s = newBFloat16Gradient(single, p, x)
	} else {
		s = newBFloat16Scores(single, p, x)
	}
	return any(s).(step[T])
}

// bfloat16Scores computes Z = X W. It splits W into digits before the first block.
type bfloat16Scores struct {
	p          *plan.Product
	x          *kernel.PackedBFloat16
	k          *kernel.ByteKernels
	w          *kernel.BFloat16
	transposed []float32             // W, if the plan has W^T
	scratch    []*kernel.ByteScratch // by worker
}

func newBFloat16Scores(e *executor[float32], p *plan.Product, x *kernel.PackedBFloat16) *bfloat16Scores {
	rows, cols := p.B.Rows, p.B.Cols
	s := &bfloat16Scores{p: p, x: x, k: e.integers, scratch: byteScratch(e)}
	if p.TransB {
		rows, cols = cols, rows
		s.transposed = make([]float32, p.B.Len())
	}
	s.w = kernel.NewBFloat16(rows, cols, x.Digits())
	return s
}

func (s *bfloat16Scores) prepare(e *executor[float32]) {
	if s.transposed != nil {
		transpose(e, s.p.B, s.transposed)
	}
}

func (s *bfloat16Scores) prepareShare(e *executor[float32], worker, workers int) {
	from, to := share(s.w.Panels(), worker, workers)
	w, ld := e.Data[s.p.B.Buffer][s.p.B.Offset:], s.p.B.Stride
	if s.transposed != nil {
		w, ld = s.transposed, s.p.B.Rows
	}
	s.k.SplitBFloat16(s.w, from, to, w, ld)
}

func (s *bfloat16Scores) block(t int, w *worker[float32], lo, hi int) error {
	s.k.MulBFloat16(w.From(s.p.Out, lo), s.p.Out.Stride, s.x, lo, hi, s.w, s.scratch[t])
	return nil
}

// bfloat16Gradient computes G = X^T D, or G += X^T D. It splits each block of D into digits while
// the block is in the cache.
type bfloat16Gradient struct {
	productSums[float32]
	x       *kernel.PackedBFloat16
	k       *kernel.ByteKernels
	d       []*kernel.BFloat16    // by worker
	scratch []*kernel.ByteScratch // by worker
}

func newBFloat16Gradient(e *executor[float32], p *plan.Product, x *kernel.PackedBFloat16) *bfloat16Gradient {
	s := &bfloat16Gradient{productSums: newProductSums(e, p), x: x, k: e.integers, scratch: byteScratch(e)}
	for range e.threads {
		s.d = append(s.d, kernel.NewBFloat16(kernel.RowBlock, p.B.Cols, x.Digits()))
	}
	return s
}

func (s *bfloat16Gradient) block(t int, w *worker[float32], lo, hi int) error {
	if w.isZero(s.p.B, lo, hi) {
		return nil
	}
	d := s.d[t]
	d.Resize(hi - lo)
	s.k.SplitBFloat16(d, 0, d.Panels(), w.From(s.p.B, lo), s.p.B.Stride)
	s.k.AddMulTransBFloat16(s.slots[w.slot], s.p.Out.Cols, s.x, lo, hi, d, s.scratch[t])
	return nil
}
