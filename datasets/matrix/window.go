package matrix

// Window returns the rows from to to-1 of m as a matrix of m's form: sparse rows and 8-bit rows
// keep their form. The window shares the memory of m. Window panics if the range is wrong.
func Window(m Matrix, from, to int) Matrix {
	rows, cols := m.Dims()
	CheckRows(m, (to-from)*cols, from, to)
	if from == 0 && to == rows {
		return m
	}
	w := window{source: m, from: from, rows: to - from}
	switch m := m.(type) {
	case Sparse:
		starts, columns, values := m.Entries()
		return &CSR{Rows: to - from, Cols: cols, Starts: starts[from : to+1], Columns: columns, Values: values}
	case EightBit:
		return &eightBitWindow{w, m}
	}
	return &w
}

// window is a range of the rows of a matrix.
type window struct {
	source     Matrix
	from, rows int
}

// Dims returns the numbers of rows and columns.
func (w *window) Dims() (rows, cols int) {
	_, cols = w.source.Dims()
	return w.rows, cols
}

// Float32 implements Matrix.
func (w *window) Float32(dst []float32, from, to int) {
	CheckRows(w, len(dst), from, to)
	w.source.Float32(dst, w.from+from, w.from+to)
}

// Float64 implements Matrix.
func (w *window) Float64(dst []float64, from, to int) {
	CheckRows(w, len(dst), from, to)
	w.source.Float64(dst, w.from+from, w.from+to)
}

// eightBitWindow is a window of 8-bit rows.
type eightBitWindow struct {
	window
	bytes EightBit
}

var _ EightBit = (*eightBitWindow)(nil)

// ByteScale implements EightBit.
func (w *eightBitWindow) ByteScale() float64 { return w.bytes.ByteScale() }

// ByteRow implements EightBit.
func (w *eightBitWindow) ByteRow(i int, buffer []uint8) []uint8 {
	return w.bytes.ByteRow(w.from+i, buffer)
}
