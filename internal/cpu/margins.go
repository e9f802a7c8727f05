package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// margins computes the margins of a block of rows for all classes except a row's own class, side
// by side. Each worker has its own memory.
type margins[T plan.Float] struct {
	describe.Margins
	scores  plan.View
	phi     kernel.Loss
	buffers [][]T // margins of a block, by worker
	ones    []T
}

// newMargins returns false for surrogates that the kernels do not support.
func newMargins[T plan.Float](m describe.Margins, scores plan.View, workers int) (r margins[T], known bool) {
	phi, known := kernelLoss(m.Phi)
	if !known {
		return r, false
	}
	n := kernel.RowBlock * (scores.Cols - 1)
	r = margins[T]{m, scores, phi, make([][]T, workers), kernel.Alloc[T](n)}
	fill(r.ones, 1)
	for t := range r.buffers {
		r.buffers[t] = kernel.Alloc[T](n)
	}
	return r, true
}

// negated returns S[i,j] - S[i,c], c = Labels[i], for rows lo to hi-1 and all j except c. The
// value is 0 for equal scores, also if both scores are infinite. negated also returns a vector of
// ones with the same length, because the kernels treat the margins as scores with the label -1.
func (r *margins[T]) negated(t int, w *worker[T], lo, hi int) (m, ones []T) {
	n := (hi - lo) * (r.scores.Cols - 1)
	m = r.buffers[t][:n]
	at := 0
	for i := lo; i < hi; i++ {
		row, c := w.Row(r.scores, i), int(r.Labels[i])
		own := row[c]
		for j, s := range row {
			if j == c {
				continue
			}
			if d := s - own; s != own {
				m[at] = d
			} else {
				m[at] = 0
			}
			at++
		}
	}
	return m, r.ones[:n]
}

// marginLoss computes Out[i] = sum_{j != c} phi(S[i,c] - S[i,j]). The sum is in float64.
type marginLoss[T plan.Float] struct {
	margins[T]
	out plan.View
}

// newMarginLoss returns nil if the kernels do not support the surrogate.
func newMarginLoss[T plan.Float](s *plan.MarginLoss, workers int) *marginLoss[T] {
	m, known := newMargins[T](s.Margins, s.S, workers)
	if !known {
		return nil
	}
	return &marginLoss[T]{m, s.Out}
}

func (s *marginLoss[T]) block(t int, w *worker[T], lo, hi int) error {
	m, ones := s.negated(t, w, lo, hi)
	w.k.SignedLoss(s.phi, m, m, ones)
	others := s.scores.Cols - 1
	for i := lo; i < hi; i++ {
		var sum float64
		for _, v := range m[:others] {
			sum += float64(v)
		}
		w.Row(s.out, i)[0] = T(sum)
		m = m[others:]
	}
	return nil
}

// marginLossGrad computes the derivative of marginLoss times D[i]. The sum for the row's own class
// is in float64.
type marginLossGrad[T plan.Float] struct {
	margins[T]
	d, out plan.View
}

// newMarginLossGrad returns nil if the kernels do not support the surrogate.
func newMarginLossGrad[T plan.Float](s *plan.MarginLossGrad, workers int) *marginLossGrad[T] {
	m, known := newMargins[T](s.Margins, s.S, workers)
	if !known {
		return nil
	}
	return &marginLossGrad[T]{m, s.D, s.Out}
}

func (s *marginLossGrad[T]) block(t int, w *worker[T], lo, hi int) error {
	m, ones := s.negated(t, w, lo, hi)
	w.k.SignedLossGrad(s.phi, m, m, ones, ones, false) // -phi'
	at := 0
	for i := lo; i < hi; i++ {
		out, c, dl := w.Row(s.out, i), int(s.Labels[i]), float64(w.Row(s.d, i)[0])
		var sum float64
		for j := range out {
			if j == c {
				continue
			}
			d := dl * float64(m[at])
			out[j] = T(d)
			sum -= d
			at++
		}
		out[c] = T(sum)
	}
	return nil
}
