package matrix

// Dense is a matrix of floats: element (i, j) is Data[i*Cols+j].
type Dense struct {
	Rows, Cols int
	Data       []float64 // row by row, Rows*Cols values
}

var _ Matrix = (*Dense)(nil)

// Dims returns the numbers of rows and columns.
func (d *Dense) Dims() (rows, cols int) { return d.Rows, d.Cols }

// Float32 writes rows [from, to) to dst, rounded once.
func (d *Dense) Float32(dst []float32, from, to int) {
	CheckRows(d, len(dst), from, to)
	for i, v := range d.Data[from*d.Cols : to*d.Cols] {
		dst[i] = float32(v)
	}
}

// Float64 writes rows [from, to) to dst.
func (d *Dense) Float64(dst []float64, from, to int) {
	CheckRows(d, len(dst), from, to)
	copy(dst, d.Data[from*d.Cols:to*d.Cols])
}
