package cpu

import (
	"slices"

	"ppal/internal/plan"
)

// rowRanges holds groups of consecutive rows, for example the rows of a class. Group k has the rows
// starts[k] to starts[k+1]-1.
type rowRanges struct{ starts []int }

// size returns the number of rows of group k.
func (r rowRanges) size(k int) float64 { return float64(r.starts[k+1] - r.starts[k]) }

// within calls do for every group that has rows in lo to hi-1, in order, with these rows.
func (r rowRanges) within(lo, hi int, do func(k, from, to int)) {
	after, _ := slices.BinarySearch(r.starts, lo+1) // the first group that begins after lo
	for k := max(0, after-1); k+1 < len(r.starts) && r.starts[k] < hi; k++ {
		if from, to := max(lo, r.starts[k]), min(hi, r.starts[k+1]); from < to {
			do(k, from, to)
		}
	}
}

// rangeMeans computes Out = M In - Offsets for groups of consecutive rows. Sums are in float64,
// block by block in the rows' order (columnSum), then share by share.
type rangeMeans[T plan.Float] struct {
	*slotSums[float64]
	s    *plan.GroupMeans
	rows rowRanges
	in   columnSum[T]
}

func newRangeMeans[T plan.Float](s *plan.GroupMeans) *rangeMeans[T] {
	return &rangeMeans[T]{newFloat64Sums(s.Count), s, rowRanges{s.Starts}, columnSum[T]{s.In}}
}

func (m *rangeMeans[T]) shareRows() int { return rowsForSums(m.s.Count) }

func (m *rangeMeans[T]) block(_ int, w *worker[T], lo, hi int) error {
	sums := m.slots[w.slot]
	m.rows.within(lo, hi, func(k, from, to int) { sums[k] += m.in.of(w, from, to) })
	return nil
}

func (m *rangeMeans[T]) finish(e *executor[T], roots []int) {
	for k, sum := range m.total(roots) {
		writeMean(e, m.s, k, sum)
	}
}

// writeMean writes the mean of group k, given the sum.
func writeMean[T plan.Float](e *executor[T], s *plan.GroupMeans, k int, sum float64) {
	mean := sum / rowRanges{s.Starts}.size(k)
	if s.Offsets != nil {
		mean -= s.Offsets[k]
	}
	e.Row(s.Out, k)[0] = T(mean)
}

// rangeMeansGrad computes Out = M^T W, or Out += M^T W, for groups of consecutive rows.
type rangeMeansGrad[T plan.Float] struct {
	s    *plan.GroupMeansGrad
	rows rowRanges
}

func (g *rangeMeansGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	out, step := w.From(g.s.Out, lo), g.s.Out.Stride
	if !g.s.Add && step == 1 {
		g.fill(w, out[:hi-lo], lo)
		return nil
	}
	if !g.s.Add {
		for i := range hi - lo {
			out[i*step] = 0
		}
	}
	g.rows.within(lo, hi, func(k, from, to int) {
		x := float64(w.Row(g.s.W, k)[0]) / g.rows.size(k)
		for i := from - lo; i < to-lo; i++ {
			out[i*step] = T(float64(out[i*step]) + x)
		}
	})
	return nil
}

// fill writes M^T W for the rows from lo on.
func (g *rangeMeansGrad[T]) fill(w *worker[T], out []T, lo int) {
	if g.s.Starts[0] > lo || g.s.Starts[g.s.Count] < lo+len(out) {
		clear(out) // rows in no group
	}
	g.rows.within(lo, lo+len(out), func(k, from, to int) {
		fill(out[from-lo:to-lo], T(float64(w.Row(g.s.W, k)[0])/g.rows.size(k)))
	})
}
