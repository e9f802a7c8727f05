package cpu

import "ppal/internal/plan"

// signedLoss is Out[i] = phi(y S[i]) for the surrogates that the kernels have the functions of, in T.
type signedLoss[T plan.Float] struct {
	s     *plan.SignedLoss
	minus []T // -y
	pass  func(w *worker[T], out, s, minus []T)
}

// newSignedLoss returns nil for a surrogate that has no pass.
func newSignedLoss[T plan.Float](s *plan.SignedLoss) *signedLoss[T] {
	pass := map[string]func(w *worker[T], out, s, minus []T){
		"sigmoid": sigmoidLosses[T], "logistic": logisticLosses[T], "hinge": hingeLosses[T],
	}[s.Phi.String()]
	if pass == nil || s.S.Cols != 1 || s.S.Stride != 1 || s.Out.Stride != 1 {
		return nil
	}
	return &signedLoss[T]{s, minusLabels[T](s.Signs), pass}
}

// minusLabels are -y.
func minusLabels[T plan.Float](s plan.Signs) []T {
	minus := make([]T, len(s.Labels))
	for i, y := range s.Labels {
		minus[i] = T(-y)
	}
	return minus
}

func (l *signedLoss[T]) prepare(*executor[T]) {}

func (l *signedLoss[T]) block(_ int, w *worker[T], lo, hi int) error {
	l.pass(w, w.From(l.s.Out, lo)[:hi-lo], w.From(l.s.S, lo)[:hi-lo], l.minus[lo:hi])
	return nil
}

func (l *signedLoss[T]) finish(*executor[T], int) {}

// sigmoidLosses is 1/(1 + e^(y s)).
func sigmoidLosses[T plan.Float](w *worker[T], out, s, minus []T) {
	s, minus = s[:len(out)], minus[:len(out)]
	for i := range out {
		out[i] = minus[i] * s[i]
	}
	w.k.Sigmoid(out, out)
}

// logisticLosses is max(0, -y s) + log(1 + e^-|s|).
func logisticLosses[T plan.Float](w *worker[T], out, s, minus []T) {
	s, minus = s[:len(out)], minus[:len(out)]
	tail := w.row(0, len(out))
	for i, v := range s {
		tail[i] = -abs(v)
	}
	w.k.Exp(tail, tail)
	w.k.Log1p(tail, tail)
	for i := range out {
		out[i] = max(0, minus[i]*s[i]) + tail[i]
	}
}

// hingeLosses is max(0, 1 - y s).
func hingeLosses[T plan.Float](_ *worker[T], out, s, minus []T) {
	s, minus = s[:len(out)], minus[:len(out)]
	for i := range out {
		out[i] = max(0, 1+minus[i]*s[i])
	}
}

func abs[T plan.Float](v T) T { return max(v, -v) }

// signedLossGrad is Out[i] = D[i] y phi'(y S[i]), or Out += it.
type signedLossGrad[T plan.Float] struct {
	s     *plan.SignedLossGrad
	minus []T
	// slopes writes -phi'(y s), in [0, 1].
	slopes func(w *worker[T], to, s, minus []T)
}

// newSignedLossGrad returns nil for a surrogate that has no pass.
func newSignedLossGrad[T plan.Float](s *plan.SignedLossGrad) *signedLossGrad[T] {
	slopes := map[string]func(w *worker[T], to, s, minus []T){
		"sigmoid": sigmoidSlopes[T], "logistic": sigmoidLosses[T], "hinge": hingeSlopes[T],
	}[s.Phi.String()]
	if slopes == nil || s.S.Cols != 1 || s.S.Stride != 1 || s.D.Stride != 1 || s.Out.Stride != 1 {
		return nil
	}
	return &signedLossGrad[T]{s, minusLabels[T](s.Signs), slopes}
}

func (g *signedLossGrad[T]) prepare(*executor[T]) {}

func (g *signedLossGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	n := hi - lo
	slope, minus := w.row(0, n), g.minus[lo:hi]
	g.slopes(w, slope, w.From(g.s.S, lo)[:n], minus)
	out, d := w.From(g.s.Out, lo)[:n], w.From(g.s.D, lo)[:n]
	if g.s.Add {
		for i, v := range slope {
			out[i] += d[i] * minus[i] * v
		}
		return nil
	}
	for i, v := range slope {
		out[i] = d[i] * minus[i] * v
	}
	return nil
}

func (g *signedLossGrad[T]) finish(*executor[T], int) {}

// sigmoidSlopes is p (1 - p) with p = 1/(1 + e^|s|), the smaller of the sigmoid's two sides: exact in the tails.
func sigmoidSlopes[T plan.Float](w *worker[T], to, s, _ []T) {
	for i, v := range s {
		to[i] = -abs(v)
	}
	w.k.Sigmoid(to, to)
	for i, p := range to {
		to[i] = p * (1 - p)
	}
}

// hingeSlopes is 1 below the kink y s = 1 and 0 from there on.
func hingeSlopes[T plan.Float](_ *worker[T], to, s, minus []T) {
	s, minus = s[:len(to)], minus[:len(to)]
	for i := range to {
		switch above := 1 + minus[i]*s[i]; {
		case above > 0:
			to[i] = 1
		case above <= 0:
			to[i] = 0
		default:
			to[i] = above // NaN
		}
	}
}
