package cpu

import (
	"ppal/internal/plan"
)

// blockStep compiles a step of a region with rows.
func (e *executor[T]) blockStep(s plan.Step) step[T] {
	switch s := s.(type) {
	case *plan.Product:
		if p := e.product(s); p != nil {
			return p
		}
	case *plan.BiasActivation:
		return newBiasActivation[T](s)
	case *plan.ActivationGrad:
		return newActivationGrad[T](s)
	case *plan.Map:
		return newElements[T](s)
	case *plan.Sums:
		if s.Over != plan.OverColumns {
			return newColumnSums[T](s)
		}
	case *plan.MarginLoss:
		if l := newMarginLoss[T](s, e.threads); l != nil {
			return l
		}
	case *plan.MarginLossGrad:
		if g := newMarginLossGrad[T](s, e.threads); g != nil {
			return g
		}
	case *plan.SignedLoss:
		if l := newSignedLoss(e, s); l != nil {
			return l
		}
	case *plan.SignedLossGrad:
		if g := newSignedLossGrad(e, s); g != nil {
			return g
		}
	case *plan.GroupMeans:
		switch {
		case s.RowStarts == nil && s.In.Cols == 1:
			return newRangeMeans[T](s)
		case s.RowStarts != nil && s.In.Stride == 1:
			return newGroupMeans(e.k, s)
		}
	case *plan.GroupMeansGrad:
		switch {
		case s.RowStarts == nil && s.W.Cols == 1:
			return &rangeMeansGrad[T]{s, rowRanges{s.Starts}}
		case s.RowStarts != nil && s.Out.Stride == 1:
			return newGroupMeansGrad(e.k, s)
		}
	case *plan.Convolution:
		return newConvolution(e, s)
	case *plan.ConvolutionInputGrad:
		return newConvolutionInputGrad(e, s)
	case *plan.ConvolutionFilterGrad:
		return newConvolutionFilterGrad(e, s)
	case *plan.MaxPool:
		return &maxPool[T]{s}
	case *plan.MaxPoolGrad:
		return &maxPoolGrad[T]{s}
	}
	return newReference[T](s)
}

// reference is a step that runs the loops of plan.Run.
type reference[T plan.Float] struct{ s plan.Step }

func (r *reference[T]) block(_ int, w *worker[T], lo, hi int) error {
	return plan.Run(r.s, w.Memory, lo, hi, nil)
}

// referenceSums is a reference with sums over rows.
type referenceSums[T plan.Float] struct {
	*slotSums[float64]
	s plan.Step
}

func newReference[T plan.Float](s plan.Step) step[T] {
	if n := plan.Partials(s); n > 0 {
		return &referenceSums[T]{newFloat64Sums(n), s}
	}
	return &reference[T]{s}
}

func (r *referenceSums[T]) shareRows() int {
	if _, ok := r.s.(*plan.Product); ok {
		return productRows
	}
	return rowsForSums(r.length)
}

func (r *referenceSums[T]) block(_ int, w *worker[T], lo, hi int) error {
	return plan.Run(r.s, w.Memory, lo, hi, r.slots[w.slot])
}

func (r *referenceSums[T]) finish(e *executor[T], roots []int) {
	plan.Finish(r.s, e.Memory, r.total(roots))
}
