package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// tails are what all smooth losses of one column of scores S, and their derivatives in both halves, need of an exponential: it is taken
// once a row, in the forward half, and kept (kernel.LogisticTails).
type tails[T plan.Float] struct {
	scores plan.View
	values []T // of every row
}

// findTails makes room for the tails of all columns of scores that have any: kept from the forward half to the backward half, and not
// written after the first loss has read them.
func (e *executor[T]) findTails() {
	e.tails = map[int]*tails[T]{}
	for _, r := range e.plan.Forward {
		for _, s := range r.Steps {
			for _, o := range s.Writes() {
				delete(e.tails, o.Buffer)
			}
			if s, ok := s.(*plan.SignedLoss); ok && r.Rows > 0 && e.tails[s.S.Buffer] == nil && e.hasTails(s.Signs, s.S) {
				e.tails[s.S.Buffer] = &tails[T]{s.S, kernel.Alloc[T](s.S.Rows)}
			}
		}
	}
}

func (e *executor[T]) hasTails(signs plan.Signs, s plan.View) bool {
	b := e.plan.Buffers[s.Buffer]
	return smooth(signs.Phi) && b.Class == plan.Kept && s.Len() == b.Len() && s.Cols == 1
}

func smooth(phi plan.Surrogate) bool {
	loss, known := kernelLoss(phi)
	return known && loss != kernel.HingeLoss
}

// tailsOf returns the tails of a loss's scores, nil where there are none.
func (e *executor[T]) tailsOf(signs plan.Signs, s plan.View) *tails[T] {
	if t := e.tails[s.Buffer]; t != nil && t.scores == s && smooth(signs.Phi) {
		return t
	}
	return nil
}

// blockSteps compiles the steps of a region with rows. A loss and its only consumer, or the spread group
// weights and their only consumer, may become one step. filled are the tails that earlier steps compute.
func (e *executor[T]) blockSteps(r plan.Region, filled map[*tails[T]]bool) []step[T] {
	var steps []step[T]
	joined := map[plan.Step]step[T]{} // by the consumer
	for _, s := range r.Steps {
		if j := joined[s]; j != nil {
			steps = append(steps, j)
			continue
		}
		switch s := s.(type) {
		case *plan.SignedLoss:
			t := e.tailsOf(s.Signs, s.S)
			if t != nil && !filled[t] {
				filled[t] = true
				steps = append(steps, &tailsStep[T]{t})
			}
			if means := e.consumers.Means[s]; len(means) == 1 && t != nil && isLogisticMeans(s, means[0]) {
				joined[means[0]] = newLogisticMeans(e, s, means[0], t)
				continue
			}
		case *plan.GroupMeansGrad:
			if g, ok := e.consumers.Loss[s].(*plan.SignedLossGrad); ok && len(e.consumers.Spread[g]) == 1 {
				if j := e.newTailGradWhere(s, g); j != nil {
					joined[g] = j
					continue
				}
			}
		}
		steps = append(steps, e.blockStep(s))
	}
	return steps
}

// tailsStep fills the tails of a block.
type tailsStep[T plan.Float] struct{ t *tails[T] }

func (s *tailsStep[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.LogisticTails(s.t.values[lo:hi], w.From(s.t.scores, lo)[:hi-lo])
	return nil
}

// tailSigmoid is Out[i] = phi(y S[i]) of the sigmoid.
type tailSigmoid[T plan.Float] struct {
	s     *plan.SignedLoss
	t     *tails[T]
	minus []T
}

func (l *tailSigmoid[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.SigmoidFromTails(w.From(l.s.Out, lo)[:hi-lo], l.t.values[lo:hi], l.minus[lo:hi])
	return nil
}

// tailGrad is Out[i] = D[i] y phi'(y S[i]), or Out += it.
type tailGrad[T plan.Float] struct {
	s     *plan.SignedLossGrad
	t     *tails[T]
	phi   kernel.Loss
	minus []T
}

func (g *tailGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	w.k.LossGradFromTails(g.phi, w.From(g.s.Out, lo)[:n], g.t.values[lo:hi], g.minus[lo:hi], w.From(g.s.D, lo)[:n], g.s.Add)
	return nil
}
