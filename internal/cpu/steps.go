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
			return newColumnSums[T](s, e.threads)
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
			return newRangeMeans[T](s, e.threads)
		case s.RowStarts != nil && s.In.Stride == 1:
			return newGroupMeans(e.k, s, e.threads)
		}
	case *plan.GroupMeansGrad:
		switch {
		case s.RowStarts == nil && s.W.Cols == 1:
			return &rangeMeansGrad[T]{s, rowRanges{s.Starts}}
		case s.RowStarts != nil && s.Out.Stride == 1:
			return newGroupMeansGrad(e.k, s, e.threads)
		}
	}
	return newReference[T](s, e.threads)
}

// reference is a step that runs the loops of plan.Run.
type reference[T plan.Float] struct {
	s    plan.Step
	sums [][]float64 // sums over rows, by worker
}

func newReference[T plan.Float](s plan.Step, workers int) *reference[T] {
	r := &reference[T]{s: s, sums: make([][]float64, workers)}
	for t := range r.sums {
		r.sums[t] = make([]float64, plan.Partials(s))
	}
	return r
}

func (r *reference[T]) start(worker int) { clear(r.sums[worker]) }

func (r *reference[T]) block(t int, w *worker[T], lo, hi int) error {
	return plan.Run(r.s, w.Memory, lo, hi, r.sums[t])
}

func (r *reference[T]) finish(e *executor[T], workers int) {
	total := r.sums[0]
	if len(total) == 0 {
		return
	}
	addPartials(total, r.sums[1:workers])
	plan.Finish(r.s, e.Memory, total)
}

// addPartials adds the sums of the other workers to total, in the order of the workers.
func addPartials(total []float64, others [][]float64) {
	for _, s := range others {
		for i, x := range s {
			total[i] += x
		}
	}
}
