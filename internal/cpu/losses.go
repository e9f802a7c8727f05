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

// logisticTails holds the tail probabilities of a column of scores (kernel.LogisticTails). The
// forward half computes a single exponential for each row and keeps the result. All smooth losses
// of the scores, and their derivatives in the backward half, follow from the tails.
type logisticTails[T plan.Float] struct {
	scores plan.View
	values []T // tail of every row
}

// findTails allocates the tails of all columns of scores that can have tails. The scores must stay
// in memory from the forward half to the backward half. No step may write the scores after the
// first loss has read the scores.
func (e *executor[T]) findTails() {
	e.tails = map[int]*logisticTails[T]{}
	for _, r := range e.plan.Forward {
		for _, s := range r.Steps {
			for _, o := range s.Writes() {
				delete(e.tails, o.Buffer)
			}
			if s, ok := s.(*plan.SignedLoss); ok && r.Rows > 0 && e.tails[s.S.Buffer] == nil && e.hasTails(s.Signs, s.S) {
				e.tails[s.S.Buffer] = &logisticTails[T]{s.S, anyMemory[T](e.device, s.S.Rows)}
			}
		}
	}
}

// hasTails reports whether a loss is a function of the tails of its scores, and whether the scores
// stay in memory.
func (e *executor[T]) hasTails(signs describe.Signs, s plan.View) bool {
	b := e.plan.Buffers[s.Buffer]
	return smooth(signs.Phi) && b.Class == plan.Kept && s.Len() == b.Len() && s.Cols == 1
}

// smooth reports whether the kernels compute a surrogate and the surrogate's derivative from the
// tails.
func smooth(phi describe.Surrogate) bool {
	loss, known := kernelLoss(phi)
	return known && loss != kernel.HingeLoss
}

// tailsOf returns the tails of a loss's scores, nil if the scores have none.
func (e *executor[T]) tailsOf(signs describe.Signs, s plan.View) *logisticTails[T] {
	if t := e.tails[s.Buffer]; t != nil && t.scores == s && smooth(signs.Phi) {
		return t
	}
	return nil
}

// blockSteps compiles the steps of a region with rows. A producer may be fused with its only
// consumer: a loss with its means, the factors of the rows with the derivative of a loss, or the
// derivative of a hidden layer with a product of 8-bit data. The map computed holds the tails that
// earlier steps compute.
func (e *executor[T]) blockSteps(r plan.Region, computed map[*logisticTails[T]]bool) []step[T] {
	var steps []step[T]
	fused := map[plan.Step]step[T]{} // fused steps, by the consumer
	for _, s := range r.Steps {
		if f := fused[s]; f != nil {
			steps = append(steps, f)
			continue
		}
		switch s := s.(type) {
		case *plan.SignedLoss:
			t := e.tailsOf(s.Signs, s.S)
			if t != nil && !computed[t] {
				computed[t] = true
				steps = append(steps, &tailsStep[T]{t})
			}
			if means := e.consumers.Means[s]; len(means) == 1 && t != nil && isLogisticMeans(s, means[0]) {
				fused[means[0]] = newLogisticMeans(e, s, means[0], t)
				continue
			}
		case *plan.GroupMeansGrad:
			if g, ok := e.consumers.Loss[s].(*plan.SignedLossGrad); ok && len(e.consumers.Factors[g]) == 1 {
				if f := e.newTailGradWhere(s, g); f != nil {
					fused[g] = f
					continue
				}
			}
		}
		if !fuse(steps, s) {
			steps = e.fuseDerivative(append(steps, e.blockStep(s)), r)
			sumInProduct(steps)
		}
	}
	return steps
}

// tailsStep computes the tails of a block.
type tailsStep[T plan.Float] struct{ t *logisticTails[T] }

func (s *tailsStep[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.LogisticTails(s.t.values[lo:hi], w.From(s.t.scores, lo)[:hi-lo])
	return nil
}

// tailSigmoid computes Out[i] = phi(y S[i]) for the sigmoid.
type tailSigmoid[T plan.Float] struct {
	s       *plan.SignedLoss
	t       *logisticTails[T]
	negated []T
}

func (l *tailSigmoid[T]) block(_ int, w *worker[T], lo, hi int) error {
	w.k.SigmoidFromTails(w.From(l.s.Out, lo)[:hi-lo], l.t.values[lo:hi], l.negated[lo:hi])
	return nil
}

// tailGrad computes Out[i] = D[i] y phi'(y S[i]), or Out[i] += D[i] y phi'(y S[i]).
type tailGrad[T plan.Float] struct {
	s       *plan.SignedLossGrad
	t       *logisticTails[T]
	phi     kernel.Loss
	negated []T
}

func (g *tailGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	w.k.LossGradFromTails(g.phi, w.From(g.s.Out, lo)[:n], g.t.values[lo:hi], g.negated[lo:hi], w.From(g.s.D, lo)[:n], g.s.Add)
	return nil
}

// isLogisticMeans reports whether the means are means of logistic losses over groups of
// consecutive rows.
func isLogisticMeans(l *plan.SignedLoss, m *plan.GroupMeans) bool {
	phi, _ := kernelLoss(l.Phi)
	return phi == kernel.LogisticLoss && m.RowStarts == nil
}

// logisticMeans computes Out = M phi(y S) - Offsets for the logistic loss and groups of consecutive
// rows. The step does not write the losses. Each slot has the logarithms of products for each group
// (kernel.LogisticSum).
type logisticMeans[T plan.Float] struct {
	s       *plan.GroupMeans
	t       *logisticTails[T]
	negated []T
	rows    rowRanges
	sums    [][]kernel.LogisticSum // sums of the groups, by slot
	values  []float64              // the groups' sums, for other processes
}

func newLogisticMeans[T plan.Float](e *executor[T], l *plan.SignedLoss, s *plan.GroupMeans, t *logisticTails[T]) *logisticMeans[T] {
	return &logisticMeans[T]{s, t, e.negatedLabels(l.Signs), rowRanges{s.Starts}, nil, nil}
}

// shareRows implements summing. A LogisticSum has as many numbers as 32 sums.
func (m *logisticMeans[T]) shareRows() int { return rowsForSums(32 * m.s.Count) }

func (m *logisticMeans[T]) elements() int { return 32 * m.s.Count }

func (m *logisticMeans[T]) reserve(slots int) { m.sums = make([][]kernel.LogisticSum, slots) }

func (m *logisticMeans[T]) start(slot int) {
	if m.sums[slot] == nil {
		m.sums[slot] = make([]kernel.LogisticSum, m.s.Count)
	}
	for k := range m.sums[slot] {
		m.sums[slot][k].Clear()
	}
}

func (m *logisticMeans[T]) merge(left, right int) {
	for k := range m.sums[left] {
		m.sums[left][k].Add(&m.sums[right][k])
	}
}

func (m *logisticMeans[T]) send(slot int, to *message) {
	m.values = m.values[:0]
	for k := range m.sums[slot] {
		m.values = append(m.values, m.sums[slot][k].Value())
	}
	to.doubles.add(m.values)
}

func (m *logisticMeans[T]) settle(slot int) {
	for k, v := range m.values {
		m.sums[slot][k].Set(v)
	}
}

func (m *logisticMeans[T]) block(_ int, w *worker[T], lo, hi int) error {
	scores := w.From(m.t.scores, lo)
	m.rows.within(lo, hi, func(k, from, to int) {
		w.k.AddLogistic(&m.sums[w.slot][k], m.t.values[from:to], scores[from-lo:to-lo], m.negated[from:to])
	})
	return nil
}

func (m *logisticMeans[T]) finish(e *executor[T], roots []int) {
	for _, r := range roots[1:] {
		m.merge(roots[0], r)
	}
	for k := range m.s.Count {
		writeMean(e, m.s, k, m.sums[roots[0]][k].Value())
	}
}

// tailGradWhere is tailGrad with D = M^T W for rows that have at most two different factors. The
// step does not write D.
type tailGradWhere[T plan.Float] struct {
	tailGrad[T]
	d     *groupMeansGrad[T]
	masks *groupMasks[T]
}

// newTailGradWhere returns nil if the scores have no tails or the rows have more than two different
// factors.
func (e *executor[T]) newTailGradWhere(d *plan.GroupMeansGrad, s *plan.SignedLossGrad) step[T] {
	g, ok := newSignedLossGrad(e, s).(*tailGrad[T])
	if !ok || d.Add {
		return nil
	}
	masks := e.masksOf(d.Groups)
	if masks == nil || len(masks.sets) > 2 {
		return nil
	}
	return &tailGradWhere[T]{*g, &groupMeansGrad[T]{d, masks, make([]float64, d.Count)}, masks}
}

// masksOf returns the masks of groups in the form groupMasks, or of a single group of all rows,
// else nil.
func (e *executor[T]) masksOf(g describe.Groups) *groupMasks[T] {
	if g.RowStarts == nil && g.Count == 1 && g.Starts[0] == 0 && g.Starts[1] == g.Rows {
		all := describe.Groups{Rows: 1, Count: 1, Starts: g.Starts, RowStarts: []int{0, 1}, RowGroups: []int32{0}}
		return newGroupMasks(e.k, make([]int32, g.Rows), all)
	}
	if g.RowStarts == nil {
		return nil
	}
	masks, _ := newGroupForm(e.k, g).(*groupMasks[T])
	return masks
}

func (g *tailGradWhere[T]) prepare(e *executor[T]) { g.d.prepare(e) }

func (g *tailGradWhere[T]) block(_ int, w *worker[T], lo, hi int) error {
	last := len(g.masks.sets) - 1
	w.k.LossGradFromTailsWhere(g.phi, w.From(g.s.Out, lo)[:hi-lo], g.t.values[lo:hi], g.negated[lo:hi],
		g.masks.sets[last], lo, g.masks.rounded[last], g.masks.rounded[0], g.s.Add)
	return nil
}
