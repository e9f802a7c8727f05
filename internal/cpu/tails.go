package cpu

import (
	"slices"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// tails are what all smooth losses of one column of scores S, and their derivatives in both halves, need of an exponential: it is taken
// once a row, in the forward half, and kept (kernel.Tails).
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

// blockSteps compiles the steps of a region with rows. filled are the tails that are there.
func (e *executor[T]) blockSteps(r plan.Region, filled map[*tails[T]]bool) []step[T] {
	var steps []step[T]
	summed := map[*plan.GroupMeans]step[T]{}
	for _, s := range r.Steps {
		switch s := s.(type) {
		case *plan.SignedLoss:
			t := e.tailsOf(s.Signs, s.S)
			if t == nil {
				break
			}
			if !filled[t] {
				filled[t] = true
				steps = append(steps, &tailsStep[T]{t})
			}
			if means := e.meansAlone(r, s); means != nil {
				summed[means] = newLogisticMeans(e, s, means, t)
				continue
			}
		case *plan.GroupMeans:
			if sum := summed[s]; sum != nil {
				steps = append(steps, sum)
				continue
			}
		}
		steps = append(steps, e.blockStep(s))
	}
	return steps
}

// meansAlone returns the means over classes that are all that reads a logistic loss, nil if there is more, or none.
func (e *executor[T]) meansAlone(r plan.Region, l *plan.SignedLoss) *plan.GroupMeans {
	if phi, _ := kernelLoss(l.Phi); phi != kernel.LogisticLoss || e.plan.Buffers[l.Out.Buffer].Class != plan.Local {
		return nil
	}
	var readers []plan.Step
	for _, s := range r.Steps[slices.Index(r.Steps, plan.Step(l))+1:] {
		if slices.ContainsFunc(s.Writes(), func(o plan.Operand) bool { return o.Buffer == l.Out.Buffer }) {
			break
		}
		if slices.ContainsFunc(s.Reads(), func(o plan.Operand) bool { return o.Buffer == l.Out.Buffer }) {
			readers = append(readers, s)
		}
	}
	if len(readers) != 1 {
		return nil
	}
	if m, ok := readers[0].(*plan.GroupMeans); ok && m.RowStarts == nil && m.In == l.Out {
		return m
	}
	return nil
}

// tailsStep fills the tails of a block.
type tailsStep[T plan.Float] struct{ t *tails[T] }

func (s *tailsStep[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.Tails(s.t.values[lo:hi], w.From(s.t.scores, lo)[:hi-lo])
	return nil
}

// tailSigmoid is Out[i] = phi(y S[i]) of the sigmoid.
type tailSigmoid[T plan.Float] struct {
	s     *plan.SignedLoss
	t     *tails[T]
	minus []T
}

func (l *tailSigmoid[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.TailSigmoid(w.From(l.s.Out, lo)[:hi-lo], l.t.values[lo:hi], l.minus[lo:hi])
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
	w.k.TailGrad(g.phi, w.From(g.s.Out, lo)[:n], g.t.values[lo:hi], g.minus[lo:hi], w.From(g.s.D, lo)[:n], g.s.Add)
	return nil
}

// logisticMeans is Out = M phi(y S) - Offsets of the logistic loss for groups of consecutive rows: the losses are not written, and their
// logarithms are those of products (kernel.LogisticSum), by group and worker.
type logisticMeans[T plan.Float] struct {
	s     *plan.GroupMeans
	t     *tails[T]
	minus []T
	rows  classes
	sums  [][]kernel.LogisticSum // by worker
}

func newLogisticMeans[T plan.Float](e *executor[T], l *plan.SignedLoss, s *plan.GroupMeans, t *tails[T]) *logisticMeans[T] {
	m := &logisticMeans[T]{s, t, e.minusLabels(l.Signs), classes{s.Starts}, make([][]kernel.LogisticSum, e.threads)}
	for t := range m.sums {
		m.sums[t] = make([]kernel.LogisticSum, s.Count)
	}
	return m
}

func (m *logisticMeans[T]) prepareShare(_ *executor[T], worker, _ int) {
	for k := range m.sums[worker] {
		m.sums[worker][k].Clear()
	}
}

func (m *logisticMeans[T]) block(t int, w *worker[T], lo, hi int) error {
	scores := w.From(m.t.scores, lo)
	m.rows.within(lo, hi, func(k, from, to int) {
		w.k.AddLogistic(&m.sums[t][k], m.t.values[from:to], scores[from-lo:to-lo], m.minus[from:to])
	})
	return nil
}

func (m *logisticMeans[T]) finish(e *executor[T], workers int) {
	for k := range m.s.Count {
		var sum float64
		for t := range workers {
			sum += m.sums[t][k].Value()
		}
		writeMean(e, m.s, k, sum)
	}
}
