package cpu

import (
	"errors"
	"fmt"
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// ErrNotBytes is wrapped by the error of a Bind whose values are not 8-bit values times the data's scale.
var ErrNotBytes = errors.New("values that are no bytes")

// Bytes is a data matrix of 8-bit values in the two layouts of the device's products with it, 2 bytes an element. A plan whose data it is
// reads it as it is, at every level of the kernels; filling it is all the packing there is.
type Bytes struct{ packed *kernel.Bytes }

var _ plan.Bytes = (*Bytes)(nil)

// NewBytes returns a matrix of zeros with that scale.
func NewBytes(rows, cols int, scale float64) *Bytes {
	return &Bytes{kernel.NewBytes(rows, cols, scale)}
}

// Dims returns the numbers of rows and columns.
func (b *Bytes) Dims() (rows, cols int) { return b.packed.Dims() }

// Bytes implements plan.Bytes: the values are in no order that others know.
func (b *Bytes) Bytes() (values []uint8, scale float64) { return nil, b.packed.Scale() }

// SetScale changes the scale, before a plan has the matrix.
func (b *Bytes) SetScale(scale float64) { b.packed.SetScale(scale) }

// SetRows sets the values of the rows from i on. Several goroutines may set different rows.
func (b *Bytes) SetRows(i int, rows [][]uint8) { b.packed.SetRows(i, rows) }

// Float32 writes rows from to to-1, scaled and then rounded once, to dst.
func (b *Bytes) Float32(dst []float32, from, to int) { widened(dst, b.packed, from, to) }

// Float64 writes rows from to to-1, scaled, to dst.
func (b *Bytes) Float64(dst []float64, from, to int) { widened(dst, b.packed, from, to) }

func widened[T plan.Float](dst []T, x *kernel.Bytes, from, to int) {
	var table [256]T
	for v := range table {
		table[v] = T(float64(v) * x.Scale())
	}
	_, cols := x.Dims()
	row := make([]uint8, cols)
	for i := from; i < to; i++ {
		x.Row(row, i)
		own := dst[(i-from)*cols:][:cols]
		for l, v := range row {
			own[l] = table[v]
		}
	}
}

// packBytes fills a leaf from the values bound, or else from the data matrix, shared out by blocks of rows.
func (e *executor[T]) packBytes(buffer int) error {
	p := &bytePacking[T]{x: e.bytes[buffer], bound: e.Data[buffer]}
	rows, _ := p.x.Dims()
	if p.bound == nil {
		if p.values, _ = e.plan.DataOf(buffer).(plan.Bytes).Bytes(); p.values == nil {
			return nil
		}
	}
	p.failures = make([]error, max(1, min(e.threads, blocks(rows))))
	e.pool.run(len(p.failures), p)
	return errors.Join(p.failures...)
}

// bytePacking is the job of packing 8-bit data.
type bytePacking[T plan.Float] struct {
	x        *kernel.Bytes
	values   []uint8
	bound    []T
	failures []error // by worker
}

func (p *bytePacking[T]) work(worker int) {
	rows, cols := p.x.Dims()
	from, to := share(blocks(rows), worker, len(p.failures))
	var room []uint8
	list := make([][]uint8, 0, kernel.RowBlock)
	for i := from * kernel.RowBlock; i < min(to*kernel.RowBlock, rows); i += kernel.RowBlock {
		n := min(kernel.RowBlock, rows-i) * cols
		if p.bound == nil {
			room = p.values[i*cols:][:n]
		} else {
			room = slices.Grow(room[:0], n)[:n]
			if p.failures[worker] = narrowed(room, p.bound[i*cols:][:n], p.x.Scale()); p.failures[worker] != nil {
				return
			}
		}
		p.x.SetRows(i, slices.AppendSeq(list[:0], slices.Chunk(room, max(1, cols))))
	}
}

// narrowed finds the bytes whose multiples of the scale, rounded, the values are.
func narrowed[T plan.Float](to []uint8, values []T, scale float64) error {
	for i, x := range values {
		v := float64(x)/scale + 0.5
		if !(v >= 0 && v < 256) || T(float64(uint8(v))*scale) != x {
			return fmt.Errorf("cpu: %w: %v is not 0 to 255 times %v; bind such rows, or choose float32 products", ErrNotBytes, x, scale)
		}
		to[i] = uint8(v)
	}
	return nil
}

// newByteProduct is a product with 8-bit data, in float32.
func newByteProduct[T plan.Float](e *executor[T], p *plan.Product, x *kernel.Bytes) step[T] {
	single := any(e).(*executor[float32])
	var s step[float32]
	if p.TransA {
		s = newByteGradient(single, p, x)
	} else {
		s = newByteScores(single, p, x)
	}
	return any(s).(step[T])
}

// byteScores is Z = X W over 8-bit data. W is cut into slices before the blocks.
type byteScores struct {
	p          *plan.Product
	x          *kernel.Bytes
	k          *kernel.Integers
	slices     *kernel.Slices
	transposed []float32             // W, where the plan has W^T
	scratch    []*kernel.ByteScratch // by worker
}

func newByteScores(e *executor[float32], p *plan.Product, x *kernel.Bytes) *byteScores {
	rows, cols := p.B.Rows, p.B.Cols
	s := &byteScores{p: p, x: x, k: e.integers, scratch: byteScratch(e)}
	if p.TransB {
		rows, cols = cols, rows
		s.transposed = make([]float32, p.B.Len())
	}
	s.slices = e.integers.NewSlices(rows, cols, e.device.digits())
	return s
}

func byteScratch(e *executor[float32]) []*kernel.ByteScratch {
	list := make([]*kernel.ByteScratch, e.threads)
	for i := range list {
		list[i] = e.integers.NewByteScratch()
	}
	return list
}

func (s *byteScores) prepare(e *executor[float32]) {
	if s.transposed != nil {
		transpose(e, s.p.B, s.transposed)
	}
}

func (s *byteScores) prepareShare(e *executor[float32], worker, workers int) {
	from, to := share(s.slices.Count(), worker, workers)
	w, ld := e.Data[s.p.B.Buffer][s.p.B.Offset:], s.p.B.Stride
	if s.transposed != nil {
		w, ld = s.transposed, s.p.B.Rows
	}
	s.slices.Cut(from, to, w, ld, s.x.Scale())
}

func (s *byteScores) block(t int, w *worker[float32], lo, hi int) error {
	s.k.Mul(w.From(s.p.Out, lo), s.p.Out.Stride, s.x, lo, hi, s.slices, s.scratch[t])
	return nil
}

// byteGradient is G = X^T D, or G += it, over 8-bit data. A block of D is cut into slices while it is in cache.
type byteGradient struct {
	workerSums[float32]
	x       *kernel.Bytes
	k       *kernel.Integers
	slices  []*kernel.Slices      // by worker
	scratch []*kernel.ByteScratch // likewise
}

func newByteGradient(e *executor[float32], p *plan.Product, x *kernel.Bytes) *byteGradient {
	s := &byteGradient{workerSums: newWorkerSums(e, p), x: x, k: e.integers, scratch: byteScratch(e)}
	for range e.threads {
		s.slices = append(s.slices, e.integers.NewSlices(kernel.RowBlock, p.B.Cols, e.device.digits()))
	}
	return s
}

func (s *byteGradient) block(t int, w *worker[float32], lo, hi int) error {
	d := s.slices[t]
	d.Resize(hi-lo, s.p.B.Cols)
	d.Cut(0, d.Count(), w.From(s.p.B, lo), s.p.B.Stride, s.x.Scale())
	s.k.AddMulTrans(s.sums[t], s.p.Out.Cols, s.x, lo, hi, d, s.scratch[t])
	return nil
}
