package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

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
