package datasets

// CSR is a matrix in compressed sparse rows: the entries of row i are
// Starts[i] to Starts[i+1]-1, with increasing Columns, and every other element
// is 0. LIBSVM files are read into it.
type CSR struct {
	Rows, Cols int
	Starts     []int     // Rows+1
	Columns    []int32   // of the entries, from 0
	Values     []float64 // of the entries; nil: all are 1
}

var _ Matrix = (*CSR)(nil)

// Dims returns the numbers of rows and columns.
func (c *CSR) Dims() (rows, cols int) { return c.Rows, c.Cols }

// Sparse returns the entries in the form of the fields; devices that can work
// on them look for this method. The slices are the matrix's own, not to be
// modified.
func (c *CSR) Sparse() (starts []int, columns []int32, values []float64) {
	return c.Starts, c.Columns, c.Values
}

// Float32 writes rows [from, to), zeros included, into dst.
func (c *CSR) Float32(dst []float32, from, to int) { spread(c, dst, from, to) }

// Float64 writes rows [from, to), zeros included, into dst.
func (c *CSR) Float64(dst []float64, from, to int) { spread(c, dst, from, to) }

func spread[T float32 | float64](c *CSR, dst []T, from, to int) {
	checkBlock(c, len(dst), from, to)
	clear(dst)
	for i := from; i < to; i++ {
		row := dst[(i-from)*c.Cols:][:c.Cols]
		for e := c.Starts[i]; e < c.Starts[i+1]; e++ {
			if c.Values == nil {
				row[c.Columns[e]] = 1
			} else {
				row[c.Columns[e]] = T(c.Values[e])
			}
		}
	}
}
