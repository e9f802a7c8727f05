package kernels

import "ppal/internal/cuda/driver"

// Sparse is a CSR matrix on the device: row i has the entries Starts[i] to Starts[i+1]-1.
type Sparse struct {
	Rows, Cols, Entries int
	Longest             int            // entries of the longest row
	Starts              driver.Pointer // Rows + 1 int64
	Columns             driver.Pointer // int32
	Values              driver.Pointer // in the set's dtype; 0: all values are 1
}

// Transpose returns the transpose of a CSR matrix with the given number of columns, with increasing
// rows in each column. values may be nil, all ones; then tvalues is nil.
func Transpose(cols int, starts []int, columns []int32, values []float64) (tstarts []int, trows []int32, tvalues []float64) {
	rows := len(starts) - 1
	first, n := starts[0], starts[rows]-starts[0]
	tstarts, trows = make([]int, cols+1), make([]int32, n)
	if values != nil {
		tvalues = make([]float64, n)
	}
	for _, j := range columns[first : first+n] {
		tstarts[j+1]++
	}
	for j := range cols {
		tstarts[j+1] += tstarts[j]
	}
	next := make([]int, cols)
	copy(next, tstarts)
	for i := range rows {
		for e := starts[i]; e < starts[i+1]; e++ {
			at := &next[columns[e]]
			trows[*at] = int32(i)
			if values != nil {
				tvalues[*at] = values[e]
			}
			*at++
		}
	}
	return tstarts, trows, tvalues
}

const (
	// Rows with more than longRow entries have their own blocks of threads.
	longRow = 512
	// A block sums longPart entries of a long row, and more if that takes more than longParts parts.
	longPart  = 2048
	longParts = 64
)

// maxBlockZ is CUDA's limit for the third dimension of a block.
const maxBlockZ = 64

// SparseProduct sets out = X B (X.Rows x B.Cols) for a sparse X. Sums are float64 in a fixed order.
// For X^T D, x is the Transpose of X. add accumulates into out.
func (s *Set) SparseProduct(q Queue, x Sparse, b, out Operand, add bool) error {
	if x.Rows == 0 || b.Cols == 0 {
		return nil
	}
	c := &call{name: "sparse_rows"}
	width := atLeast(b.Cols, 32)
	c.block = [3]int{width, blockSize / width, 1}
	parts := min(ceil(x.Longest, longPart), longParts)
	if x.Longest > longRow {
		c.name = "sparse_long_rows"
		c.grid = [3]int{ceil(b.Cols, width), parts, min(x.Rows, maxGrid)}
	} else {
		mean := ceil(x.Entries, x.Rows)
		lanes := atLeast(ceil(mean, 4), 32/width)
		c.block = [3]int{width, lanes, min(blockSize/(width*lanes), maxBlockZ)}
		c.grid = [3]int{min(ceil(x.Rows, c.block[2]), 4096), ceil(b.Cols, width), 1}
	}
	c.reading(x.Starts, 8*(x.Rows+1))
	c.reading(x.Columns, 4*x.Entries)
	c.reading(x.Values, x.Entries*s.dtype.Size())
	c.ints(x.Rows)
	c.in(s, b)
	c.ints(b.Cols)
	c.sum(s, out, add)
	if x.Longest > longRow {
		if err := c.partial(q, 8*parts*x.Rows*b.Cols, x.Rows*c.grid[0]); err != nil {
			return err
		}
	}
	return s.launch(q, c)
}
