package datasets

import "math"

// csrMoments computes the moments from the entries only. With n_j entries in column j of n rows,
//
//	sum_i (x_ij - c_j)^2 = (n - n_j) c_j^2 + sum over the entries of (x - c_j)^2
//
// has no cancellation of digits.
func csrMoments(c *CSR) (center []float64, deviation float64) {
	center, entries := make([]float64, c.Cols), make([]int, c.Cols)
	if c.Rows == 0 || c.Cols == 0 {
		return center, 0
	}
	each := func(visit func(j int32, x float64)) {
		for e := c.Starts[0]; e < c.Starts[c.Rows]; e++ {
			if c.Values == nil {
				visit(c.Columns[e], 1)
			} else {
				visit(c.Columns[e], c.Values[e])
			}
		}
	}
	each(func(j int32, x float64) {
		center[j] += x
		entries[j]++
	})
	spread := 0.0
	for j := range center {
		center[j] /= float64(c.Rows)
		spread += float64(c.Rows-entries[j]) * center[j] * center[j]
	}
	each(func(j int32, x float64) { spread += (x - center[j]) * (x - center[j]) })
	return center, math.Sqrt(spread / float64(c.Rows) / float64(c.Cols))
}
