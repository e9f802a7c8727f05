package matrix

// Singles is a matrix of float32: element (i, j) is Data[i*Cols+j].
type Singles struct {
	Rows, Cols int
	Data       []float32 // row by row, Rows*Cols values
}

var _ Matrix = (*Singles)(nil)

// NewSingles returns a matrix of zeros.
func NewSingles(rows, cols int) *Singles {
	return &Singles{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
}

// Dims returns the numbers of rows and columns.
func (s *Singles) Dims() (rows, cols int) { return s.Rows, s.Cols }

// Float32 writes rows [from, to) to dst.
func (s *Singles) Float32(dst []float32, from, to int) {
	CheckRows(s, len(dst), from, to)
	copy(dst, s.Data[from*s.Cols:to*s.Cols])
}

// Float64 writes rows [from, to) to dst.
func (s *Singles) Float64(dst []float64, from, to int) {
	CheckRows(s, len(dst), from, to)
	for i, v := range s.Data[from*s.Cols : to*s.Cols] {
		dst[i] = float64(v)
	}
}

// Row returns row i.
func (s *Singles) Row(i int) []float32 { return s.Data[i*s.Cols : (i+1)*s.Cols : (i+1)*s.Cols] }

// Has reports whether element (i, j) is not 0.
func (s *Singles) Has(i int, j int32) bool { return s.Data[i*s.Cols+int(j)] != 0 }

// Arrange puts the rows into another order without a second matrix: row k becomes the row that was
// order[k]. order is a permutation of the rows.
func (s *Singles) Arrange(order []int) {
	done, first := make([]bool, len(order)), make([]float32, s.Cols)
	for k := range order {
		if done[k] || order[k] == k {
			continue
		}
		copy(first, s.Row(k))
		at := k
		for ; order[at] != k; at = order[at] { // along the cycle of k
			copy(s.Row(at), s.Row(order[at]))
			done[at] = true
		}
		copy(s.Row(at), first)
		done[at] = true
	}
}
