package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// kernelLoss is the kernels' loss for a surrogate, false where they have none.
func kernelLoss(phi plan.Surrogate) (kernel.Loss, bool) {
	switch phi.String() {
	case "sigmoid":
		return kernel.SigmoidLoss, true
	case "logistic":
		return kernel.LogisticLoss, true
	case "hinge":
		return kernel.HingeLoss, true
	}
	return 0, false
}

// minusLabels are -y, as the kernels want them: one vector for a loss, its derivative and all others with the same labels.
func (e *executor[T]) minusLabels(s plan.Signs) []T {
	if len(s.Labels) == 0 {
		return nil
	}
	if minus := e.minus[&s.Labels[0]]; len(minus) == len(s.Labels) {
		return minus
	}
	minus := make([]T, len(s.Labels))
	for i, y := range s.Labels {
		minus[i] = T(-y)
	}
	if e.minus != nil {
		e.minus[&s.Labels[0]] = minus
	}
	return minus
}

// signedLoss is Out[i] = phi(y S[i]).
type signedLoss[T plan.Float] struct {
	s     *plan.SignedLoss
	phi   kernel.Loss
	minus []T
}

// newSignedLoss returns nil for what the kernels have no form of.
func newSignedLoss[T plan.Float](e *executor[T], s *plan.SignedLoss) step[T] {
	phi, known := kernelLoss(s.Phi)
	if !known || s.S.Stride != 1 || s.Out.Stride != 1 {
		return nil
	}
	minus := e.minusLabels(s.Signs)
	if t := e.tailsOf(s.Signs, s.S); t != nil && phi == kernel.SigmoidLoss {
		return &tailSigmoid[T]{s, t, minus}
	}
	return &signedLoss[T]{s, phi, minus}
}

func (l *signedLoss[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	w.k.SignedLoss(l.phi, w.From(l.s.Out, lo)[:n], w.From(l.s.S, lo)[:n], l.minus[lo:hi])
	return nil
}

// signedLossGrad is Out[i] = D[i] y phi'(y S[i]), or Out += it.
type signedLossGrad[T plan.Float] struct {
	s     *plan.SignedLossGrad
	phi   kernel.Loss
	minus []T
}

// newSignedLossGrad returns nil for what the kernels have no form of.
func newSignedLossGrad[T plan.Float](e *executor[T], s *plan.SignedLossGrad) step[T] {
	phi, known := kernelLoss(s.Phi)
	if !known || s.S.Stride != 1 || s.D.Stride != 1 || s.Out.Stride != 1 {
		return nil
	}
	minus := e.minusLabels(s.Signs)
	if t := e.tailsOf(s.Signs, s.S); t != nil {
		return &tailGrad[T]{s, t, phi, minus}
	}
	return &signedLossGrad[T]{s, phi, minus}
}

func (g *signedLossGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	out, s, d := w.From(g.s.Out, lo)[:n], w.From(g.s.S, lo)[:n], w.From(g.s.D, lo)[:n]
	w.k.SignedLossGrad(g.phi, out, s, g.minus[lo:hi], d, g.s.Add)
	return nil
}
