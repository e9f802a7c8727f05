package matrix

import "math"

// Moments returns the center c and the one deviation s that standardize m, x -> (x - c)/s:
//
//	c_j = 1/n sum_i x_ij,    s^2 = 1/(n d) sum_ij (x_ij - c_j)^2
//
// for n rows and d columns: the means of the columns, and one standard deviation of the whole
// centered matrix. The sums are in float64, block by block; for *Bytes they are exact integers
// until the last rounding. s is 0 if all rows are equal or m has no rows: the caller must not
// divide by s.
func Moments(m Matrix) (center []float64, deviation float64) {
	switch m := m.(type) {
	case *Bytes:
		t := NewTally(m.Cols)
		for i := range m.Rows {
			t.Add(m.Data[i*m.Cols : (i+1)*m.Cols])
		}
		return t.Moments(m.Scale)
	case *CSR:
		return csrMoments(m)
	}
	return blockMoments(m)
}

// csrMoments reads the entries only. With n_j entries in column j of n rows,
//
//	sum_i (x_ij - c_j)^2 = (n - n_j) c_j^2 + sum over the entries of (x - c_j)^2
//
// without cancellation.
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
	squares := 0.0
	for j := range center {
		center[j] /= float64(c.Rows)
		squares += float64(c.Rows-entries[j]) * center[j] * center[j]
	}
	each(func(j int32, x float64) { squares += (x - center[j]) * (x - center[j]) })
	return center, math.Sqrt(squares / float64(c.Rows) / float64(c.Cols))
}

// momentRows is the block height of blockMoments: blocks of a few hundred kilobytes for typical
// row lengths.
const momentRows = 64

// blockMoments makes two passes. The second sums squares about the means of the first, so that
// no digits cancel.
func blockMoments(m Matrix) (center []float64, deviation float64) {
	rows, cols := m.Dims()
	center = make([]float64, cols)
	if rows == 0 || cols == 0 {
		return center, 0
	}
	block := make([]float64, min(rows, momentRows)*cols)
	eachRow := func(visit func(row []float64)) {
		for from := 0; from < rows; from += momentRows {
			to := min(from+momentRows, rows)
			part := block[:(to-from)*cols]
			m.Float64(part, from, to)
			for ; len(part) > 0; part = part[cols:] {
				visit(part[:cols])
			}
		}
	}
	eachRow(func(row []float64) {
		for j, x := range row {
			center[j] += x
		}
	})
	for j := range center {
		center[j] /= float64(rows)
	}
	squares := 0.0
	eachRow(func(row []float64) {
		for j, x := range row {
			squares += (x - center[j]) * (x - center[j])
		}
	})
	return center, math.Sqrt(squares / float64(rows) / float64(cols))
}
