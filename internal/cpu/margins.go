package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// margins are the margins of a block of rows, of all classes but a row's own, side by side. Each worker has room of its own.
type margins[T plan.Float] struct {
	plan.Margins
	scores plan.View
	phi    surrogate[T]
	room   [][]T // by worker
}

func newMargins[T plan.Float](m plan.Margins, scores plan.View, phi surrogate[T], workers int) margins[T] {
	r := margins[T]{m, scores, phi, make([][]T, workers)}
	for t := range r.room {
		r.room[t] = kernel.Alloc[T](2 * kernel.RowBlock * max(1, scores.Cols-1))
	}
	return r
}

// negated writes S[i,j] - S[i,c], c = Labels[i], for rows lo to hi-1 and all j but c; 0 for equal scores, infinite ones too.
func (r *margins[T]) negated(t int, w *worker[T], lo, hi int) (m, room []T) {
	n := (hi - lo) * (r.scores.Cols - 1)
	m, room = r.room[t][:n], r.room[t][n:2*n]
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
	return m, room
}

// marginLoss is Out[i] = sum_{j != c} phi(S[i,c] - S[i,j]), the sum in float64.
type marginLoss[T plan.Float] struct {
	margins[T]
	out plan.View
}

func (s *marginLoss[T]) block(t int, w *worker[T], lo, hi int) error {
	m, room := s.negated(t, w, lo, hi)
	s.phi.value(w.k, m, room)
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

// marginLossGrad is its derivative times D[i], the sum for the own class in float64.
type marginLossGrad[T plan.Float] struct {
	margins[T]
	d, out plan.View
}

func (s *marginLossGrad[T]) block(t int, w *worker[T], lo, hi int) error {
	m, _ := s.negated(t, w, lo, hi)
	s.phi.slope(w.k, m)
	at := 0
	for i := lo; i < hi; i++ {
		out, c, dl := w.Row(s.out, i), int(s.Labels[i]), float64(w.Row(s.d, i)[0])
		var sum float64
		for j := range out {
			if j == c {
				continue
			}
			d := dl * float64(m[at])
			out[j] = T(-d)
			sum += d
			at++
		}
		out[c] = T(sum)
	}
	return nil
}
