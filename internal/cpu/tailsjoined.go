package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// isLogisticMeans says whether the means are those of logistic losses over groups of consecutive rows.
func isLogisticMeans(l *plan.SignedLoss, m *plan.GroupMeans) bool {
	phi, _ := kernelLoss(l.Phi)
	return phi == kernel.LogisticLoss && m.RowStarts == nil
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

func (m *logisticMeans[T]) start(worker int) {
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

// tailGradWhere is tailGrad with D = M^T W where rows have one of two weights: they are not written.
type tailGradWhere[T plan.Float] struct {
	tailGrad[T]
	d     *groupMeansGrad[T]
	kinds *groupMasks[T]
}

// newTailGradWhere returns nil where the scores have no tails or the rows more than two weights.
func (e *executor[T]) newTailGradWhere(d *plan.GroupMeansGrad, s *plan.SignedLossGrad) step[T] {
	g, ok := newSignedLossGrad(e, s).(*tailGrad[T])
	if !ok || d.Add {
		return nil
	}
	kinds := e.masksOf(d.Groups)
	if kinds == nil || len(kinds.sets) > 2 {
		return nil
	}
	return &tailGradWhere[T]{*g, &groupMeansGrad[T]{d, kinds, make([]float64, d.Count)}, kinds}
}

// masksOf returns the groups' form where it is masks, those of one group of all rows among them; else nil.
func (e *executor[T]) masksOf(g plan.Groups) *groupMasks[T] {
	if g.RowStarts == nil && g.Count == 1 && g.Starts[0] == 0 && g.Starts[1] == g.Rows {
		all := plan.Groups{Rows: 1, Count: 1, Starts: g.Starts, RowStarts: []int{0, 1}, RowGroups: []int32{0}}
		return newGroupMasks(e.k, make([]int32, g.Rows), all)
	}
	if g.RowStarts == nil {
		return nil
	}
	masks, _ := newGroupForm(e.k, g, e.threads).(*groupMasks[T])
	return masks
}

func (g *tailGradWhere[T]) prepare(e *executor[T]) { g.d.prepare(e) }

func (g *tailGradWhere[T]) block(_ int, w *worker[T], lo, hi int) error {
	last := len(g.kinds.sets) - 1
	w.k.LossGradFromTailsWhere(g.phi, w.From(g.s.Out, lo)[:hi-lo], g.t.values[lo:hi], g.minus[lo:hi],
		g.kinds.sets[last], lo, g.kinds.rounded[last], g.kinds.rounded[0], g.s.Add)
	return nil
}
