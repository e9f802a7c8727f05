package datasets

// take copies the given rows, in the given order. Column j becomes column place[j], or is left out
// if place[j] is negative; places increase with j. A nil place keeps all columns.
func (c *CSR) take(rows []int, place []int32, cols int) *CSR {
	entries := 0
	for _, r := range rows {
		entries += c.Starts[r+1] - c.Starts[r]
	}
	out := &CSR{Rows: len(rows), Cols: cols, Starts: make([]int, 1, len(rows)+1), Columns: make([]int32, 0, entries)}
	if c.Values != nil {
		out.Values = make([]float64, 0, entries)
	}
	for _, r := range rows {
		for e := c.Starts[r]; e < c.Starts[r+1]; e++ {
			column := c.Columns[e]
			if place != nil {
				column = place[column]
			}
			if column < 0 {
				continue
			}
			out.Columns = append(out.Columns, column)
			if c.Values != nil {
				out.Values = append(out.Values, c.Values[e])
			}
		}
		out.Starts = append(out.Starts, len(out.Columns))
	}
	return out
}

// has reports whether element (i, j) is an entry.
func (c *CSR) has(i int, j int32) bool {
	for _, column := range c.Columns[c.Starts[i]:c.Starts[i+1]] {
		if column == j {
			return true
		}
	}
	return false
}

// stack concatenates matrices with the same number of columns.
func stack(parts ...*CSR) *CSR {
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
			out.Values = append(out.Values, p.entryValues()...)
		}
		out.Columns = append(out.Columns, p.Columns...)
	}
	return out
}

// entryValues returns the values of all entries, also if all of them are 1.
func (c *CSR) entryValues() []float64 {
	if c.Values != nil {
		return c.Values
	}
	ones := make([]float64, len(c.Columns))
	for i := range ones {
		ones[i] = 1
	}
	return ones
}
