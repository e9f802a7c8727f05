package kernels

import (
	"fmt"

	"ppal/internal/plan"
)

const overRows = plan.OverRows

// Sums sets out to the sums of in over an axis, in float64 and in a fixed order. out is 1 x in.Cols
// for OverRows, in.Rows x 1 for OverColumns and 1 x 1 for OverAll. add accumulates into out.
func (s *Set) Sums(q Queue, over plan.Axis, in, out Operand, add bool) error {
	if in.Rows == 0 || in.Cols == 0 {
		return s.clearUnless(q, add, out)
	}
	switch over {
	case plan.OverRows:
		return s.WeightedSums(q, 1, Operand{}, in, out, add)
	case plan.OverColumns:
		c := &call{name: "row_sums"}
		x := atLeast(in.Cols, 32)
		c.grid, c.block = [3]int{min(ceil(in.Rows, blockSize/x), 2048), 1, 1}, [3]int{x, blockSize / x, 1}
		c.in(s, in)
		c.ints(in.Rows, in.Cols)
		c.sum(s, out, add)
		return s.launch(q, c)
	case plan.OverAll:
		c := &call{name: "total_sum"}
		x := atLeast(in.Cols, 128)
		c.grid, c.block = [3]int{min(ceil(in.Rows, 4*blockSize/x), 256), 1, 1}, [3]int{x, blockSize / x, 1}
		c.in(s, in)
		c.ints(in.Rows, in.Cols)
		c.sum(s, out, add)
		if err := c.partial(q, 8*c.grid[0], 1); err != nil {
			return err
		}
		return s.launch(q, c)
	}
	return fmt.Errorf("kernels: no sums over axis %d", over)
}

// WeightedSums sets out = alpha w B (1 x B.Cols) for a row w (1 x B.Rows), in float64. A w that is
// not given is a row of ones. add accumulates into out.
func (s *Set) WeightedSums(q Queue, alpha float64, w, b, out Operand, add bool) error {
	if b.Rows == 0 || b.Cols == 0 {
		return s.clearUnless(q, add, out)
	}
	c := &call{name: "column_sums"}
	parts := c.columnSums(b.Rows, b.Cols)
	c.numbers(Value(alpha))
	c.in(s, w, b)
	c.ints(b.Rows, b.Cols)
	c.sum(s, out, add)
	if err := c.partial(q, 8*parts*b.Cols, c.grid[0]); err != nil {
		return err
	}
	return s.launch(q, c)
}

// columnSums chooses the blocks of sums over rows, and returns the number of parts in which the
// rows are summed.
func (c *call) columnSums(rows, cols int) int {
	x := atLeast(cols, 32)
	tiles, y := ceil(cols, x), blockSize/x
	// A part has at least 8 rows a thread, and there are about a thousand blocks.
	parts := min(max(ceil(rows, 8*y), 1), max(1, ceil(1024, tiles)), 256)
	c.grid, c.block = [3]int{tiles, parts, 1}, [3]int{x, y, 1}
	return parts
}

// sum adds the matrix that receives sums, and whether they are accumulated.
func (c *call) sum(s *Set, out Operand, add bool) {
	if add {
		c.inPlace(s, out)
	} else {
		c.out(s, out)
	}
	c.flag(add)
}

// clearUnless sets an empty sum to 0, unless the sum is accumulated.
func (s *Set) clearUnless(q Queue, add bool, out Operand) error {
	if add || !out.isSet() {
		return nil
	}
	for i := range out.Rows {
		if err := q.Clear(out.At.Offset(i*out.Stride*s.dtype.Size()), out.Cols*s.dtype.Size()); err != nil {
			return err
		}
	}
	return nil
}
