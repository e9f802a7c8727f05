package cuda

import (
	"fmt"
	"slices"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// lossOf returns the kernels' form of a row-wise loss.
func (l *lowering) lossOf(s plan.Step) (loss kernels.Loss, scores, out plan.View, err error) {
	var phi plan.Surrogate
	switch s := s.(type) {
	case *plan.MarginLoss:
		phi, scores, out = s.Phi, s.S, s.Out
		loss.Labels, err = list(l.Program, "labels", s.Labels, l.window)
	case *plan.MarginLossGrad:
		phi, scores, out = s.Phi, s.S, s.Out
		loss.Labels, err = list(l.Program, "labels", s.Labels, l.window)
	case *plan.SignedLoss:
		phi, scores, out, loss.Kind = s.Phi, s.S, s.Out, kernels.Signs
		loss.Labels, err = signs(l.Program, s.Labels, l.window)
	case *plan.SignedLossGrad:
		phi, scores, out, loss.Kind = s.Phi, s.S, s.Out, kernels.Signs
		loss.Labels, err = signs(l.Program, s.Labels, l.window)
	}
	if err != nil {
		return loss, scores, out, err
	}
	loss.Phi, err = kernels.PhiOf(phi)
	return loss, scores, out, err
}

// list uploads labels once and returns where the window's labels begin.
func list(p *Program, name string, labels []int32, w window) (driver.Pointer, error) {
	at, known := p.lists[&labels[0]]
	if !known {
		var err error
		if at, err = p.table(name, raw(labels)); err != nil {
			return 0, err
		}
		p.lists[&labels[0]] = at
	}
	const size = 4
	return at.Offset(size * w.from), nil
}

// signs is list for labels of -1 and +1.
func signs(p *Program, labels []int8, w window) (driver.Pointer, error) {
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

// losses makes the pass of a loss. If only group means read the losses, the pass adds them to the
// means and does not write them.
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
		l.take(slices.Index(l.steps, plan.Step(m)))
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

// take marks steps as computed by the pass of another step.
func (l *lowering) take(steps ...int) {
	for _, j := range steps {
		l.done[j] = true
	}
}

// prepareMeans makes and uploads the table of group means for the window's rows.
func (l *lowering) prepareMeans(group []*plan.GroupMeans) (*kernels.Means, driver.Pointer, error) {
	var steps []kernels.MeansStep
	for _, s := range group {
		if l.isGradient(s.Out) {
			return nil, 0, fmt.Errorf("cuda: %v: group means that are a gradient are not supported", s)
		}
		step := kernels.MeansStep{Groups: s.Groups, Offsets: s.Offsets, Out: l.whole(s.Out), Add: !l.window.first}
		if !l.window.whole {
			step.From, step.To = l.window.from, l.window.to
		}
		steps = append(steps, step)
	}
	m := kernels.NewMeans(steps...)
	at, err := l.table("the groups", m.Table())
	return m, at, err
}

// means makes the pass of all group means of one buffer in memory.
func (l *lowering) means(i int, s *plan.GroupMeans) error {
	group := []*plan.GroupMeans{s}
	for j := i + 1; j < len(l.steps); j++ {
		if next, ok := l.steps[j].(*plan.GroupMeans); ok && next.In == s.In && l.untouched(i, j, s.In.Buffer, next.Out.Buffer) {
			group = append(group, next)
			l.take(j)
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

// meansGrad writes M^T w. If only the derivative of a loss reads the result, that derivative's pass
// computes M^T w itself.
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

// prepareMeansGrad makes and uploads the table of a sum M_1^T w_1 + ... over the window's rows.
func (l *lowering) prepareMeansGrad(steps ...*plan.GroupMeansGrad) (*kernels.MeansGrad, driver.Pointer, error) {
	var terms []kernels.MeansGradStep
	for _, s := range steps {
		if l.isGradient(s.W) {
			return nil, 0, fmt.Errorf("cuda: %v: group weights that are a gradient are not supported", s)
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

// lossGrad makes the pass of the derivative of a loss. The rows' factors are in memory, or the pass
// computes them from the groups' coefficients.
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
	factors := l.consumers.Factors[s]
	if len(factors) == 0 {
		d := l.view(weights)
		l.emit(s, func(q kernels.Queue) error {
			loss.Scores = from()
			return l.set.LossGrad(q, loss, d(), to(), add)
		})
		return nil
	}
	w, table, err := l.prepareMeansGrad(factors...)
	if err != nil {
		return err
	}
	l.emit(s, func(q kernels.Queue) error {
		loss.Scores = from()
		return l.set.LossGradMeans(q, loss, w, table, to(), add)
	})
	return nil
}

// refuse returns the error for a step that the device has no kernel for.
func (l *lowering) refuse(s plan.Step) error {
	if o, ok := s.(*plan.Opaque); ok {
		return fmt.Errorf("cuda: there is no kernel of the op %v on the GPU: train with --device cpu", o.Op)
	}
	return fmt.Errorf("cuda: there is no kernel of %v on the GPU: train with --device cpu", s)
}
