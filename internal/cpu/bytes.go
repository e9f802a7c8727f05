package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// newByteProduct compiles a product with 8-bit data, in float32.
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

// byteScores computes Z = X W for 8-bit data X. It quantizes W before the first block.
type byteScores struct {
	p          *plan.Product
	x          *kernel.PackedBytes
	k          *kernel.ByteKernels
	grades     grades
	slices     *kernel.Digits        // of grades, for the present pass
	transposed []float32             // W, if the plan has W^T
	scratch    []*kernel.ByteScratch // by worker
	after      *plan.BiasActivation  // the step after the product, fused with it; nil: none
}

func newByteScores(e *executor[float32], p *plan.Product, x *kernel.PackedBytes) *byteScores {
	rows, cols := p.B.Rows, p.B.Cols
	s := &byteScores{p: p, x: x, k: e.integers, scratch: byteScratch(e)}
	if p.TransB {
		rows, cols = cols, rows
		s.transposed = make([]float32, p.B.Len())
	}
	s.grades = e.newGrades(rows, cols)
	s.slices = s.grades[0]
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
	s.slices = s.grades.of(e.coarse)
	if s.transposed != nil {
		transpose(e, s.p.B, s.transposed)
	}
}

func (s *byteScores) prepareShare(e *executor[float32], worker, workers int) {
	from, to := share(s.slices.Panels(), worker, workers)
	w, ld := e.Data[s.p.B.Buffer][s.p.B.Offset:], s.p.B.Stride
	if s.transposed != nil {
		w, ld = s.transposed, s.p.B.Rows
	}
	s.slices.Quantize(from, to, w, ld, s.x.ByteScale())
}

func (s *byteScores) block(t int, w *worker[float32], lo, hi int) error {
	z := w.From(s.p.Out, lo)
	if s.after == nil {
		s.k.Mul(z, s.p.Out.Stride, s.x, lo, hi, s.slices, s.scratch[t])
		return nil
	}
	s.k.MulActivate(z, s.p.Out.Stride, s.x, lo, hi, s.slices, w.Row(s.after.Bias, 0), fusible[s.after.Activation], s.scratch[t])
	return nil
}

// fusible are the activations that a product with 8-bit data can apply to its result.
var fusible = map[plan.Activation]kernel.Activation{
	plan.SigmoidActivation: kernel.SigmoidActivation,
	plan.TanhActivation:    kernel.TanhActivation,
	plan.ReLUActivation:    kernel.ReLUActivation,
}

// fuse makes the last of the compiled steps compute the step next too, and reports whether it can:
// if the last step is a product with 8-bit data, and next is the activation of the whole result.
func fuse[T plan.Float](steps []step[T], next plan.Step) bool {
	activation, ok := next.(*plan.BiasActivation)
	if !ok || len(steps) == 0 {
		return false
	}
	product, ok := any(steps[len(steps)-1]).(*byteScores)
	if _, known := fusible[activation.Activation]; !ok || !known || product.after != nil || activation.A != product.p.Out {
		return false
	}
	product.after = activation
	return true
}

// byteGradient computes G = X^T D, or G += X^T D, for 8-bit data X. It quantizes each block of D
// while the block is in the cache.
type byteGradient struct {
	productSums[float32]
	x       *kernel.PackedBytes
	k       *kernel.ByteKernels
	e       *executor[float32]
	slices  []grades              // by worker
	scratch []*kernel.ByteScratch // by worker
	own     *derivative           // computes D; nil: other steps do
}

func newByteGradient(e *executor[float32], p *plan.Product, x *kernel.PackedBytes) *byteGradient {
	s := &byteGradient{productSums: newProductSums(e, p), e: e, x: x, k: e.integers, scratch: byteScratch(e)}
	for range e.threads {
		s.slices = append(s.slices, e.newGrades(kernel.RowBlock, p.B.Cols))
	}
	return s
}

func (s *byteGradient) prepare(e *executor[float32]) {
	if s.own != nil {
		for _, p := range s.own.products {
			p.prepare(e)
		}
	}
}

func (s *byteGradient) block(t int, w *worker[float32], lo, hi int) error {
	d := s.slices[t].of(s.e.coarse)
	d.Resize(hi-lo, s.p.B.Cols)
	if s.own != nil {
		s.own.quantize(d, t, w, lo, hi, s.x.ByteScale(), s.scratch[t])
	} else {
		d.Quantize(0, d.Panels(), w.From(s.p.B, lo), s.p.B.Stride, s.x.ByteScale())
	}
	s.k.AddMulTrans(s.slots[w.slot], s.p.Out.Cols, s.x, lo, hi, d, s.scratch[t])
	return nil
}
