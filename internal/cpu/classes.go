package cpu

import (
	"slices"

	"ppal/internal/plan"
)

// classes are groups of consecutive rows, those of a class for instance: group k is rows starts[k] to starts[k+1]-1.
type classes struct{ starts []int }

// size is the number of rows of group k.
func (c classes) size(k int) float64 { return float64(c.starts[k+1] - c.starts[k]) }

// within calls do for every group with rows among lo to hi-1, in order, with those rows.
func (c classes) within(lo, hi int, do func(k, from, to int)) {
	after, _ := slices.BinarySearch(c.starts, lo+1) // the first group that begins after lo
	for k := max(0, after-1); k+1 < len(c.starts) && c.starts[k] < hi; k++ {
		if from, to := max(lo, c.starts[k]), min(hi, c.starts[k+1]); from < to {
			do(k, from, to)
		}
	}
}

// classMeans is Out = M In - Offsets for groups of consecutive rows, sums in float64 block by block in the rows' order (see
// columnSum), then by worker.
type classMeans[T plan.Float] struct {
	s    *plan.GroupMeans
	rows classes
	in   columnSum[T]
	sums [][]float64 // by worker
}

func newClassMeans[T plan.Float](s *plan.GroupMeans, workers int) *classMeans[T] {
	m := &classMeans[T]{s, classes{s.Starts}, columnSum[T]{s.In}, make([][]float64, workers)}
	for t := range m.sums {
		m.sums[t] = make([]float64, s.Count)
	}
	return m
}

func (m *classMeans[T]) start(worker int) { clear(m.sums[worker]) }

func (m *classMeans[T]) block(t int, w *worker[T], lo, hi int) error {
	m.rows.within(lo, hi, func(k, from, to int) { m.sums[t][k] += m.in.of(w, from, to) })
	return nil
}

func (m *classMeans[T]) finish(e *executor[T], workers int) {
	addPartials(m.sums[0], m.sums[1:workers])
	for k, sum := range m.sums[0] {
		writeMean(e, m.s, k, sum)
	}
}

// writeMean writes the mean of class k, given its sum.
func writeMean[T plan.Float](e *executor[T], s *plan.GroupMeans, k int, sum float64) {
	mean := sum / classes{s.Starts}.size(k)
	if s.Offsets != nil {
		mean -= s.Offsets[k]
	}
	e.Row(s.Out, k)[0] = T(mean)
}

// classMeansGrad is Out = M^T W, or Out += it, for groups of consecutive rows.
type classMeansGrad[T plan.Float] struct {
	s    *plan.GroupMeansGrad
	rows classes
}

func (g *classMeansGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
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

// fill writes rows lo.. of M^T W without gaps.
func (g *classMeansGrad[T]) fill(w *worker[T], out []T, lo int) {
	if g.s.Starts[0] > lo || g.s.Starts[g.s.Count] < lo+len(out) {
		clear(out) // rows in no group
	}
	g.rows.within(lo, lo+len(out), func(k, from, to int) {
		fill(out[from-lo:to-lo], T(float64(w.Row(g.s.W, k)[0])/g.rows.size(k)))
	})
}
