package cuda

import (
	"fmt"
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// lossOf returns a row-wise loss for the kernels.
func (l *lowering) lossOf(s plan.Step) (loss kernels.Loss, scores, out plan.View, err error) {
	var phi describe.Surrogate
	switch s := s.(type) {
	case *plan.MarginLoss:
		phi, scores, out = s.Phi, s.S, s.Out
		loss.Labels, err = classLabels(l.Program, s.Labels, l.window)
	case *plan.MarginLossGrad:
		phi, scores, out = s.Phi, s.S, s.Out
		loss.Labels, err = classLabels(l.Program, s.Labels, l.window)
	case *plan.SignedLoss:
		phi, scores, out, loss.Kind = s.Phi, s.S, s.Out, kernels.Signs
		loss.Labels, err = signLabels(l.Program, s.Labels, l.window)
	case *plan.SignedLossGrad:
		phi, scores, out, loss.Kind = s.Phi, s.S, s.Out, kernels.Signs
		loss.Labels, err = signLabels(l.Program, s.Labels, l.window)
	}
	if err != nil {
		return loss, scores, out, err
	}
	loss.Phi, err = kernels.PhiOf(phi)
	return loss, scores, out, err
}

// classLabels uploads labels once, and returns the address of the window's labels.
func classLabels(p *Program, labels []int32, w window) (driver.Pointer, error) {
	at, known := p.lists[&labels[0]]
	if !known {
		var err error
		if at, err = p.table("labels", raw(labels)); err != nil {
			return 0, err
		}
		p.lists[&labels[0]] = at
	}
	const size = 4
	return at.Offset(size * w.from), nil
}

// signLabels is classLabels for labels -1 and +1.
func signLabels(p *Program, labels []int8, w window) (driver.Pointer, error) {
	at, known := p.lists[&labels[0]]
	if !known {
		contents := make([]byte, len(labels))
		for i, y := range labels {
			contents[i] = byte(y)
		}
		var err error
		if at, err = p.table("labels", contents); err != nil {
			return 0, err
		}
		p.lists[&labels[0]] = at
	}
	return at.Offset(w.from), nil
}

// losses lowers a loss. A loss with group means as its only consumers is fused with the means and
// not written.
func (l *lowering) losses(s plan.Step) error {
	loss, scores, out, err := l.lossOf(s)
	if err != nil {
		return fmt.Errorf("cuda: %v: %w", s, err)
	}
	from := l.view(scores)
	group := l.consumers.Means[s]
	if len(group) == 0 {
		to := l.view(out)
		l.emit(s, func(q kernels.Queue) error {
			loss.Scores = from()
			return l.set.LossValues(q, loss, to())
		})
		return nil
	}
	for _, m := range group {
		l.markDone(slices.Index(l.steps, plan.Step(m)))
	}
	m, table, err := l.prepareMeans(group)
	if err != nil {
		return err
	}
	l.emit(s, func(q kernels.Queue) error {
		loss.Scores = from()
		return l.set.LossMeans(q, m, table, loss)
	})
	return nil
}

// markDone marks steps that another step's pass computes.
func (l *lowering) markDone(steps ...int) {
	for _, j := range steps {
		l.done[j] = true
	}
}

// prepareMeans builds and uploads the table of group means for the window's rows.
func (l *lowering) prepareMeans(group []*plan.GroupMeans) (*kernels.Means, driver.Pointer, error) {
	var steps []kernels.MeansStep
	for _, s := range group {
		if l.isGradient(s.Out) {
			return nil, 0, l.refuse(s)
		}
		step := kernels.MeansStep{Groups: s.Groups, Offsets: s.Offsets, Out: l.whole(s.Out), Add: !l.window.first,
			Host: l.numbers.written[s.Out.Buffer]}
		if !l.window.whole {
			step.From, step.To = l.window.from, l.window.to
		}
		steps = append(steps, step)
	}
	m := kernels.NewMeans(steps...)
	at, err := l.table("the groups", m.Table())
	return m, at, err
}

// means lowers group means; all means of one buffer are one pass.
func (l *lowering) means(i int, s *plan.GroupMeans) error {
	group := []*plan.GroupMeans{s}
	for j := i + 1; j < len(l.steps); j++ {
		if next, ok := l.steps[j].(*plan.GroupMeans); ok && next.In == s.In && l.untouched(i, j, s.In.Buffer, next.Out.Buffer) {
			group = append(group, next)
			l.markDone(j)
		}
	}
	m, table, err := l.prepareMeans(group)
	if err != nil {
		return err
	}
	in := l.view(s.In)
	l.emit(s, func(q kernels.Queue) error { return l.set.GroupMeans(q, m, table, in()) })
	return nil
}

// meansGrad lowers M^T w, unless the derivative of a loss, as the only consumer, computes M^T w in
// its own pass.
func (l *lowering) meansGrad(s *plan.GroupMeansGrad) error {
	if l.consumers.Loss[s] != nil {
		return nil
	}
	w, table, err := l.prepareMeansGrad(s)
	if err != nil {
		return err
	}
	out := l.view(s.Out)
	l.emit(s, func(q kernels.Queue) error { return l.set.GroupMeansGrad(q, w, table, out(), s.Add) })
	return nil
}

// prepareMeansGrad builds and uploads the table of a sum M_1^T w_1 + ... for the window's rows.
func (l *lowering) prepareMeansGrad(steps ...*plan.GroupMeansGrad) (*kernels.MeansGrad, driver.Pointer, error) {
	var terms []kernels.MeansGradStep
	for _, s := range steps {
		if l.isGradient(s.W) {
			return nil, 0, l.refuse(s)
		}
		term := kernels.MeansGradStep{Groups: s.Groups, W: l.whole(s.W)}
		if !l.window.whole {
			term.From, term.To = l.window.from, l.window.to
		}
		terms = append(terms, term)
	}
	w := kernels.NewMeansGrad(terms...)
	at, err := l.table("the rows' groups", w.Table())
	return w, at, err
}

// lossGrad lowers the derivative of a loss. The rows' factors are in memory, or are computed from
// the groups' coefficients in the same pass.
func (l *lowering) lossGrad(s plan.Step) error {
	loss, scores, out, err := l.lossOf(s)
	if err != nil {
		return fmt.Errorf("cuda: %v: %w", s, err)
	}
	var weights plan.View
	add := false
	switch s := s.(type) {
	case *plan.MarginLossGrad:
		weights = s.D
	case *plan.SignedLossGrad:
		weights, add = s.D, s.Add
	}
	from, to := l.view(scores), l.view(out)
	grads := l.consumers.Factors[s]
	if len(grads) == 0 {
		d := l.view(weights)
		l.emit(s, func(q kernels.Queue) error {
			loss.Scores = from()
			return l.set.LossGrad(q, loss, d(), to(), add)
		})
		return nil
	}
	w, table, err := l.prepareMeansGrad(grads...)
	if err != nil {
		return err
	}
	l.emit(s, func(q kernels.Queue) error {
		loss.Scores = from()
		return l.set.LossGradMeans(q, loss, w, table, to(), add)
	})
	return nil
}

// pairs are pairs of documents in device memory.
type pairs struct {
	*kernels.Pairs
	table driver.Pointer
}

// pairsOf uploads the pairs once for all steps over them, and returns the surrogate.
func (l *lowering) pairsOf(s plan.Step, p describe.Pairs, surrogate describe.Surrogate) (pairs, kernels.Phi, error) {
	phi, err := kernels.PhiOf(surrogate)
	if err != nil {
		return pairs{}, 0, fmt.Errorf("cuda: %v: %w", s, err)
	}
	key := &p.Counts[0]
	if known, ok := l.pairs[key]; ok {
		return known, phi, nil
	}
	own := pairs{Pairs: kernels.NewPairs(p)}
	if own.table, err = l.table("the pairs", own.Table()); err != nil {
		return pairs{}, 0, err
	}
	l.pairs[key] = own
	return own, phi, nil
}

// pairMeans lowers means over pairs of documents.
func (l *lowering) pairMeans(s *plan.PairMeans) error {
	p, phi, err := l.pairsOf(s, s.Pairs, s.Phi)
	if err != nil {
		return err
	}
	scores, out := l.view(s.S), l.view(s.Out)
	l.emit(s, func(q kernels.Queue) error { return l.set.PairMeans(q, p.Pairs, p.table, phi, scores(), out()) })
	return nil
}

// pairMeansGrad lowers the derivative of means over pairs of documents.
func (l *lowering) pairMeansGrad(s *plan.PairMeansGrad) error {
	p, phi, err := l.pairsOf(s, s.Pairs, s.Phi)
	if err != nil {
		return err
	}
	scores, w, out := l.view(s.S), l.view(s.W), l.view(s.Out)
	l.emit(s, func(q kernels.Queue) error {
		return l.set.PairMeansGrad(q, p.Pairs, p.table, phi, scores(), w(), out())
	})
	return nil
}

// refuse returns an error for a step without a kernel.
func (l *lowering) refuse(s plan.Step) error {
	e := &plan.UnsupportedError{Device: "the GPU", Step: s.String()}
	if o, ok := s.(*plan.Opaque); ok {
		e.Step = fmt.Sprintf("the op %v", o.Op)
	}
	return fmt.Errorf("cuda: %w", e)
}
