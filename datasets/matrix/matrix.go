// Package matrix defines the forms of a data matrix: 8-bit values with a scale (Bytes), sparse rows
// (CSR), small integers under standardization (Integers) and floats (Dense, Singles). Data sets
// read their files into these forms, plans refer to them, and devices read them as they are.
//
// Every form implements Matrix, which widens rows to floats. A device that computes with a form
// directly asserts the interface of that form, EightBit or Sparse.
package matrix

import "fmt"

// Float is the element type of widened rows.
type Float interface{ float32 | float64 }

// Matrix is a data matrix in the form in which it was read. Several goroutines may read a matrix
// at the same time.
type Matrix interface {
	// Dims returns the numbers of rows and columns.
	Dims() (rows, cols int)
	// Float32 writes rows [from, to) to dst, row by row, each element rounded once from the
	// float64 value. The length of dst is (to-from)*cols. Float32 panics if the range or the
	// length is wrong.
	Float32(dst []float32, from, to int)
	// Float64 is Float32 in double precision.
	Float64(dst []float64, from, to int)
}

// EightBit is a matrix of 8-bit values v_ij with one scale s: element (i, j) is s v_ij. Bytes
// stores the rows in order; a device may store the values in the layout of its products.
type EightBit interface {
	Matrix
	// ByteScale returns s.
	ByteScale() float64
	// ByteRow returns the values of row i. The result is either the matrix's own memory, which
	// the caller must not modify, or the beginning of buffer, which holds at least one row.
	ByteRow(i int, buffer []uint8) []uint8
}

// Sparse is a matrix that lists its nonzero entries: the entries of row i are starts[i] to
// starts[i+1]-1, with increasing columns. If values is nil, all entries are 1. The slices belong
// to the matrix. They may be a part of a larger matrix's slices: starts[0] is then not 0.
type Sparse interface {
	Matrix
	Entries() (starts []int, columns []int32, values []float64)
}

// A RowStore receives 8-bit rows while a file is read.
type RowStore interface {
	// SetRows sets the values of rows i, i+1, ... and does not keep the slices. Several
	// goroutines may set different rows at the same time.
	SetRows(i int, rows [][]uint8)
}

// Widen writes rows [from, to) of m to dst in the precision of dst.
func Widen[T Float](dst []T, m Matrix, from, to int) {
	switch dst := any(dst).(type) {
	case []float32:
		m.Float32(dst, from, to)
	case []float64:
		m.Float64(dst, from, to)
	}
}

// CheckRows panics unless rows [from, to) exist in m and fill a destination of the given length.
func CheckRows(m Matrix, length, from, to int) {
	rows, cols := m.Dims()
	if from < 0 || to < from || to > rows {
		panic(fmt.Sprintf("matrix: rows [%d, %d) of a matrix of %d rows", from, to, rows))
	}
	if length != (to-from)*cols {
		panic(fmt.Sprintf("matrix: destination holds %d values, %d rows of %d columns need %d",
			length, to-from, cols, (to-from)*cols))
	}
}
