package matrix

// Integers is a matrix of standardized features that are small integers:
//
//	element (i, j) = (First[j] + v_ij - Center[j]) / Deviation[j],   v_ij in {0, ..., 255}
//
// Values holds Stretch[j] v_ij with scale 1. The stretch brings all columns to about the same
// range, so that the weights that multiply them differ no more than the columns' deviations do.
type Integers struct {
	Values                            *Bytes
	First, Stretch, Center, Deviation []float64 // one number per column
}

var _ Matrix = (*Integers)(nil)

// Dims returns the numbers of rows and columns.
func (m *Integers) Dims() (rows, cols int) { return m.Values.Dims() }

// Float32 writes rows [from, to) to dst, rounded once.
func (m *Integers) Float32(dst []float32, from, to int) { standardized(dst, m, from, to) }

// Float64 writes rows [from, to) to dst.
func (m *Integers) Float64(dst []float64, from, to int) { standardized(dst, m, from, to) }

func standardized[T Float](dst []T, m *Integers, from, to int) {
	CheckRows(m, len(dst), from, to)
	cols := m.Values.Cols
	for i, v := range m.Values.Data[from*cols : to*cols] {
		j := i % cols
		dst[i] = T((m.First[j] + float64(v)/m.Stretch[j] - m.Center[j]) / m.Deviation[j])
	}
}
