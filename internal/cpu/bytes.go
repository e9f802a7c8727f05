package cpu

import (
	"errors"
	"fmt"
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// ErrNotBytes is wrapped by the error of a Bind whose values are not 8-bit values times the data's scale.
var ErrNotBytes = errors.New("values that are no bytes")

// packBytes fills a leaf from the values bound, or else from the data matrix, shared out by blocks of rows.
func (e *executor[T]) packBytes(buffer int) error {
	p := &bytePacking[T]{x: e.bytes[buffer], bound: e.Data[buffer]}
	rows, _ := p.x.Dims()
	if p.bound == nil {
		p.from = e.plan.DataOf(buffer).(matrix.EightBit)
		if p.from == matrix.EightBit(p.x) {
			return nil
		}
	}
	p.failures = make([]error, max(1, min(e.threads, blocks(rows))))
	e.pool.run(len(p.failures), p)
	return errors.Join(p.failures...)
}

// bytePacking is the job of packing 8-bit data.
type bytePacking[T plan.Float] struct {
	x        *kernel.PackedBytes
	from     matrix.EightBit
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
		room = slices.Grow(room[:0], n)[:n]
		if p.bound == nil {
			list = list[:0]
			for r := range n / max(1, cols) {
				list = append(list, p.from.ByteRow(i+r, room[r*cols:][:cols]))
			}
			p.x.SetRows(i, list)
			continue
		} else {
			if p.failures[worker] = narrowed(room, p.bound[i*cols:][:n], p.x.ByteScale()); p.failures[worker] != nil {
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
func newByteProduct[T plan.Float](e *executor[T], p *plan.Product, x *kernel.PackedBytes) step[T] {
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
	x          *kernel.PackedBytes
	k          *kernel.Integers
	slices     *kernel.Slices
	transposed []float32             // W, where the plan has W^T
	scratch    []*kernel.ByteScratch // by worker
}

func newByteScores(e *executor[float32], p *plan.Product, x *kernel.PackedBytes) *byteScores {
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
	s.slices.Cut(from, to, w, ld, s.x.ByteScale())
}

func (s *byteScores) block(t int, w *worker[float32], lo, hi int) error {
	s.k.Mul(w.From(s.p.Out, lo), s.p.Out.Stride, s.x, lo, hi, s.slices, s.scratch[t])
	return nil
}

// byteGradient is G = X^T D, or G += it, over 8-bit data. A block of D is cut into slices while it is in cache.
type byteGradient struct {
	workerSums[float32]
	x       *kernel.PackedBytes
	k       *kernel.Integers
	slices  []*kernel.Slices      // by worker
	scratch []*kernel.ByteScratch // likewise
}

func newByteGradient(e *executor[float32], p *plan.Product, x *kernel.PackedBytes) *byteGradient {
	s := &byteGradient{workerSums: newWorkerSums(e, p), x: x, k: e.integers, scratch: byteScratch(e)}
	for range e.threads {
		s.slices = append(s.slices, e.integers.NewSlices(kernel.RowBlock, p.B.Cols, e.device.digits()))
	}
	return s
}

func (s *byteGradient) block(t int, w *worker[float32], lo, hi int) error {
	d := s.slices[t]
	d.Resize(hi-lo, s.p.B.Cols)
	d.Cut(0, d.Count(), w.From(s.p.B, lo), s.p.B.Stride, s.x.ByteScale())
	s.k.AddMulTrans(s.sums[t], s.p.Out.Cols, s.x, lo, hi, d, s.scratch[t])
	return nil
}
