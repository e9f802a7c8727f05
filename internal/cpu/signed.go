package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// kernelLoss returns the kernels' loss for a surrogate. kernelLoss returns false if the kernels do
// not support the surrogate.
func kernelLoss(phi describe.Surrogate) (kernel.Loss, bool) {
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

// negatedLabels returns -y, the form of labels that the kernels read. All losses and derivatives
// with the same labels share the vector.
func (e *executor[T]) negatedLabels(s describe.Signs) []T {
	if len(s.Labels) == 0 {
		return nil
	}
	if negated := e.negated[&s.Labels[0]]; len(negated) == len(s.Labels) {
		return negated
	}
	negated := anyMemory[T](e.device, len(s.Labels))
	for i, y := range s.Labels {
		negated[i] = T(-y)
	}
	if e.negated != nil {
		e.negated[&s.Labels[0]] = negated
	}
	return negated
}

// signedLoss computes Out[i] = phi(y S[i]).
type signedLoss[T plan.Float] struct {
	s       *plan.SignedLoss
	phi     kernel.Loss
	negated []T
}

// newSignedLoss returns nil if the kernels do not support the step.
func newSignedLoss[T plan.Float](e *executor[T], s *plan.SignedLoss) step[T] {
	phi, known := kernelLoss(s.Phi)
	if !known || s.S.Stride != 1 || s.Out.Stride != 1 {
		return nil
	}
	negated := e.negatedLabels(s.Signs)
	if t := e.tailsOf(s.Signs, s.S); t != nil && phi == kernel.SigmoidLoss {
		return &tailSigmoid[T]{s, t, negated}
	}
	return &signedLoss[T]{s, phi, negated}
}

func (l *signedLoss[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	w.k.SignedLoss(l.phi, w.From(l.s.Out, lo)[:n], w.From(l.s.S, lo)[:n], l.negated[lo:hi])
	return nil
}

// signedLossGrad computes Out[i] = D[i] y phi'(y S[i]), or Out[i] += D[i] y phi'(y S[i]).
type signedLossGrad[T plan.Float] struct {
	s       *plan.SignedLossGrad
	phi     kernel.Loss
	negated []T
}

// newSignedLossGrad returns nil if the kernels do not support the step.
func newSignedLossGrad[T plan.Float](e *executor[T], s *plan.SignedLossGrad) step[T] {
	phi, known := kernelLoss(s.Phi)
	if !known || s.S.Stride != 1 || s.D.Stride != 1 || s.Out.Stride != 1 {
		return nil
	}
	negated := e.negatedLabels(s.Signs)
	if t := e.tailsOf(s.Signs, s.S); t != nil {
		return &tailGrad[T]{s, t, phi, negated}
	}
	return &signedLossGrad[T]{s, phi, negated}
}

func (g *signedLossGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	out, s, d := w.From(g.s.Out, lo)[:n], w.From(g.s.S, lo)[:n], w.From(g.s.D, lo)[:n]
	w.k.SignedLossGrad(g.phi, out, s, g.negated[lo:hi], d, g.s.Add)
	return nil
}
