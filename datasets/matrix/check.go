package matrix

import (
	"fmt"
	"math"
)

// Check returns an error if the data of a Dense, Singles, Bytes or Integers does not fit the
// numbers of rows and columns. Other matrices pass; devices check sparse rows.
func Check(m Matrix) error {
	switch m := m.(type) {
	case *Dense:
		if m == nil {
			return fmt.Errorf("the matrix is nil")
		}
		return checkSize("Data", m.Rows, m.Cols, len(m.Data))
	case *Singles:
		if m == nil {
			return fmt.Errorf("the matrix is nil")
		}
		return checkSize("Data", m.Rows, m.Cols, len(m.Data))
	case *Bytes:
		if m == nil {
			return fmt.Errorf("the matrix is nil")
		}
		return checkSize("Data", m.Rows, m.Cols, len(m.Data))
	case *Integers:
		if m == nil || m.Values == nil {
			return fmt.Errorf("the matrix is nil, or has no Values")
		}
		for _, list := range [][]float64{m.First, m.Stretch, m.Center, m.Deviation} {
			if len(list) != m.Values.Cols {
				return fmt.Errorf("%d numbers for %d columns: First, Stretch, Center and Deviation have a number for each column", len(list), m.Values.Cols)
			}
		}
		return Check(m.Values)
	}
	return nil
}

// checkSize compares the length of the data with rows times cols.
func checkSize(name string, rows, cols, length int) error {
	if rows < 0 || cols < 0 || length != rows*cols {
		return fmt.Errorf("%s has %d numbers, want %d for %d rows of %d columns", name, length, rows*cols, rows, cols)
	}
	return nil
}

// FirstNonFinite returns the first element, row by row, that is infinite or not a number. ok is
// false if all elements are finite.
func FirstNonFinite(m Matrix) (row, col int, value float64, ok bool) {
	if _, bytes := m.(EightBit); bytes {
		return 0, 0, 0, false
	}
	if s, sparse := m.(Sparse); sparse {
		starts, columns, values := s.Entries()
		for i := 0; values != nil && i+1 < len(starts); i++ {
			for e := max(0, starts[i]); e < min(starts[i+1], len(values), len(columns)); e++ {
				if v := values[e]; math.IsNaN(v) || math.IsInf(v, 0) {
					return i, int(columns[e]), v, true
				}
			}
		}
		return 0, 0, 0, false
	}
	rows, cols := m.Dims()
	if cols == 0 {
		return 0, 0, 0, false
	}
	block := max(1, 1<<14/cols)
	buffer := make([]float64, block*cols)
	for from := 0; from < rows; from += block {
		to := min(from+block, rows)
		m.Float64(buffer[:(to-from)*cols], from, to)
		for k, v := range buffer[:(to-from)*cols] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return from + k/cols, k % cols, v, true
			}
		}
	}
	return 0, 0, 0, false
}
