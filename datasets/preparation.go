package datasets

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"ppal/datasets/matrix"
)

// Preparation is how the columns of a file became features. It is fitted on the
// training rows and the same for all others. Written as JSON or YAML it is what
// new rows need: text of separated fields by its Encodings, or rows in LIBSVM's
// format by its Numbers.
type Preparation struct {
	Header    []string   `json:"header,omitempty" yaml:"header,omitempty"`        // the file's columns, where its first line does not name them
	Absent    []string   `json:"absent,omitempty" yaml:"absent,omitempty"`        // texts that stand for a missing value
	Encodings []Encoding `json:"encodings,omitempty" yaml:"encodings,omitempty"`  // in the features' order
	Numbers   []int      `json:"numbers,omitempty" yaml:"numbers,omitempty,flow"` // of LIBSVM's indices, from 1, in the features' order; they increase
	Indices   int        `json:"indices,omitempty" yaml:"indices,omitempty"`      // how many LIBSVM's indices are
}

// Encoding is how one column becomes features:
//
//	a number     x -> (x - Center)/Scale, with mean and standard deviation of the training rows
//	a category   one feature for each of Levels, 1 for its own rows and 0 for others
//
// With Missing a value may be missing: it is 0 in these features and 1 in one
// more that follows them, which is 0 for other rows.
type Encoding struct {
	Column     string   `json:"column" yaml:"column"`
	Categories []string `json:"categories,omitempty" yaml:"categories,omitempty"` // those there may be; none: a number
	Levels     []string `json:"levels,omitempty" yaml:"levels,omitempty"`         // those that have a feature; none: all
	Center     float64  `json:"center,omitempty" yaml:"center,omitempty"`
	Scale      float64  `json:"scale,omitempty" yaml:"scale,omitempty"` // 1 where all training rows are equal
	Missing    bool     `json:"missing,omitempty" yaml:"missing,omitempty"`
}

func (e *Encoding) numeric() bool { return len(e.Categories) == 0 }

// levels are the categories with a feature.
func (e *Encoding) levels() []string {
	if len(e.Levels) > 0 {
		return e.Levels
	}
	return e.Categories
}

// width is the number of features.
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

// Check refuses a preparation, read from a file perhaps, that cannot prepare rows;
// the error is ErrColumn.
func (p *Preparation) Check() error {
	if (len(p.Encodings) > 0) == (len(p.Numbers) > 0) {
		return fmt.Errorf("datasets: a preparation of %d columns and %d numbers: %w: want one kind", len(p.Encodings), len(p.Numbers), ErrColumn)
	}
	for i, n := range p.Numbers {
		if n < 1 || n > p.Indices || i > 0 && n <= p.Numbers[i-1] {
			return fmt.Errorf("datasets: a preparation's number %d: %w: want them to increase from 1 to %d", n, ErrColumn, p.Indices)
		}
	}
	for i := range p.Encodings {
		e := &p.Encodings[i]
		for _, level := range e.Levels {
			if !slices.Contains(e.Categories, level) {
				return fmt.Errorf("datasets: a preparation's level %q of %q: %w: it is none of the categories", level, e.Column, ErrColumn)
			}
		}
		if e.numeric() && (!(e.Scale > 0) || math.IsInf(e.Scale, 0) || math.IsNaN(e.Center) || math.IsInf(e.Center, 0)) {
			return fmt.Errorf("datasets: a preparation's %q: %w: it has the centre %v and the scale %v", e.Column, ErrColumn, e.Center, e.Scale)
		}
	}
	return nil
}

// Columns names the features: "age", "job=student", "OtherPerCap missing";
// LIBSVM's by their numbers.
func (p *Preparation) Columns() []string {
	var names []string
	for _, n := range p.Numbers {
		names = append(names, strconv.Itoa(n))
	}
	for i := range p.Encodings {
		e := &p.Encodings[i]
		if e.numeric() {
			names = append(names, e.Column)
		}
		for _, level := range e.levels() {
			names = append(names, e.Column+"="+level)
		}
		if e.Missing {
			names = append(names, e.Column+" missing")
		}
	}
	return names
}

// specs are the columns that the features need.
func (p *Preparation) specs() []columnSpec {
	var specs []columnSpec
	for _, e := range p.Encodings {
		specs = append(specs, columnSpec{name: e.Column, numeric: e.numeric(), categories: e.Categories, missing: e.Missing})
	}
	return specs
}

// Read prepares new rows: text of separated fields with the columns that the
// table came from, the label's and others not needed, plain or gzip. It gives a
// row for each record. name is for errors, which are *FileError with line and
// column: ErrFormat, ErrTruncated, ErrColumn, ErrNumber, ErrCategory (a category
// that the table did not have), ErrMissing.
func (p *Preparation) Read(r io.Reader, name string) (*matrix.Dense, error) {
	s, err := readSheet(r, name, &schema{header: p.Header, absent: p.Absent, columns: p.specs()})
	if err != nil {
		return nil, err
	}
	rows := make([]int, s.rows)
	for i := range rows {
		rows[i] = i
	}
	return p.features(s, rows)
}

// ReadLIBSVM prepares new rows in LIBSVM's format, whose labels are of no use
// here. Errors are those of [ReadLIBSVM].
func (p *Preparation) ReadLIBSVM(r io.Reader, name string) (*matrix.CSR, error) {
	file, err := ReadLIBSVM(r, name, p.Indices)
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

// fit sets the centres and scales of the numbers from those rows, missing
// values left out, and returns the names of the columns that are constant there.
// Numbers too large or too close together to be standardised are ErrColumn.
func (p *Preparation) fit(s *sheet, rows []int) (constant []string, err error) {
	for i := range p.Encodings {
		e := &p.Encodings[i]
		if !e.numeric() {
			continue
		}
		e.Center, e.Scale = meanAndDeviation(s.column(e.Column).numbers, rows)
		switch {
		case e.Scale == 0:
			e.Scale = 1
			constant = append(constant, e.Column)
		case math.IsInf(e.Scale, 0) || math.IsNaN(e.Scale) || e.Scale < minScale:
			return nil, &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf(
				"%w %q: its standard deviation is out of range: rescale the numbers", ErrColumn, e.Column)}
		}
	}
	return constant, nil
}

// minScale is the least standard deviation whose square is a normal number.
const minScale = 1e-150

// meanAndDeviation takes two passes, the second about the mean of the first:
//
//	m = 1/n sum_i x_i,    s^2 = 1/n sum_i (x_i - m)^2
//
// over the n rows whose x is not NaN. Of equal numbers, or none, s is 0.
func meanAndDeviation(x []float64, rows []int) (mean, deviation float64) {
	n, least, most := 0.0, math.Inf(1), math.Inf(-1)
	for _, i := range rows {
		if v := x[i]; !math.IsNaN(v) {
			mean += v
			least, most = min(least, v), max(most, v)
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	if least == most { // n additions may have rounded
		return least, 0
	}
	mean /= n
	for _, i := range rows {
		if d := x[i] - mean; !math.IsNaN(d) {
			deviation += d * d
		}
	}
	return mean, max(math.Sqrt(deviation/n), math.SmallestNonzeroFloat64)
}

// features encodes rows of the sheet.
func (p *Preparation) features(s *sheet, rows []int) (*matrix.Dense, error) {
	out := &matrix.Dense{Rows: len(rows), Cols: len(p.Columns())}
	out.Data = make([]float64, out.Rows*out.Cols)
	at := 0
	for i := range p.Encodings {
		e := &p.Encodings[i]
		c := s.column(e.Column)
		if e.numeric() {
			e.numbers(c.numbers, rows, out, at)
		} else {
			e.indicators(c, rows, out, at)
		}
		at += e.width()
	}
	for i, x := range out.Data {
		if math.IsInf(x, 0) { // a number far from all training rows'
			return nil, &FileError{Path: s.name, Offset: -1, Err: fmt.Errorf("%w: row %d of %q is out of range once standardised",
				ErrNumber, s.number(rows[i/out.Cols])+1, p.Columns()[i%out.Cols])}
		}
	}
	return out, nil
}

// numbers writes the features of a column of numbers, from column at on.
func (e *Encoding) numbers(x []float64, rows []int, out *matrix.Dense, at int) {
	for k, i := range rows {
		row := out.Data[k*out.Cols:][:out.Cols]
		if !math.IsNaN(x[i]) {
			row[at] = (x[i] - e.Center) / e.Scale
		} else {
			row[at+1] = 1
		}
	}
}

// indicators writes the features of a column of categories, from column at on.
func (e *Encoding) indicators(c *column, rows []int, out *matrix.Dense, at int) {
	levels := e.levels()
	place := make([]int, len(c.values)) // of each category's feature, -1: none
	for k, v := range c.values {
		place[k] = slices.Index(levels, v)
	}
	for k, i := range rows {
		feature := len(levels) // the flag of missing values
		if code := c.codes[i]; code >= 0 {
			feature = place[code]
		}
		if feature >= 0 {
			out.Data[k*out.Cols+at+feature] = 1
		}
	}
}

// formatNumber writes the shortest text that reads as x.
func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
