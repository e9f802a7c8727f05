package matrix

// Bytes is a matrix of 8-bit values with one scale: element (i, j) is Data[i*Cols+j] * Scale.
type Bytes struct {
	Rows, Cols int
	Data       []uint8 // row by row, Rows*Cols values
	Scale      float64
}

var (
	_ EightBit = (*Bytes)(nil)
	_ RowStore = (*Bytes)(nil)
)

// NewBytes returns a matrix of zeros.
func NewBytes(rows, cols int, scale float64) *Bytes {
	return &Bytes{Rows: rows, Cols: cols, Data: make([]uint8, rows*cols), Scale: scale}
}

// Dims returns the numbers of rows and columns.
func (b *Bytes) Dims() (rows, cols int) { return b.Rows, b.Cols }

// ByteScale implements EightBit.
func (b *Bytes) ByteScale() float64 { return b.Scale }

// ByteRow implements EightBit: the result is a part of Data.
func (b *Bytes) ByteRow(i int, _ []uint8) []uint8 { return b.Data[i*b.Cols:][:b.Cols] }

// SetRows implements RowStore.
func (b *Bytes) SetRows(i int, rows [][]uint8) {
	for k, row := range rows {
		copy(b.Data[(i+k)*b.Cols:(i+k+1)*b.Cols], row)
	}
}

// SetScale changes the scale.
func (b *Bytes) SetScale(scale float64) { b.Scale = scale }

// Float32 writes rows [from, to) to dst, scaled and then rounded once.
func (b *Bytes) Float32(dst []float32, from, to int) { WidenBytes(dst, b, from, to) }

// Float64 writes rows [from, to) to dst, scaled.
func (b *Bytes) Float64(dst []float64, from, to int) { WidenBytes(dst, b, from, to) }

// WidenBytes writes rows [from, to) of m to dst through a table of the 256 possible elements: one
// load per element. The Float32 and Float64 methods of 8-bit matrices call it.
func WidenBytes[T Float](dst []T, m EightBit, from, to int) {
	CheckRows(m, len(dst), from, to)
	if len(dst) == 0 {
		return
	}
	var table [256]T
	scale := m.ByteScale()
	for v := range table {
		table[v] = T(float64(v) * scale)
	}
	_, cols := m.Dims()
	var buffer []uint8
	if _, plain := m.(*Bytes); !plain {
		buffer = make([]uint8, cols)
	}
	for i := from; i < to; i++ {
		row := dst[(i-from)*cols:][:cols]
		for j, v := range m.ByteRow(i, buffer) {
			row[j] = table[v]
		}
	}
}
