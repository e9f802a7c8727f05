package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// biasActivation computes A = f(A + 1 b).
type biasActivation[T plan.Float] struct {
	s    *plan.BiasActivation
	pass func(k *kernel.Kernels[T], a []T, stride, rows int, bias []T)
}

func newBiasActivation[T plan.Float](s *plan.BiasActivation) *biasActivation[T] {
	b := &biasActivation[T]{s: s}
	switch s.Activation {
	case plan.SigmoidActivation:
		b.pass = (*kernel.Kernels[T]).BiasSigmoid
	case plan.TanhActivation:
		b.pass = (*kernel.Kernels[T]).BiasTanh
	case plan.ReLUActivation:
		b.pass = (*kernel.Kernels[T]).BiasReLU
	default:
		b.pass = addBias[T]
	}
	return b
}

func (b *biasActivation[T]) block(_ int, w *worker[T], lo, hi int) error {
	b.pass(w.k, w.From(b.s.A, lo), b.s.A.Stride, hi-lo, w.Row(b.s.Bias, 0))
	return nil
}

// addBias adds a row to every row of a matrix. It treats a matrix of one column without gaps as a
// single vector.
func addBias[T plan.Float](k *kernel.Kernels[T], a []T, stride, rows int, bias []T) {
	if len(bias) == 1 && stride == 1 {
		k.Shift(a[:rows], bias[0])
		return
	}
	for i := range rows {
		row := a[i*stride:][:len(bias)]
		for j, b := range bias {
			row[j] += b
		}
	}
}

// activationGrad computes D = f'(A) D. It treats matrices without gaps as a single row.
type activationGrad[T plan.Float] struct {
	s    *plan.ActivationGrad
	flat bool
	pass func(k *kernel.Kernels[T], d, a []T)
}

func newActivationGrad[T plan.Float](s *plan.ActivationGrad) *activationGrad[T] {
	g := &activationGrad[T]{s: s, flat: s.A.Stride == s.A.Cols && s.D.Stride == s.D.Cols}
	switch s.Activation {
	case plan.SigmoidActivation:
		g.pass = (*kernel.Kernels[T]).SigmoidGrad
	case plan.TanhActivation:
		g.pass = (*kernel.Kernels[T]).TanhGrad
	case plan.ReLUActivation:
		g.pass = (*kernel.Kernels[T]).ReLUGrad
	}
	return g
}

func (g *activationGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	if g.flat {
		n := (hi - lo) * g.s.D.Cols
		g.pass(w.k, w.From(g.s.D, lo)[:n], w.From(g.s.A, lo)[:n])
		return nil
	}
	for i := lo; i < hi; i++ {
		g.pass(w.k, w.Row(g.s.D, i), w.Row(g.s.A, i))
	}
	return nil
}
