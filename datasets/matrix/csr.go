package matrix

// CSR is a matrix in compressed sparse rows: the entries of row i are Starts[i] to
// Starts[i+1]-1, with increasing Columns. Every other element is 0.
type CSR struct {
	Rows, Cols int
	Starts     []int     // Rows+1
	Columns    []int32   // of the entries, from 0
	Values     []float64 // of the entries; nil: all are 1
}

var _ Sparse = (*CSR)(nil)

// Dims returns the numbers of rows and columns.
func (c *CSR) Dims() (rows, cols int) { return c.Rows, c.Cols }

// Entries implements Sparse with the fields.
func (c *CSR) Entries() (starts []int, columns []int32, values []float64) {
	return c.Starts, c.Columns, c.Values
}

// Float32 writes rows [from, to), zeros included, to dst.
func (c *CSR) Float32(dst []float32, from, to int) { widenEntries(dst, c, from, to) }

// Float64 writes rows [from, to), zeros included, to dst.
func (c *CSR) Float64(dst []float64, from, to int) { widenEntries(dst, c, from, to) }

func widenEntries[T Float](dst []T, c *CSR, from, to int) {
	CheckRows(c, len(dst), from, to)
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

// Has reports whether element (i, j) is an entry.
func (c *CSR) Has(i int, j int32) bool {
	for _, column := range c.Columns[c.Starts[i]:c.Starts[i+1]] {
		if column >= j {
			return column == j
		}
	}
	return false
}

// EntryValues returns Values, or as many ones as the matrix has entries if Values is nil.
func (c *CSR) EntryValues() []float64 {
	if c.Values != nil {
		return c.Values
	}
	ones := make([]float64, len(c.Columns))
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

// Select copies the given rows in the given order. Column j of c becomes column place[j] of the
// result, which has cols columns; a negative place drops the column. Places increase with j. A
// nil place keeps all columns.
func (c *CSR) Select(rows []int, place []int32, cols int) *CSR {
	entries := c.CountEntries(rows, place)
	out := &CSR{Starts: make([]int, 0, len(rows)+1), Columns: make([]int32, 0, entries)}
	if c.Values != nil {
		out.Values = make([]float64, 0, entries)
	}
	c.SelectTo(out, rows, place, cols)
	return out
}

// CountEntries returns the number of entries of Select.
func (c *CSR) CountEntries(rows []int, place []int32) (entries int) {
	for _, r := range rows {
		entries += c.Starts[r+1] - c.Starts[r]
		if place == nil {
			continue
		}
		for _, column := range c.Columns[c.Starts[r]:c.Starts[r+1]] {
			if place[column] < 0 {
				entries--
			}
		}
	}
	return entries
}

// SelectTo is Select in the memory of out, whose slices are empty and have room for the rows and
// entries.
func (c *CSR) SelectTo(out *CSR, rows []int, place []int32, cols int) {
	out.Rows, out.Cols, out.Starts = len(rows), cols, append(out.Starts, 0)
	columns, values := out.Columns, out.Values
	for _, r := range rows {
		from, to := c.Starts[r], c.Starts[r+1]
		switch {
		case place == nil:
			columns = append(columns, c.Columns[from:to]...)
			if c.Values != nil {
				values = append(values, c.Values[from:to]...)
			}
		case c.Values == nil:
			for _, column := range c.Columns[from:to] {
				if own := place[column]; own >= 0 {
					columns = append(columns, own)
				}
			}
		default:
			for e, column := range c.Columns[from:to] {
				if own := place[column]; own >= 0 {
					columns, values = append(columns, own), append(values, c.Values[from+e])
				}
			}
		}
		out.Starts = append(out.Starts, len(columns))
	}
	out.Columns, out.Values = columns, values
}

// Stack puts matrices with equal numbers of columns one below the other. Stack needs at least one
// matrix.
func Stack(parts ...*CSR) *CSR {
	rows, entries, valued := 0, 0, false
	for _, p := range parts {
		rows, entries, valued = rows+p.Rows, entries+len(p.Columns), valued || p.Values != nil
	}
	out := &CSR{Rows: rows, Cols: parts[0].Cols, Starts: make([]int, 1, rows+1), Columns: make([]int32, 0, entries)}
	for _, p := range parts {
		for _, end := range p.Starts[1:] {
			out.Starts = append(out.Starts, len(out.Columns)+end)
		}
		if valued {
			out.Values = append(out.Values, p.EntryValues()...)
		}
		out.Columns = append(out.Columns, p.Columns...)
	}
	return out
}
