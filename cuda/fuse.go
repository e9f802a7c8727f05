package cuda

import (
	"slices"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// untouched reports whether the pass at step i may write the buffer writes, which the plan writes
// at step j, from the buffer reads: no step between writes either buffer, or reads the buffer
// writes.
func (l *lowering) untouched(i, j, reads, writes int) bool {
	return l.unwritten(i, j, reads) && l.unwritten(i, j, writes) && !slices.ContainsFunc(l.between(i, j), func(s plan.Step) bool {
		return slices.ContainsFunc(s.Reads(), func(o plan.Operand) bool { return l.shares(o.Buffer, writes) })
	})
}

// unwritten reports whether no step between i and j writes a buffer.
func (l *lowering) unwritten(i, j, buffer int) bool {
	return !slices.ContainsFunc(l.between(i, j), func(s plan.Step) bool { return l.shares(s.Writes()[0].Buffer, buffer) })
}

// between lists the steps after i and before j without a pass.
func (l *lowering) between(i, j int) (list []plan.Step) {
	for k := i + 1; k < j; k++ {
		if !l.done[k] {
			list = append(list, l.steps[k])
		}
	}
	return list
}

// shares reports whether two buffers have the same memory.
func (l *lowering) shares(a, b int) bool {
	return a == b || l.storage.base[a] == l.storage.base[b] && l.storage.base[a] != 0 &&
		l.plan.Buffers[a].Class != plan.Gradient && l.plan.Buffers[b].Class != plan.Gradient
}

// activations maps the plan's activations to the kernels'.
var activations = [...]kernels.Activation{plan.LinearActivation: kernels.Identity, plan.SigmoidActivation: kernels.Sigmoid,
	plan.TanhActivation: kernels.Tanh, plan.ReLUActivation: kernels.ReLU}

// find returns the first step after i that is not done and fits, or -1.
func (l *lowering) find(i int, fits func(s plan.Step) bool) int {
	for j := i + 1; j < len(l.steps); j++ {
		if !l.done[j] && fits(l.steps[j]) {
			return j
		}
	}
	return -1
}

// columnSums finds sums over the rows of v after step i that can be computed at step i already; j
// is -1 if there are none.
func (l *lowering) columnSums(i int, v plan.View) (j int, sums *plan.Sums) {
	j = l.find(i, func(s plan.Step) bool {
		t, ok := s.(*plan.Sums)
		return ok && t.Over == plan.OverRows && t.In == v
	})
	if j < 0 {
		return -1, nil
	}
	sums = l.steps[j].(*plan.Sums)
	if !l.untouched(i, j, v.Buffer, sums.Out.Buffer) {
		return -1, nil
	}
	return j, sums
}

// activationGrad writes D = f'(A) D. The same pass writes the sums of D's columns and the digits of
// D, where later steps read them.
func (l *lowering) activationGrad(i int, s *plan.ActivationGrad) error {
	out := noOperand
	j, sums := l.columnSums(i, s.D)
	if j >= 0 {
		l.markDone(j)
		out = l.wholeView(sums.Out)
	}
	quantized, keep, err := l.quantizeFor(i, s.D)
	if err != nil {
		return err
	}
	a, d := l.view(s.A), l.view(s.D)
	f := activations[s.Activation]
	if j < 0 && !l.isQuantized(s.D) {
		l.emit(s, func(q kernels.Queue) error { return l.set.ActivationGrad(q, f, a(), d()) })
		return nil
	}
	call := kernels.Slopes{Activation: f, AddSums: !l.window.first, Quantized: quantized, Keep: keep}
	l.emit(s, func(q kernels.Queue) error {
		c := call
		c.A, c.D, c.Sums = a(), d(), out()
		return l.set.Slopes(q, c)
	})
	return nil
}

// biasActivation writes A = f(A + 1 bias), with the product behind it where one pass does both.
func (l *lowering) biasActivation(i int, s *plan.BiasActivation) {
	if l.outputForward(i, s) {
		return
	}
	a, bias, f := l.view(s.A), l.wholeView(s.Bias), activations[s.Activation]
	l.emit(s, func(q kernels.Queue) error {
		if f == kernels.Identity {
			return l.set.AddRow(q, a(), bias())
		}
		return l.set.BiasActivation(q, f, a(), bias())
	})
}

// noOperand returns an operand that is not given.
func noOperand() kernels.Operand { return kernels.Operand{} }

// rankOne lowers out += x^T y for two rows.
func (l *lowering) rankOne(_ int, s *plan.Product) bool {
	if !s.TransA || s.TransB || s.A.Rows != 1 || !s.Add || !l.window.whole || l.eight[s.A.Buffer] != nil {
		return false
	}
	x, y, out := l.wholeView(s.A), l.wholeView(s.B), l.wholeView(s.Out)
	l.emit(s, func(q kernels.Queue) error { return l.set.RankOne(q, 1, x(), y(), out()) })
	return true
}

// negatedRankOne lowers y = -z, out += x^T y as out -= x^T z if nothing else reads y.
func (l *lowering) negatedRankOne(i int, s *plan.Map) bool {
	if s.Expr.Op != describe.Neg || s.Expr.X.Op != describe.Load || i+1 >= len(l.steps) || len(l.readers[s.Out.Buffer]) != 1 || !l.window.whole {
		return false
	}
	next, ok := l.steps[i+1].(*plan.Product)
	if !ok || next.B != s.Out || !next.TransA || next.TransB || next.A.Rows != 1 || !next.Add || next.A.Buffer == s.Out.Buffer ||
		l.eight[next.A.Buffer] != nil {
		return false
	}
	l.markDone(i + 1)
	x, y, out := l.wholeView(next.A), l.wholeView(s.Args[0]), l.wholeView(next.Out)
	l.emit(next, func(q kernels.Queue) error { return l.set.RankOne(q, -1, x(), y(), out()) })
	return true
}

// outputForward fuses A = f(A + 1 bias), S = A W and S = S + 1 c with few columns into one pass
// over A.
func (l *lowering) outputForward(i int, s *plan.BiasActivation) bool {
	if s.A.Rows == 1 || l.window.whole {
		return false
	}
	j := l.find(i, func(t plan.Step) bool {
		p, ok := t.(*plan.Product)
		return ok && p.A == s.A && !p.TransA && narrow(p) && !p.Add && l.eight[p.A.Buffer] == nil
	})
	if j < 0 {
		return false
	}
	p := l.steps[j].(*plan.Product)
	if !l.untouched(i, j, s.A.Buffer, p.Out.Buffer) || !l.unwritten(i, j, p.B.Buffer) {
		return false
	}
	l.markDone(j)
	l.scores(i, j, p, activations[s.Activation], l.wholeView(s.Bias))
	return true
}

// outputScores fuses S = A W and S = S + 1 c into one pass over A.
func (l *lowering) outputScores(i int, p *plan.Product) bool {
	if l.window.whole || p.TransA || !narrow(p) || p.Add || p.Sparse || l.eight[p.A.Buffer] != nil || l.biasOf(i, i, p) < 0 {
		return false
	}
	l.scores(i, i, p, kernels.Identity, noOperand)
	return true
}

// biasOf returns the step after j that adds a row to the product p, if the pass at i can do so;
// else -1.
func (l *lowering) biasOf(i, j int, p *plan.Product) int {
	k := l.find(j, func(t plan.Step) bool {
		b, ok := t.(*plan.BiasActivation)
		return ok && b.A == p.Out && b.Activation == plan.LinearActivation && b.A.Rows > 1
	})
	if k < 0 || !l.untouched(i, k, p.Out.Buffer, p.Out.Buffer) {
		return -1
	}
	return k
}

// scores emits the pass of the product p with few columns at step j, fused with the activation
// before and the row that is added after.
func (l *lowering) scores(i, j int, p *plan.Product, f kernels.Activation, bias func() kernels.Operand) {
	outBias := noOperand
	if k := l.biasOf(i, j, p); k >= 0 {
		outBias = l.wholeView(l.steps[k].(*plan.BiasActivation).Bias)
		l.markDone(k)
	}
	a, w, out := l.view(p.A), l.wholeView(p.B), l.view(p.Out)
	l.emit(p, func(q kernels.Queue) error {
		return l.set.OutputForward(q, kernels.OutputForward{Activation: f, A: a(), Bias: bias(), W: w(), Transposed: p.TransB, Out: out(),
			OutBias: outBias()})
	})
}

// outputBackward fuses DA = D W^T, DA = f'(A) DA, the sums of D and DA over the rows, G = A^T D and
// the quantization of DA, for few columns of D, into one pass over A.
func (l *lowering) outputBackward(i int, s *plan.Product) (done bool, err error) {
	if l.window.whole || s.TransA || s.Add || s.A.Cols > kernels.Narrow || s.Out.Rows < narrowRows || l.eight[s.A.Buffer] != nil {
		return false, nil
	}
	j := l.find(i, func(t plan.Step) bool {
		g, ok := t.(*plan.ActivationGrad)
		return ok && g.D == s.Out
	})
	if j < 0 {
		return false, nil
	}
	grad := l.steps[j].(*plan.ActivationGrad)
	if !l.untouched(i, j, grad.A.Buffer, s.Out.Buffer) || !l.unwritten(i, j, s.A.Buffer) {
		return false, nil
	}
	l.markDone(j)
	a, d, w, da := l.view(grad.A), l.view(s.A), l.wholeView(s.B), l.view(s.Out)
	call := kernels.OutputBackward{Activation: activations[grad.Activation], Transposed: !s.TransB, AddSums: !l.window.first, AddG: !l.window.first}
	bias, outBias, g := l.sumsOf(i, s.Out), l.sumsOf(i, s.A), l.gradientOf(i, grad.A, s.A)
	if call.Quantized, call.Keep, err = l.quantizeFor(i, s.Out); err != nil {
		return false, err
	}
	l.emit(s, func(q kernels.Queue) error {
		c := call
		c.A, c.D, c.W, c.DA = a(), d(), w(), da()
		c.Bias, c.OutBias, c.G = bias(), outBias(), g()
		return l.set.OutputBackward(q, c)
	})
	return true, nil
}

// sumsOf fuses the sums of v's columns after step i into the pass at i; no matrix if there are
// none.
func (l *lowering) sumsOf(i int, v plan.View) func() kernels.Operand {
	j, sums := l.columnSums(i, v)
	if j < 0 {
		return noOperand
	}
	l.markDone(j)
	return l.wholeView(sums.Out)
}

// gradientOf fuses the product A^T D after step i into the pass at i; no matrix if there is none.
func (l *lowering) gradientOf(i int, a, d plan.View) func() kernels.Operand {
	j := l.find(i, func(t plan.Step) bool {
		p, ok := t.(*plan.Product)
		return ok && p.A == a && p.B == d && p.TransA && !p.TransB && !p.Add
	})
	if j < 0 || !l.untouched(i, j, a.Buffer, l.steps[j].(*plan.Product).Out.Buffer) || !l.unwritten(i, j, d.Buffer) {
		return noOperand
	}
	l.markDone(j)
	return l.wholeView(l.steps[j].(*plan.Product).Out)
}
