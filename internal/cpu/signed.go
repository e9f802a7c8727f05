package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// signs are the margins of a block of rows with one score each. Each worker has room of its own.
type signs[T plan.Float] struct {
	plan.Signs
	scores plan.View
	phi    surrogate[T]
	room   [][]T // by worker
}

func newSigns[T plan.Float](s plan.Signs, scores plan.View, phi surrogate[T], workers int) signs[T] {
	r := signs[T]{s, scores, phi, make([][]T, workers)}
	for t := range r.room {
		r.room[t] = kernel.Alloc[T](2 * kernel.RowBlock)
	}
	return r
}

// negated writes -y S[i] for rows lo to hi-1.
func (r *signs[T]) negated(t int, w *worker[T], lo, hi int) (m, room []T) {
	n := hi - lo
	m, room = r.room[t][:n], r.room[t][n:2*n]
	s, step := w.From(r.scores, lo), r.scores.Stride
	for i, y := range r.Labels[lo:hi] {
		m[i] = -T(y) * s[i*step]
	}
	return m, room
}

// signedLoss is Out[i] = phi(y S[i]).
type signedLoss[T plan.Float] struct {
	signs[T]
	out plan.View
}

func (s *signedLoss[T]) block(t int, w *worker[T], lo, hi int) error {
	m, room := s.negated(t, w, lo, hi)
	s.phi.value(w.k, m, room)
	out, step := w.From(s.out, lo), s.out.Stride
	for i, v := range m {
		out[i*step] = v
	}
	return nil
}

// signedLossGrad is its derivative times D[i], Out[i] = D[i] y phi'(y S[i]), or Out[i] += it.
type signedLossGrad[T plan.Float] struct {
	signs[T]
	d, out plan.View
	add    bool
}

func (s *signedLossGrad[T]) block(t int, w *worker[T], lo, hi int) error {
	m, _ := s.negated(t, w, lo, hi)
	s.phi.slope(w.k, m)
	d, dStep := w.From(s.d, lo), s.d.Stride
	out, step := w.From(s.out, lo), s.out.Stride
	for i, y := range s.Labels[lo:hi] {
		x := float64(d[i*dStep]) * float64(y) * float64(m[i])
		if s.add {
			x += float64(out[i*step])
		}
		out[i*step] = T(x)
	}
	return nil
}
