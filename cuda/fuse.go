package cuda

import (
	"slices"

	"ppal/cuda/kernels"
	"ppal/internal/plan"
)

// untouched says whether a pass at i may write a buffer that the plan writes at j, from another one: no step between them writes
// either, or reads the former.
func (l *lowering) untouched(i, j, reads, writes int) bool {
	return l.unwritten(i, j, reads) && l.unwritten(i, j, writes) && !slices.ContainsFunc(l.between(i, j), func(s plan.Step) bool {
		return slices.ContainsFunc(s.Reads(), func(o plan.Operand) bool { return l.shares(o.Buffer, writes) })
	})
}

// unwritten says whether no step between i and j writes a buffer.
func (l *lowering) unwritten(i, j, buffer int) bool {
	return !slices.ContainsFunc(l.between(i, j), func(s plan.Step) bool { return l.shares(s.Writes()[0].Buffer, buffer) })
}

// between lists the steps after i and before j that have no pass yet.
func (l *lowering) between(i, j int) (list []plan.Step) {
	for k := i + 1; k < j; k++ {
		if !l.done[k] {
			list = append(list, l.steps[k])
		}
	}
	return list
}

// shares says whether two buffers have the same memory.
func (l *lowering) shares(a, b int) bool {
	return a == b || l.storage.base[a] == l.storage.base[b] && l.storage.base[a] != 0 &&
		l.plan.Buffers[a].Class != plan.Gradient && l.plan.Buffers[b].Class != plan.Gradient
}

// The forms of a layer's bias with its activation, and of the derivative.
var (
	biasForms = map[string]kernels.Activation{"($0 + $1)": kernels.Identity, "sigmoid(($0 + $1))": kernels.Sigmoid,
		"tanh(($0 + $1))": kernels.Tanh, "relu(($0 + $1))": kernels.ReLU}
	slopeForms = map[string]kernels.Activation{"(sigmoid'($0) * $1)": kernels.Sigmoid, "(tanh'($0) * $1)": kernels.Tanh,
		"(relu'($0) * $1)": kernels.ReLU}
)

// biased recognises out = f(out + 1 bias).
func biased(s *plan.Map) (f kernels.Activation, ok bool) {
	f, ok = biasForms[s.Expr.String()]
	return f, ok && s.Args[0] == s.Out && s.Args[1].Rows == 1 && s.Args[1].Cols == s.Out.Cols && s.Out.Rows > 1
}

// sloped recognises out = f'(a) out.
func sloped(s *plan.Map) (f kernels.Activation, a plan.View, ok bool) {
	if f, ok = slopeForms[s.Expr.String()]; !ok {
		return f, a, false
	}
	a = s.Args[0]
	return f, a, s.Args[1] == s.Out && a.Rows == s.Out.Rows && a.Cols == s.Out.Cols
}

// find returns the first step from i+1 on that is not done and fits, -1 if there is none.
func (l *lowering) find(i int, fits func(s plan.Step) bool) int {
	for j := i + 1; j < len(l.steps); j++ {
		if !l.done[j] && fits(l.steps[j]) {
			return j
		}
	}
	return -1
}

// columnSums finds the sums over the rows of v behind step i, which can be had already there; -1 if there are none.
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

// slopes writes d = f'(a) d, the sums of its columns and d in slices as one pass, where there is more than d to write.
func (l *lowering) slopes(i int, s *plan.Map) (done bool, err error) {
	f, a, ok := sloped(s)
	if !ok {
		return false, nil
	}
	out := func() kernels.Operand { return kernels.Operand{} }
	j, sums := l.columnSums(i, s.Out)
	if j >= 0 {
		l.take(j)
		out = l.wholly(sums.Out)
	}
	cut, keep, err := l.cutFor(i, s.Out)
	if err != nil || j < 0 && !l.isCut(s.Out) {
		return false, err
	}
	from, d := l.view(a), l.view(s.Out)
	call := kernels.Slopes{Activation: f, AddSums: !l.window.first, Cut: cut, Keep: keep}
	l.emit(s, func(q kernels.Queue) error {
		c := call
		c.A, c.D, c.Sums = from(), d(), out()
		return l.set.Slopes(q, c)
	})
	return true, nil
}

// rankOne writes out += x^T y of two rows.
func (l *lowering) rankOne(_ int, s *plan.Product) bool {
	if !s.TransA || s.TransB || s.A.Rows != 1 || !s.Add || !l.window.whole || l.eight[s.A.Buffer] != nil {
		return false
	}
	x, y, out := l.wholly(s.A), l.wholly(s.B), l.wholly(s.Out)
	l.emit(s, func(q kernels.Queue) error { return l.set.RankOne(q, 1, x(), y(), out()) })
	return true
}

// negatedRankOne writes y = -z, out += x^T y as out -= x^T z where nothing else reads y.
func (l *lowering) negatedRankOne(i int, s *plan.Map) bool {
	if s.Expr.String() != "neg($0)" || i+1 >= len(l.steps) || len(l.readers[s.Out.Buffer]) != 1 || !l.window.whole {
		return false
	}
	next, ok := l.steps[i+1].(*plan.Product)
	if !ok || next.B != s.Out || !next.TransA || next.TransB || next.A.Rows != 1 || !next.Add || next.A.Buffer == s.Out.Buffer ||
		l.eight[next.A.Buffer] != nil {
		return false
	}
	l.take(i + 1)
	x, y, out := l.wholly(next.A), l.wholly(s.Args[0]), l.wholly(next.Out)
	l.emit(next, func(q kernels.Queue) error { return l.set.RankOne(q, -1, x(), y(), out()) })
	return true
}

// outputForward writes A = f(A + 1 bias), S = A W and S = S + 1 c, for few columns, as one pass over A.
func (l *lowering) outputForward(i int, s *plan.Map) bool {
	f, ok := biased(s)
	if !ok || l.window.whole {
		return false
	}
	j := l.find(i, func(t plan.Step) bool {
		p, ok := t.(*plan.Product)
		return ok && p.A == s.Out && !p.TransA && narrow(p) && !p.Add && l.eight[p.A.Buffer] == nil
	})
	if j < 0 {
		return false
	}
	p := l.steps[j].(*plan.Product)
	if !l.untouched(i, j, s.Out.Buffer, p.Out.Buffer) || !l.unwritten(i, j, p.B.Buffer) {
		return false
	}
	l.take(j)
	l.scores(i, j, p, f, l.wholly(s.Args[1]))
	return true
}

// outputScores writes S = A W and S = S + 1 c as one pass over A.
func (l *lowering) outputScores(i int, p *plan.Product) bool {
	if l.window.whole || p.TransA || !narrow(p) || p.Add || p.Sparse || l.eight[p.A.Buffer] != nil || l.biasOf(i, i, p) < 0 {
		return false
	}
	l.scores(i, i, p, kernels.Identity, func() kernels.Operand { return kernels.Operand{} })
	return true
}

// biasOf returns the step behind j that adds a row to the product p, which a pass at i can do; -1 where there is none.
func (l *lowering) biasOf(i, j int, p *plan.Product) int {
	k := l.find(j, func(t plan.Step) bool {
		m, ok := t.(*plan.Map)
		if !ok || m.Out != p.Out {
			return false
		}
		g, ok := biased(m)
		return ok && g == kernels.Identity
	})
	if k < 0 || !l.untouched(i, k, p.Out.Buffer, p.Out.Buffer) {
		return -1
	}
	return k
}

// scores emits the pass of a product p with few columns at step j, with what is before it and the row behind.
func (l *lowering) scores(i, j int, p *plan.Product, f kernels.Activation, bias func() kernels.Operand) {
	outBias := func() kernels.Operand { return kernels.Operand{} }
	if k := l.biasOf(i, j, p); k >= 0 {
		outBias = l.wholly(l.steps[k].(*plan.Map).Args[1])
		l.take(k)
	}
	a, w, out := l.view(p.A), l.wholly(p.B), l.view(p.Out)
	l.emit(p, func(q kernels.Queue) error {
		return l.set.OutputForward(q, kernels.OutputForward{Activation: f, A: a(), Bias: bias(), W: w(), Transposed: p.TransB, Out: out(),
			OutBias: outBias()})
	})
}

// outputBackward writes DA = D W^T, DA = f'(A) DA, the sums of both over the rows, G = A^T D and DA in slices, for few columns of D, as one pass
// over A.
func (l *lowering) outputBackward(i int, s *plan.Product) (done bool, err error) {
	if l.window.whole || s.TransA || s.Add || s.A.Cols > kernels.Narrow || s.Out.Rows < narrowRows || l.eight[s.A.Buffer] != nil {
		return false, nil
	}
	j := l.find(i, func(t plan.Step) bool {
		m, ok := t.(*plan.Map)
		if !ok || m.Out != s.Out {
			return false
		}
		_, _, ok = sloped(m)
		return ok
	})
	if j < 0 {
		return false, nil
	}
	f, activations, _ := sloped(l.steps[j].(*plan.Map))
	if !l.untouched(i, j, activations.Buffer, s.Out.Buffer) || !l.unwritten(i, j, s.A.Buffer) {
		return false, nil
	}
	l.take(j)
	a, d, w, da := l.view(activations), l.view(s.A), l.wholly(s.B), l.view(s.Out)
	call := kernels.OutputBackward{Activation: f, Transposed: !s.TransB, AddSums: !l.window.first, AddG: !l.window.first}
	bias, outBias, g := l.sumsOf(i, s.Out), l.sumsOf(i, s.A), l.gradientOf(i, activations, s.A)
	if call.Cut, call.Keep, err = l.cutFor(i, s.Out); err != nil {
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

// sumsOf takes the sums of v's columns behind step i into a pass there; no matrix where there are none.
func (l *lowering) sumsOf(i int, v plan.View) func() kernels.Operand {
	j, sums := l.columnSums(i, v)
	if j < 0 {
		return func() kernels.Operand { return kernels.Operand{} }
	}
	l.take(j)
	return l.wholly(sums.Out)
}

// gradientOf takes the product A^T D behind step i into a pass there; no matrix where there is none.
func (l *lowering) gradientOf(i int, a, d plan.View) func() kernels.Operand {
	j := l.find(i, func(t plan.Step) bool {
		p, ok := t.(*plan.Product)
		return ok && p.A == a && p.B == d && p.TransA && !p.TransB && !p.Add
	})
	if j < 0 || !l.untouched(i, j, a.Buffer, l.steps[j].(*plan.Product).Out.Buffer) || !l.unwritten(i, j, d.Buffer) {
		return func() kernels.Operand { return kernels.Operand{} }
	}
	l.take(j)
	return l.wholly(l.steps[j].(*plan.Product).Out)
}
