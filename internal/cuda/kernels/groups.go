package kernels

import "ppal/internal/cuda/driver"

// VectorGroups divides a vector into consecutive groups, for the block soft threshold
// (problem.GroupL1). Group k has the elements Ends[k-1] to Ends[k]-1, with Ends[-1] = 0; the last
// end is n.
type VectorGroups struct {
	Ends           driver.Pointer // Count int64
	Count, Longest int
}

// GroupFactors sets scales[k] (float64) to the factor max(0, 1 - threshold/||y_k||) of the block
// soft threshold, for group k of y = x - e (d + b (b v + d)). v is not read if b = 0; d = 0 gives y
// = x.
func (s *Set) GroupFactors(q Queue, n int, g VectorGroups, x, d, v driver.Pointer, e, b, threshold Number, scales driver.Pointer) error {
	c := &call{name: "group_factors"}
	parts := c.groups(g)
	c.ints(n)
	c.vectors(s, n, x, d, v)
	c.numbers(e, b, threshold)
	c.reading(g.Ends, 8*g.Count)
	c.ints(g.Count)
	c.writing(scales, 8*g.Count)
	if err := c.partial(q, 8*parts*g.Count, g.Count); err != nil {
		return err
	}
	return s.launch(q, c)
}

// GroupDescend is Descend with the proximal map that multiplies group k by scales[k].
func (s *Set) GroupDescend(q Queue, n int, g VectorGroups, x, d, v driver.Pointer, e, b Number, scales, result driver.Pointer) error {
	c := &call{name: "group_descend"}
	parts := c.groups(g)
	c.ints(n)
	c.updating(x, n*s.dtype.Size())
	c.vectors(s, n, d)
	c.updating(v, n*s.dtype.Size())
	c.numbers(e, b)
	c.reading(g.Ends, 8*g.Count)
	c.ints(g.Count)
	c.reading(scales, 8*g.Count)
	c.writing(result, 16)
	if err := c.partial(q, 16*parts*g.Count, 1); err != nil {
		return err
	}
	return s.launch(q, c)
}

// GroupScale multiplies group k of x by scales[k].
func (s *Set) GroupScale(q Queue, n int, g VectorGroups, x, scales driver.Pointer) error {
	c := &call{name: "group_scale"}
	c.groups(g)
	c.updating(x, n*s.dtype.Size())
	c.reading(g.Ends, 8*g.Count)
	c.ints(g.Count)
	c.reading(scales, 8*g.Count)
	return s.launch(q, c)
}

// groups chooses the blocks of a pass over groups, and returns the number of parts in which a group
// is summed.
func (c *call) groups(g VectorGroups) int {
	parts := min(max(ceil(g.Longest, 4*blockSize), 1), 64)
	c.grid, c.block = [3]int{parts, min(max(g.Count, 1), maxGrid), 1}, [3]int{blockSize, 1, 1}
	return parts
}
