package cpu

import "ppal/internal/plan"

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
	case *plan.Normalize:
		return &normalize[T]{s}
	case *plan.NormalizeGrad:
		return &normalizeGrad[T]{s}
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

// serialWork is the limit up to which a step outside the regions runs on one goroutine. The limit
// counts arithmetic operations, or else elements. A step at the limit takes some microseconds.
const serialWork = 1 << 16

// wholeRegion makes a region for a step outside the plan's regions.
func (e *executor[T]) wholeRegion(s plan.Step) *region[T] {
	threads := e.threads
	if max(s.FLOPs(), int64(s.Writes()[0].Len())) <= serialWork {
		threads = 1
	}
	switch s := s.(type) {
	case *plan.Product:
		return e.newRegion(0, s.Out.Rows, threads, usualBlocking(), &smallProduct[T]{s})
	case *plan.PairMeans, *plan.PairMeansGrad:
		return e.pairRegion(s, threads)
	case *plan.Opaque:
		return e.newRegion(0, 1, 1, usualBlocking(), &opaque[T]{s})
	}
	return e.newRegion(0, plan.Rows(s), threads, usualBlocking(), e.blockStep(s))
}

// opaque is a step without blocks that calls the Do of Gorgonia's op.
type opaque[T plan.Float] struct{ s *plan.Opaque }

func (o *opaque[T]) block(_ int, w *worker[T], _, _ int) error {
	return plan.Run(o.s, w.Memory, 0, o.s.Out.Rows, nil)
}

// smallProduct is a product outside the regions, for example c W or the rank-one correction of the
// gradient of W. Sums run over the inner index in increasing order, in T. The step's rows are the
// rows of the result.
type smallProduct[T plan.Float] struct{ p *plan.Product }

func (s *smallProduct[T]) block(_ int, w *worker[T], lo, hi int) error {
	p := s.p
	for i := lo; i < hi; i++ {
		out := w.Row(p.Out, i)
		if !p.Add {
			clear(out)
		}
		for l := range p.Inner() {
			a := element(w, p.A, p.TransA, i, l)
			if a == 0 {
				continue
			}
			if !p.TransB {
				w.k.Axpy(out, a, w.Row(p.B, l))
				continue
			}
			for j := range out {
				out[j] += a * w.Row(p.B, j)[l]
			}
		}
	}
	return nil
}

// element returns A[i,l], or A[l,i] if trans is true.
func element[T plan.Float](w *worker[T], v plan.View, trans bool, i, l int) T {
	if trans {
		i, l = l, i
	}
	return w.Row(v, i)[l]
}
