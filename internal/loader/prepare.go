package loader

import (
	"fmt"
	"io"
	"math"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
)

// featureSpecs returns the columns that the features need.
func featureSpecs(p *tabular.Preparation) []columnar.ColumnSpec {
	var specs []columnar.ColumnSpec
	for i := range p.Encodings {
		e := &p.Encodings[i]
		specs = append(specs, columnar.ColumnSpec{Name: e.Title(), From: e.Column, Numeric: e.Numeric(), Value: e.Parser(), Decimal: e.Decimal, Date: e.Date,
			Categories: e.Categories, Missing: e.Missing, Wide: e.Numeric() && e.Parser() == nil})
	}
	return specs
}

// ReadLabelled reads rows in LIBSVM's format with their labels and all features, and returns the
// errors of [SparseRows.Read].
func ReadLabelled(p *tabular.Preparation, r io.Reader, name string) (*LIBSVM, error) {
	return (&SparseRows{Cols: p.Indices, Shift: p.Shift()}).Read(r, name)
}

// featureColumns returns the set of the columns from which the features are made.
func featureColumns(p *tabular.Preparation) map[string]bool {
	columns := make(map[string]bool, len(p.Encodings))
	for i := range p.Encodings {
		columns[p.Encodings[i].Column] = true
	}
	return columns
}

// fitScales sets the centres and scales of the numbers from the given rows, with their weights
// (nil: 1 each), without missing values, and returns the names of the columns that are constant in
// these rows. It returns ErrColumn if numbers are too large or too close together to be
// standardised.
func fitScales(p *tabular.Preparation, s *columnar.Sheet, rows []int, weights []float64) (constant []string, err error) {
	groups := groupsOf(preparedColumns(p, s))
	recordio.InParallel(len(groups), func(i int) {
		all := make([]totals, len(groups[i]))
		for k := range all {
			all[k] = newTotals()
		}
		groups[i].add(all, rows, weights)
		groups[i].addSquares(all, rows, weights)
		groups[i].end(all)
	})
	return checkScales(p, s)
}

// checkScales completes fitScales after the centres and scales are set.
func checkScales(p *tabular.Preparation, s *columnar.Sheet) (constant []string, err error) {
	for i := range p.Encodings {
		e := &p.Encodings[i]
		switch {
		case !e.Numeric():
		case e.Scale == 0:
			e.Scale = 1
			constant = append(constant, e.Title())
		case math.IsInf(e.Scale, 0) || e.Scale < minScale:
			return nil, &dataerr.FileError{Path: s.Name, Offset: -1, Err: fmt.Errorf(
				"%w %q: its standard deviation is out of range: rescale the numbers", dataerr.ErrColumn, e.Title())}
		}
	}
	return constant, nil
}

// minScale is the smallest standard deviation whose square is a normal number.
const minScale = 1e-150

// totals are the sums of the numbers of a column that are not NaN. They give, in two passes over
// the n rows whose x is not NaN,
//
//	m = 1/n sum_i x_i,    s^2 = 1/n sum_i (x_i - m)^2.
//
// With weights w, n is the sum of the weights, and each term has the factor w_i. If all numbers are
// equal, or no number is present, s is 0.
type totals struct{ n, sum, least, most, squares float64 }

func newTotals() totals { return totals{least: math.Inf(1), most: math.Inf(-1)} }

// add adds the rows to all fields except squares. weights are those of the rows; nil: 1 each.
func (t *totals) add(x []float64, rows []int, weights []float64) {
	s := *t // in registers
	for k, w := range weights {
		if v := x[rows[k]]; !math.IsNaN(v) {
			s.sum += w * v
			s.least, s.most = min(s.least, v), max(s.most, v)
			s.n += w
		}
	}
	if weights != nil {
		*t = s
		return
	}
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
func (t *totals) addSquares(x []float64, rows []int, weights []float64) {
	mean, squares := t.sum/t.n, t.squares
	for k, w := range weights {
		if d := x[rows[k]] - mean; !math.IsNaN(d) {
			squares += w * d * d
		}
	}
	if weights != nil {
		t.squares = squares
		return
	}
	for _, i := range rows {
		if d := x[i] - mean; !math.IsNaN(d) {
			squares += d * d
		}
	}
	t.squares = squares
}

// moments returns the mean and the standard deviation. The deviation of a column of 0 and 1 alone
// is 1, as for the indicator of a category: a standardised rare word has large features, so that
// the regularizer hardly bounds its effect.
func (t *totals) moments() (mean, deviation float64) {
	switch {
	case t.n == 0:
		return 0, 0
	case t.least == t.most: // avoid the rounding of the sum
		return t.least, 0
	case t.least == 0 && t.most == 1 && math.Abs(t.squares-t.sum*(1-t.sum/t.n)) <= 1e-12*t.n: // x^2 = x for 0 and 1 alone
		return t.sum / t.n, 1
	}
	return t.sum / t.n, max(math.Sqrt(t.squares/t.n), math.SmallestNonzeroFloat64)
}

// preparedColumn is a column of a sheet and its encoding.
type preparedColumn struct {
	*tabular.Encoding
	*columnar.Column
	at     int   // index of the first feature
	places []int // feature of each category, relative to at; -1: none
	// run holds the columns whose features writeFeatures writes together, from this column on; nil:
	// none, or an earlier column has the run, as within says
	run    *wideRun
	within bool
}

// preparedColumns finds the column of each encoding in the sheet.
func preparedColumns(p *tabular.Preparation, s *columnar.Sheet) []preparedColumn {
	columns, width := make([]preparedColumn, len(p.Encodings)), 0
	for i := range p.Encodings {
		e := &p.Encodings[i]
		c := preparedColumn{Encoding: e, Column: s.Column(e.Title()), at: width}
		if !e.Numeric() {
			levels := e.EncodedLevels()
			for _, v := range c.Values {
				c.places = append(c.places, slices.Index(levels, v))
			}
		}
		columns[i] = c
		width += e.Width()
	}
	findRuns(columns)
	return columns
}

// FeatureBlock is about the memory of the features that are made at a time.
const FeatureBlock = 128 << 10

// MakeFeatures encodes rows of the sheet.
func MakeFeatures(p *tabular.Preparation, s *columnar.Sheet, rows []int) (*matrix.Dense, error) {
	m, err := NewEncodedRows(p, s, rows)
	if err != nil {
		return nil, err
	}
	out := &matrix.Dense{Rows: len(rows), Cols: m.cols, Data: make([]float64, len(rows)*m.cols)}
	m.eachBlock(func(from, to int) { m.Float64(out.Data[from*m.cols:to*m.cols], from, to) })
	return out, nil
}

// outOfRange is the error of a number that is too far from the numbers of the training rows.
func outOfRange(s *columnar.Sheet, row int, feature string) error {
	return &dataerr.FileError{Path: s.Name, Offset: -1, Err: fmt.Errorf("%w: row %d of %q is out of range once standardised",
		dataerr.ErrNumber, s.Number(row)+1, feature)}
}
