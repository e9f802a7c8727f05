package cpu

import (
	"slices"

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
	s.slices = s.grades.digits(e.coarse)
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
	if s.isZero(w, lo, hi) {
		return nil
	}
	d := s.slices[t].digits(s.e.coarse)
	d.Resize(hi-lo, s.p.B.Cols)
	if s.own != nil {
		s.own.quantize(d, t, w, lo, hi, s.x.ByteScale(), s.scratch[t])
	} else {
		d.Quantize(0, d.Panels(), w.From(s.p.B, lo), s.p.B.Stride, s.x.ByteScale())
	}
	s.k.AddMulTrans(s.slots[w.slot], s.p.Out.Cols, s.x, lo, hi, d, s.scratch[t])
	return nil
}

// isZero reports whether rows lo to hi-1 of D are zero, or of all E if the step computes D.
func (s *byteGradient) isZero(w *worker[float32], lo, hi int) bool {
	if s.own == nil {
		return w.isZero(s.p.B, lo, hi)
	}
	return !slices.ContainsFunc(s.own.products, func(p *narrowProduct[float32]) bool { return !w.isZero(p.p.A, lo, hi) })
}

// derivative computes D = f'(A) (E V) as a part of a product G = X^T D with 8-bit data: the
// products E V, the derivative, the column sums for the bias, the largest magnitudes and the
// digits. One pass over each panel of D does all of this. No other step reads D, so that D is not
// written.
type derivative struct {
	slope    *plan.ActivationGrad
	products []*narrowProduct[float32] // E V: the columns of several heads, or one product
	sums     *columnSums[float32]
	factors  [][]kernel.Factors[float32] // by worker, one for each product
}

// fuseDerivative makes the product X^T D, the last of the compiled steps, compute D too, and
// removes the steps that compute D. It returns other steps unchanged.
func (e *executor[T]) fuseDerivative(steps []step[T], r plan.Region) []step[T] {
	last := len(steps) - 1
	g, ok := any(steps[last]).(*byteGradient)
	if !ok || last < 2 {
		return steps
	}
	slope, ok := any(steps[last-1]).(*activationGrad[float32])
	if !ok || slope.s.D != g.p.B || !e.onlySummed(r, slope.s, g.p) {
		return steps
	}
	if _, known := fusible[slope.s.Activation]; !known {
		return steps
	}
	d, first := &derivative{slope: slope.s}, last-1
	for ; first > 0; first-- {
		p, ok := any(steps[first-1]).(*narrowProduct[float32])
		if !ok || p.dots || p.p.Out.Buffer != g.p.B.Buffer {
			break
		}
		d.products = append([]*narrowProduct[float32]{p}, d.products...)
	}
	if !d.fill(g.p.B, g.k) {
		return steps
	}
	for range e.threads {
		d.factors = append(d.factors, make([]kernel.Factors[float32], len(d.products)))
	}
	g.own = d
	return append(steps[:first], steps[last])
}

// onlySummed reports whether only three steps read D: the derivative, the product, and the sums of
// D's columns.
func (e *executor[T]) onlySummed(r plan.Region, slope *plan.ActivationGrad, p *plan.Product) bool {
	sums := 0
	for _, s := range r.Steps {
		if s == plan.Step(slope) || s == plan.Step(p) ||
			!slices.ContainsFunc(s.Reads(), func(o plan.Operand) bool { return o.Buffer == p.B.Buffer }) {
			continue
		}
		if c, ok := s.(*plan.Sums); !ok || c.Over != plan.OverRows || c.In != p.B {
			return false
		}
		sums++
	}
	return sums == 1 && e.plan.Buffers[p.B.Buffer].Class == plan.Local && p.B.Cols > 1
}

// fill reports whether the products' results lie side by side, fill D, and suit the kernels.
func (d *derivative) fill(v plan.View, k *kernel.ByteKernels) bool {
	var columns []int
	at := v.Offset
	for _, p := range d.products {
		if p.p.Out.Offset != at || p.p.Out.Rows != v.Rows {
			return false
		}
		at += p.p.Out.Cols
		columns = append(columns, p.p.Out.Cols)
	}
	return at == v.Offset+v.Cols && k.Derives(columns...)
}

// sumInProduct makes the product that computes D also compute the column sums of D, the last of the
// compiled steps.
func sumInProduct[T plan.Float](steps []step[T]) {
	c, ok := any(steps[len(steps)-1]).(*columnSums[float32])
	if !ok {
		return
	}
	for _, s := range steps {
		if g, ok := any(s).(*byteGradient); ok && g.own != nil && g.p.B == c.s.In {
			g.own.sums, c.fused = c, true
		}
	}
}

// quantize computes the digits of a block of D.
func (d *derivative) quantize(digits *kernel.Digits, t int, w *worker[float32], lo, hi int, scale float64, scratch *kernel.ByteScratch) {
	for i, p := range d.products {
		d.factors[t][i] = p.factors(w, lo, hi)
	}
	digits.QuantizeDerivative(fusible[d.slope.Activation], w.blockOf(d.slope.A, lo, hi), d.factors[t], d.sums.slots[w.slot], scale, scratch)
}
