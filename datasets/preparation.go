package datasets

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"ppal/datasets/matrix"
)

// Preparation describes how the columns of a file became features. It is fitted on the training
// rows and applied to all rows. A preparation can be saved as JSON or YAML and then prepares new
// rows. A preparation has either Encodings, for text of separated fields, or Numbers, for rows in
// LIBSVM's format.
type Preparation struct {
	Layout `yaml:",inline"`
	// texts that mark a missing value
	Absent []string `json:"absent,omitempty" yaml:"absent,omitempty"`
	// one encoding for each used column, in the order of the features
	Encodings []Encoding `json:"encodings,omitempty" yaml:"encodings,omitempty"`
	// LIBSVM's indices, from 1, in the order of the features; they increase
	Numbers []int `json:"numbers,omitempty" yaml:"numbers,omitempty,flow"`
	// number of LIBSVM's indices
	Indices int `json:"indices,omitempty" yaml:"indices,omitempty"`
	// the files count the features from 0. Numbers counts them from 1.
	ZeroBased bool `json:"zero_based,omitempty" yaml:"zero_based,omitempty"`
}

// Encoding describes how one column becomes features:
//
//	a number     x -> (x - Center)/Scale, with mean and standard deviation of the training rows
//	a category   one feature for each of Levels, 1 for rows with that level and 0 for other rows
//
// Decimal says how the numbers are written: "" as in programs, "," with a decimal comma and
// optional separators of thousands (1.234,5), "." with separators of thousands (1,234.5). If Date
// is set, a layout of Go's package time, the column holds dates, and the number is the date's Part:
// "day" (days since 1970-01-01), "month", "weekday" (1 is Monday) or "hour".
//
// With Missing, values may be missing. One additional feature, after the other features of the
// column, is 1 for rows with a missing value and 0 for other rows. The other features of a missing
// value are 0.
type Encoding struct {
	Column string `json:"column" yaml:"column"`
	// the allowed categories; empty: a number
	Categories []string `json:"categories,omitempty" yaml:"categories,omitempty"`
	// the categories with a feature; empty: all
	Levels []string `json:"levels,omitempty" yaml:"levels,omitempty"`
	Center float64  `json:"center,omitempty" yaml:"center,omitempty"`
	// 1 if all training rows are equal
	Scale   float64 `json:"scale,omitempty" yaml:"scale,omitempty"`
	Missing bool    `json:"missing,omitempty" yaml:"missing,omitempty"`
	Decimal string  `json:"decimal,omitempty" yaml:"decimal,omitempty"`
	Date    string  `json:"date,omitempty" yaml:"date,omitempty"`
	Part    string  `json:"part,omitempty" yaml:"part,omitempty"`
}

// value parses a text of the column as a number, without standardising the number.
func (e *Encoding) value(text []byte) (x float64, ok bool) {
	if e.Date != "" {
		return dateNumber(string(text), e.Date, e.Part)
	}
	return localNumber(text, e.Decimal)
}

// parser returns the function that parses the column's texts; nil for numbers as in programs.
func (e *Encoding) parser() func(text []byte) (float64, bool) {
	if e.Date == "" && e.Decimal == plainNumbers {
		return nil
	}
	return e.value
}

// title returns the name of the column, with the part if the column holds dates.
func (e *Encoding) title() string {
	if e.Part != "" {
		return e.Column + " " + e.Part
	}
	return e.Column
}

func (e *Encoding) numeric() bool { return len(e.Categories) == 0 }

// levels returns the categories with a feature.
func (e *Encoding) levels() []string {
	if len(e.Levels) > 0 {
		return e.Levels
	}
	return e.Categories
}

// width returns the number of features.
func (e *Encoding) width() int {
	width := len(e.levels())
	if e.numeric() {
		width = 1
	}
	if e.Missing {
		width++
	}
	return width
}

// Check returns ErrColumn if the preparation, which may come from a file, is not valid.
func (p *Preparation) Check() error {
	if (len(p.Encodings) > 0) == (len(p.Numbers) > 0) {
		return fmt.Errorf("datasets: a preparation with %d columns and %d numbers: %w: want either columns or numbers", len(p.Encodings), len(p.Numbers), ErrColumn)
	}
	if err := p.Layout.check(); err != nil {
		return fmt.Errorf("datasets: a preparation: %w", err)
	}
	for i, n := range p.Numbers {
		if n < 1 || n > p.Indices || i > 0 && n <= p.Numbers[i-1] {
			return fmt.Errorf("datasets: a preparation's number %d: %w: the numbers must increase within 1..%d", n, ErrColumn, p.Indices)
		}
	}
	for i := range p.Encodings {
		e := &p.Encodings[i]
		for _, level := range e.Levels {
			if !slices.Contains(e.Categories, level) {
				return fmt.Errorf("datasets: a preparation's level %q of %q: %w: it is not one of the categories", level, e.Column, ErrColumn)
			}
		}
		if e.Date != "" || e.Part != "" {
			if err := checkDate(e.Date, e.Part); err != nil {
				return fmt.Errorf("datasets: a preparation's %q: %w: %w", e.Column, ErrColumn, err)
			}
		}
		if !slices.Contains([]string{plainNumbers, commaDecimals, pointDecimals}, e.Decimal) {
			return fmt.Errorf("datasets: a preparation's %q: %w: the decimal sign is %q, want a comma or a point", e.Column, ErrColumn, e.Decimal)
		}
		if e.numeric() && (!(e.Scale > 0) || math.IsInf(e.Scale, 0) || math.IsNaN(e.Center) || math.IsInf(e.Center, 0)) {
			return fmt.Errorf("datasets: a preparation's %q: %w: it has the centre %v and the scale %v", e.Column, ErrColumn, e.Center, e.Scale)
		}
	}
	return nil
}

// Columns returns the names of the features: "age", "job=student", "OtherPerCap missing". Features
// of LIBSVM files are named by their numbers.
func (p *Preparation) Columns() []string {
	var names []string
	for _, n := range p.Numbers {
		names = append(names, strconv.Itoa(n-p.shift()))
	}
	for i := range p.Encodings {
		e := &p.Encodings[i]
		if e.numeric() {
			names = append(names, e.title())
		}
		for _, level := range e.levels() {
			names = append(names, e.Column+"="+level)
		}
		if e.Missing {
			names = append(names, e.title()+" missing")
		}
	}
	return names
}

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

// shift is what a reader adds to the indices of LIBSVM's format, which then count from 1.
func (p *Preparation) shift() int { return indicator(p.ZeroBased) }

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

// standardised returns the feature of a number.
func (e *Encoding) standardised(x float64) float64 { return standardise(x, e.Center, e.Scale) }

func standardise(x, center, scale float64) float64 { return (x - center) / scale }

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

// formatNumber returns the shortest text that parses as x.
func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
