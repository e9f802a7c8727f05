package loader

import (
	"math"
	"sync"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
)

// EncodedRows are features that are made from the columns of a sheet whenever somebody reads them.
// They take no memory beside the columns.
type EncodedRows struct {
	columns []preparedColumn
	rows    []int // of the sheet
	cols    int
	pages   *mapped.Dir // has the columns; nil: memory
}

var _ matrix.Gatherer = (*EncodedRows)(nil)

// NewEncodedRows returns the features of rows of the sheet, without memory for the features.
// NewEncodedRows returns the same errors as MakeFeatures.
func NewEncodedRows(p *tabular.Preparation, s *columnar.Sheet, rows []int) (*EncodedRows, error) {
	names := p.Columns()
	m := &EncodedRows{columns: preparedColumns(p, s), rows: rows, cols: len(names), pages: s.Pages}
	first, mutex := -1, sync.Mutex{}
	m.eachBlock(func(from, to int) {
		at := m.firstInfinite(from, to)
		mutex.Lock()
		defer mutex.Unlock()
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	})
	if first >= 0 {
		return nil, outOfRange(s, rows[first/m.cols], names[first%m.cols])
	}
	return m, nil
}

// eachBlock calls do for blocks of rows, in several goroutines.
func (m *EncodedRows) eachBlock(do func(from, to int)) {
	height := max(1, FeatureBlock/8/max(1, m.cols))
	recordio.InParallel((len(m.rows)+height-1)/height, func(k int) { do(k*height, min((k+1)*height, len(m.rows))) })
}

// firstInfinite returns the index of the first infinite feature of rows [from, to) in the matrix,
// or -1. Only numbers can be infinite, and numbers of 32 bits cannot: checkScales keeps the scales
// from being that small.
func (m *EncodedRows) firstInfinite(from, to int) int {
	first := -1
	for j := range m.columns {
		c := &m.columns[j]
		if !c.Numeric() || c.Single {
			continue
		}
		for k, i := range m.rows[from:to] {
			if at := (from+k)*m.cols + c.at; math.IsInf(c.Standardised(c.number(i)), 0) && (first < 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// Dims returns the numbers of rows and columns.
func (m *EncodedRows) Dims() (rows, cols int) { return len(m.rows), m.cols }

// Float32 writes rows [from, to) to dst, rounded once.
func (m *EncodedRows) Float32(dst []float32, from, to int) { writeRows(m, dst, from, to) }

// Float64 writes rows [from, to) to dst.
func (m *EncodedRows) Float64(dst []float64, from, to int) { writeRows(m, dst, from, to) }

// Gather32 implements matrix.Gatherer.
func (m *EncodedRows) Gather32(dst []float32, rows []int) { gatherRows(m, dst, rows) }

// Gather64 implements matrix.Gatherer.
func (m *EncodedRows) Gather64(dst []float64, rows []int) { gatherRows(m, dst, rows) }

// gatherMost is the largest number of rows that gatherRows encodes at a time. The system may load
// 64 KiB of each column with each of them.
const gatherMost = 32

// gatherRows encodes listed rows.
func gatherRows[T matrix.Float](m *EncodedRows, dst []T, rows []int) {
	clear(dst)
	var own [gatherMost]int // rows of the sheet
	for from := 0; from < len(rows); from += gatherMost {
		n := min(gatherMost, len(rows)-from)
		for k, i := range rows[from : from+n] {
			own[k] = m.rows[i]
		}
		writeFeatures(m.columns, own[:n], dst[from*m.cols:(from+n)*m.cols], m.cols)
		m.pages.Bound()
	}
}

func writeRows[T matrix.Float](m *EncodedRows, dst []T, from, to int) {
	matrix.CheckRows(m, len(dst), from, to)
	clear(dst)
	writeFeatures(m.columns, m.rows[from:to], dst, m.cols)
}

// columnsPerPass is the number of columns of numbers that writeFeatures reads at a time. The rows
// of one column are too few for the processor to load the next ones ahead.
const columnsPerPass = 8

// writeFeatures writes the features of the given rows to out, which has a row of the given width
// for each of them. All elements of out are 0. The features are rounded once from float64.
func writeFeatures[T matrix.Float](columns []preparedColumn, rows []int, out []T, width int) {
	var pass [columnsPerPass]*preparedColumn
	n := 0
	for i := range columns {
		switch c := &columns[i]; {
		case !c.Numeric():
			writeCategories(c, rows, out, width)
			continue
		case c.run != nil:
			writeRun(c.run, rows, out, width)
			continue
		case c.within:
			continue
		case c.Wide != nil:
			for k, i := range rows {
				writeNumber(out[k*width:(k+1)*width], c.number(i), c.at, c.Center, c.Scale)
			}
			continue
		}
		pass[n] = &columns[i]
		if n++; n == len(pass) {
			writeNumbers(&pass, rows, out, width)
			n = 0
		}
	}
	for _, c := range pass[:n] {
		for k, i := range rows {
			writeNumber(out[k*width:(k+1)*width], c.Numbers[i], c.at, c.Center, c.Scale)
		}
	}
}

// writeNumbers writes the features of columns of numbers: see writeFeatures.
func writeNumbers[T matrix.Float](columns *[columnsPerPass]*preparedColumn, rows []int, out []T, width int) {
	var numbers [columnsPerPass][]float64
	var at [columnsPerPass]int
	var center, scale [columnsPerPass]float64
	for j, c := range columns {
		numbers[j], at[j], center[j], scale[j] = c.Numbers, c.at, c.Center, c.Scale
	}
	for k, i := range rows {
		row := out[k*width : (k+1)*width]
		for j := range numbers {
			writeNumber(row, numbers[j][i], at[j], center[j], scale[j])
		}
	}
}

// writeNumber writes the features of a number, which begin at the given place of the row: the
// standardised number, or the flag of a missing one after it.
func writeNumber[T matrix.Float](row []T, x float64, at int, center, scale float64) {
	if math.IsNaN(x) {
		row[at+1] = 1
		return
	}
	row[at] = T(tabular.Standardise(x, center, scale))
}

// writeCategories writes the features of a column of categories: see writeFeatures.
func writeCategories[T matrix.Float](c *preparedColumn, rows []int, out []T, width int) {
	for k, i := range rows {
		feature := len(c.EncodedLevels()) // the flag of missing values
		switch code := c.Codes[i]; {
		case code == columnar.NoCategory:
			continue
		case code >= 0:
			feature = c.places[code]
		}
		if feature >= 0 {
			out[k*width+c.at+feature] = 1
		}
	}
}
