package cpu

import (
	"ppal/internal/plan"
)

// columnSums computes Out[0,j] = sum_i In[i,j], or the sum of all elements, in float64. The order
// is block by block in the order of the rows, then worker by worker, then column by column.
type columnSums[T plan.Float] struct {
	s    *plan.Sums
	sums [][]float64
	one  columnSum[T]
}

func newColumnSums[T plan.Float](s *plan.Sums, workers int) *columnSums[T] {
	c := &columnSums[T]{s: s, sums: make([][]float64, workers), one: columnSum[T]{s.In}}
	for t := range c.sums {
		c.sums[t] = make([]float64, s.In.Cols)
	}
	return c
}

func (c *columnSums[T]) start(worker int) { clear(c.sums[worker]) }

func (c *columnSums[T]) block(t int, w *worker[T], lo, hi int) error {
	if c.s.In.Cols == 1 {
		c.sums[t][0] += c.one.of(w, lo, hi)
	} else {
		w.k.AddColumns(c.sums[t], w.blockOf(c.s.In, lo, hi))
	}
	return nil
}

func (c *columnSums[T]) finish(e *executor[T], workers int) {
	addPartials(c.sums[0], c.sums[1:workers])
	out, sums := e.Row(c.s.Out, 0), c.sums[0]
	if c.s.Over == plan.OverAll {
		var total float64
		for _, x := range sums {
			total += x
		}
		out[0] = T(total)
		return
	}
	for j := range out {
		out[j] = T(sums[j])
	}
}

// columnSum adds up rows of a single column in float64. columnSum uses kernel.Sum if the column
// has no gaps.
type columnSum[T plan.Float] struct{ in plan.View }

// of returns the sum of rows lo to hi-1.
func (c columnSum[T]) of(w *worker[T], lo, hi int) (sum float64) {
	column := w.From(c.in, lo)
	if c.in.Stride == 1 {
		return w.k.Sum(column[:hi-lo])
	}
	for i := range hi - lo {
		sum += float64(column[i*c.in.Stride])
	}
	return sum
}
