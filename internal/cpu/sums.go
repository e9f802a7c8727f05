package cpu

import (
	"ppal/internal/plan"
)

// columnSums computes Out[0,j] = sum_i In[i,j], or the sum of all elements, in float64. The order
// is block by block in the order of the rows, then share by share, then column by column.
type columnSums[T plan.Float] struct {
	*slotSums[float64]
	s   *plan.Sums
	one columnSum[T]

	fused bool // a product with 8-bit data adds up the columns
}

func newColumnSums[T plan.Float](s *plan.Sums) *columnSums[T] {
	return &columnSums[T]{slotSums: newFloat64Sums(s.In.Cols), s: s, one: columnSum[T]{s.In}}
}

// shareRows implements summing. A row costs as much as an addition of the sums.
func (c *columnSums[T]) shareRows() int { return sumsShare }

func (c *columnSums[T]) block(_ int, w *worker[T], lo, hi int) error {
	switch {
	case c.fused:
	case c.s.In.Cols == 1:
		c.slots[w.slot][0] += c.one.of(w, lo, hi)
	default:
		w.k.AddColumns(c.slots[w.slot], w.blockOf(c.s.In, lo, hi))
	}
	return nil
}

func (c *columnSums[T]) finish(e *executor[T], roots []int) {
	out, sums := e.Row(c.s.Out, 0), c.total(roots)
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
