package datasets

import (
	"fmt"
	"math"
)

// Matrix is a data matrix in the form in which it was read. It gives its rows
// widened to floating point, a block at a time, so that nobody needs a
// floating-point copy of the whole. Devices that can work on the stored form
// itself look for a method (Bytes, Sparse).
type Matrix interface {
	// Dims returns the numbers of rows and columns.
	Dims() (rows, cols int)
	// Float32 writes rows [from, to) row by row into dst, whose length must be
	// (to-from)*cols. It panics when the range or the length is wrong.
	Float32(dst []float32, from, to int)
	// Float64 is Float32 in double precision.
	Float64(dst []float64, from, to int)
}

// checkBlock panics where rows [from, to) are not m's or do not fill a
// destination of length.
func checkBlock(m Matrix, length, from, to int) {
	rows, cols := m.Dims()
	if from < 0 || to < from || to > rows {
		panic(fmt.Sprintf("datasets: rows [%d, %d) of a matrix of %d rows", from, to, rows))
	}
	if length != (to-from)*cols {
		panic(fmt.Sprintf("datasets: destination holds %d values, %d rows of %d columns need %d",
			length, to-from, cols, (to-from)*cols))
	}
}

// Bytes is a matrix of 8-bit values with one common scale:
// element (i, j) = Data[i*Cols+j] * Scale. For pixels in [0, 1], Scale is 1/255.
type Bytes struct {
	Rows, Cols int
	Data       []uint8 // row by row, Rows*Cols values
	Scale      float64
}

var _ Matrix = (*Bytes)(nil)

// PixelScale maps 8-bit pixels onto [0, 1].
const PixelScale = 1.0 / 255

// Dims returns the numbers of rows and columns.
func (b *Bytes) Dims() (rows, cols int) { return b.Rows, b.Cols }

// Bytes returns the values and their scale; devices that can work on them look
// for this method. The slice is the matrix's own, not to be modified.
func (b *Bytes) Bytes() (values []uint8, scale float64) { return b.Data, b.Scale }

// NewBytes returns a matrix of zeros.
func NewBytes(rows, cols int, scale float64) *Bytes {
	return &Bytes{Rows: rows, Cols: cols, Data: make([]uint8, rows*cols), Scale: scale}
}

// SetRows implements RowStore.
func (b *Bytes) SetRows(i int, rows [][]uint8) {
	for k, row := range rows {
		copy(b.Data[(i+k)*b.Cols:(i+k+1)*b.Cols], row)
	}
}

// SetScale changes the scale.
func (b *Bytes) SetScale(scale float64) { b.Scale = scale }

// Float32 writes rows [from, to), scaled and then rounded once, into dst.
func (b *Bytes) Float32(dst []float32, from, to int) {
	widen(b, dst, from, to)
}

// Float64 writes rows [from, to), scaled, into dst.
func (b *Bytes) Float64(dst []float64, from, to int) {
	widen(b, dst, from, to)
}

// widen goes through a table of the 256 possible values: one load an element,
// and the same rounding for both widths.
func widen[T float32 | float64](b *Bytes, dst []T, from, to int) {
	checkBlock(b, len(dst), from, to)
	src := b.Data[from*b.Cols : to*b.Cols]
	var table [256]T
	for v := range table {
		table[v] = T(float64(v) * b.Scale)
	}
	for i, v := range src {
		dst[i] = table[v]
	}
}

// Moments returns the centre c and the one deviation s that standardise m,
// x -> (x - c)/s:
//
//	c_j = 1/n sum_i x_ij,    s^2 = 1/(n d) sum_ij (x_ij - c_j)^2
//
// for n rows and d columns: the columns' means, and one standard deviation of
// the whole centred matrix. The sums are in float64, block by block; for
// *Bytes they are exact integers until the last rounding. s is 0 when all rows
// are equal (or there are none): such a matrix cannot be standardised, and the
// caller must not divide by s.
func Moments(m Matrix) (center []float64, deviation float64) {
	switch m := m.(type) {
	case *Bytes:
		t := newTally(m.Cols)
		for i := range m.Rows {
			t.add(m.Data[i*m.Cols : (i+1)*m.Cols])
		}
		return t.moments(m.Scale)
	case *CSR:
		return csrMoments(m)
	}
	return blockMoments(m)
}

// momentRows is the block height of blockMoments: a few hundred kilobytes for
// the row lengths at hand.
const momentRows = 64

// blockMoments takes two passes, the second about the means of the first, so
// that no digits cancel.
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
	spread := 0.0
	eachRow(func(row []float64) {
		for j, x := range row {
			spread += (x - center[j]) * (x - center[j])
		}
	})
	return center, math.Sqrt(spread / float64(rows) / float64(cols))
}
