package datasets

import (
	"math"
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/paged"
)

// encodedRows are features that are made from the columns of a sheet whenever somebody reads them.
// They take no memory beside the columns.
type encodedRows struct {
	columns []preparedColumn
	rows    []int // of the sheet
	cols    int
	width   int // bytes of a row of the sheet
	pages   *paged.Dir
}

var _ matrix.Matrix = (*encodedRows)(nil)

// encodedRows returns the features of rows of the sheet, without memory for them. The errors are
// those of features.
func (p *Preparation) encodedRows(s *sheet, rows []int) (*encodedRows, error) {
	names := p.Columns()
	m := &encodedRows{columns: p.columns(s), rows: rows, cols: len(names), pages: s.pages}
	for _, c := range m.columns {
		m.width += 8
		if !c.numeric() {
			m.width -= 4
		}
	}
	height := max(1, featureBlock/8/max(1, m.cols))
	blocks := (len(rows) + height - 1) / height
	infinite := make([]int, blocks)
	inParallel(blocks, func(block int) {
		from, to := block*height, min((block+1)*height, len(rows))
		features := make([]float64, (to-from)*m.cols)
		m.Float64(features, from, to)
		infinite[block] = slices.IndexFunc(features, func(x float64) bool { return math.IsInf(x, 0) })
	})
	for block, i := range infinite {
		if i >= 0 {
			return nil, outOfRange(s, rows[block*height+i/m.cols], names[i%m.cols])
		}
	}
	return m, nil
}

// Dims returns the numbers of rows and columns.
func (m *encodedRows) Dims() (rows, cols int) { return len(m.rows), m.cols }

// Float32 writes rows [from, to) to dst, rounded once.
func (m *encodedRows) Float32(dst []float32, from, to int) { writeRows(m, dst, from, to) }

// Float64 writes rows [from, to) to dst.
func (m *encodedRows) Float64(dst []float64, from, to int) { writeRows(m, dst, from, to) }

func writeRows[T matrix.Float](m *encodedRows, dst []T, from, to int) {
	matrix.CheckRows(m, len(dst), from, to)
	clear(dst)
	for i := range m.columns {
		writeFeatures(&m.columns[i], m.rows[from:to], dst, m.cols)
	}
	if from < to { // the pages of the rows between count too
		m.pages.Touch((m.rows[to-1] - m.rows[from] + 1) * m.width)
	}
}
