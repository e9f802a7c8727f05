package datasets

import (
	"fmt"
	"io"
	"math"
	"ppal/datasets/matrix"
	"slices"
)

// specs returns the columns that the features need.
func (p *Preparation) specs() []columnSpec {
	var specs []columnSpec
	for i := range p.Encodings {
		e := &p.Encodings[i]
		specs = append(specs, columnSpec{name: e.title(), from: e.Column, numeric: e.numeric(), value: e.parser(), decimal: e.Decimal, date: e.Date,
			categories: e.Categories, missing: e.Missing})
	}
	return specs
}

// Read prepares new rows. r is text of separated fields, plain or gzip, with the columns from which
// the table was made; it may have other columns, such as the label. The result has a row for each
// record. name is used in errors. Errors are *FileError with line and column: ErrFormat,
// ErrTruncated, ErrColumn, ErrNumber, ErrCategory (a category that the table did not have),
// ErrMissing.
func (p *Preparation) Read(r io.Reader, name string) (*matrix.Dense, error) {
	s, err := readSheet(r, name, &schema{layout: p.Layout, absent: p.Absent, columns: p.specs()})
	if err != nil {
		return nil, err
	}
	rows := make([]int, s.rows)
	for i := range rows {
		rows[i] = i
	}
	return p.features(s, rows)
}

// ReadLabelled reads rows in LIBSVM's format with their labels and all features, and returns the
// errors of [ReadLIBSVM].
func (p *Preparation) ReadLabelled(r io.Reader, name string) (*LIBSVM, error) {
	return readLIBSVM(r, name, p.Indices, nil, func(own *libsvmParser) { own.shift = p.shift() })
}

// ReadLIBSVM prepares new rows in LIBSVM's format and ignores their labels. It returns the same
// errors as [ReadLIBSVM].
func (p *Preparation) ReadLIBSVM(r io.Reader, name string) (*matrix.CSR, error) {
	file, err := p.ReadLabelled(r, name)
	if err != nil {
		return nil, err
	}
	rows, place := make([]int, file.X.Rows), make([]int32, p.Indices)
	for i := range rows {
		rows[i] = i
	}
	for j := range place {
		place[j] = int32(slices.Index(p.Numbers, j+1))
	}
	return file.X.Select(rows, place, len(p.Numbers)), nil
}

// of returns the set of the columns from which the features are made.
func (p *Preparation) of() map[string]bool {
	columns := make(map[string]bool, len(p.Encodings))
	for i := range p.Encodings {
		columns[p.Encodings[i].Column] = true
	}
	return columns
}

// fit sets the centres and scales of the numbers from the given rows, without missing values, and
// returns the names of the columns that are constant in these rows. It returns ErrColumn if numbers
// are too large or too close together to be standardised.
func (p *Preparation) fit(s *sheet, rows []int) (constant []string, err error) {
	columns := p.columns(s)
	inParallel(len(columns), func(i int) {
		if e := columns[i].Encoding; e.numeric() {
			e.Center, e.Scale = meanAndDeviation(columns[i].numbers, rows)
			s.pages.Touch(8 * len(columns[i].numbers))
		}
	})
	return p.checkScales(s)
}

// checkScales completes fit after the centres and scales are set.
func (p *Preparation) checkScales(s *sheet) (constant []string, err error) {
	for i := range p.Encodings {
		e := &p.Encodings[i]
		switch {
		case !e.numeric():
		case e.Scale == 0:
			e.Scale = 1
			constant = append(constant, e.title())
		case math.IsInf(e.Scale, 0) || e.Scale < minScale:
			return nil, &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf(
				"%w %q: its standard deviation is out of range: rescale the numbers", ErrColumn, e.title())}
		}
	}
	return constant, nil
}

// minScale is the smallest standard deviation whose square is a normal number.
const minScale = 1e-150

// meanAndDeviation computes, in two passes over the n rows whose x is not NaN,
//
//	m = 1/n sum_i x_i,    s^2 = 1/n sum_i (x_i - m)^2.
//
// If all numbers are equal, or no number is present, s is 0.
func meanAndDeviation(x []float64, rows []int) (mean, deviation float64) {
	t := newTotals()
	t.add(x, rows)
	t.addSquares(x, rows)
	return t.moments()
}

// totals are the sums of the numbers of a column that are not NaN.
type totals struct{ n, sum, least, most, squares float64 }

func newTotals() totals { return totals{least: math.Inf(1), most: math.Inf(-1)} }

// add adds the rows to all fields except squares.
func (t *totals) add(x []float64, rows []int) {
	s := *t // in registers
	for _, i := range rows {
		if v := x[i]; !math.IsNaN(v) {
			s.sum += v
			s.least, s.most = min(s.least, v), max(s.most, v)
			s.n++
		}
	}
	*t = s
}

// addSquares adds the squares of the distances to the mean. All rows were added before.
func (t *totals) addSquares(x []float64, rows []int) {
	mean, squares := t.sum/t.n, t.squares
	for _, i := range rows {
		if d := x[i] - mean; !math.IsNaN(d) {
			squares += d * d
		}
	}
	t.squares = squares
}

// moments returns the mean and the standard deviation.
func (t *totals) moments() (mean, deviation float64) {
	switch {
	case t.n == 0:
		return 0, 0
	case t.least == t.most: // avoid the rounding of the sum
		return t.least, 0
	}
	return t.sum / t.n, max(math.Sqrt(t.squares/t.n), math.SmallestNonzeroFloat64)
}

// preparedColumn is a column of a sheet and its encoding.
type preparedColumn struct {
	*Encoding
	*column
	at     int   // index of the first feature
	places []int // feature of each category, relative to at; -1: none
}

// columns finds the column of each encoding in the sheet.
func (p *Preparation) columns(s *sheet) []preparedColumn {
	columns, width := make([]preparedColumn, len(p.Encodings)), 0
	for i := range p.Encodings {
		e := &p.Encodings[i]
		c := preparedColumn{Encoding: e, column: s.column(e.title()), at: width}
		if !e.numeric() {
			levels := e.levels()
			for _, v := range c.values {
				c.places = append(c.places, slices.Index(levels, v))
			}
		}
		columns[i] = c
		width += e.width()
	}
	return columns
}

// featureBlock is about the memory of the features that are made at a time.
const featureBlock = 128 << 10

// features encodes rows of the sheet.
func (p *Preparation) features(s *sheet, rows []int) (*matrix.Dense, error) {
	names, columns := p.Columns(), p.columns(s)
	out := &matrix.Dense{Rows: len(rows), Cols: len(names)}
	out.Data = make([]float64, out.Rows*out.Cols)
	height := max(1, featureBlock/8/max(1, out.Cols))
	infinite := make([]int, (out.Rows+height-1)/height) // index in Data of the first infinite feature of each block; -1: none
	inParallel(len(infinite), func(block int) {
		from, to := block*height, min((block+1)*height, out.Rows)
		features := out.Data[from*out.Cols : to*out.Cols]
		writeFeatures(columns, rows[from:to], features, out.Cols)
		infinite[block] = slices.IndexFunc(features, func(x float64) bool { return math.IsInf(x, 0) })
		if infinite[block] >= 0 {
			infinite[block] += from * out.Cols
		}
	})
	for _, i := range infinite {
		if i >= 0 {
			return nil, outOfRange(s, rows[i/out.Cols], names[i%out.Cols])
		}
	}
	return out, nil
}

// outOfRange is the error of a number that is too far from the numbers of the training rows.
func outOfRange(s *sheet, row int, feature string) error {
	return &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf("%w: row %d of %q is out of range once standardised",
		ErrNumber, s.number(row)+1, feature)}
}
