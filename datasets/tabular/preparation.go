package tabular

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// Preparation describes how the columns of a file became features. It is fitted on the training
// rows and applied to all rows. A preparation can be saved as JSON or YAML and then prepares new
// rows. A preparation has either Encodings, for text of separated fields, or Numbers, for rows in
// LIBSVM's format, or Pictures.
type Preparation struct {
	Layout `yaml:",inline"`
	// texts that mark a missing value
	Absent []string `json:"absent,omitempty" yaml:"absent,omitempty"`
	// one encoding for each used column, in the order of the features
	Encodings []Encoding `json:"encodings,omitempty" yaml:"encodings,omitempty"`
	// the pictures that a column names
	Pictures *PictureEncoding `json:"pictures,omitempty" yaml:"pictures,omitempty"`
	// LIBSVM's indices, from 1, in the order of the features; they increase
	Numbers []int `json:"numbers,omitempty" yaml:"numbers,omitempty,flow"`
	// means and standard deviations of the training rows that standardise these features, which are
	// rounded to float32 before and after; empty: the features are the values of the file
	Centers []float64 `json:"centers,omitempty" yaml:"centers,omitempty,flow"`
	Scales  []float64 `json:"scales,omitempty" yaml:"scales,omitempty,flow"`
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

// Value parses a text of the column as a number, without standardising the number.
func (e *Encoding) Value(text []byte) (x float64, ok bool) {
	if e.Date != "" {
		return textvalue.DateNumber(string(text), e.Date, e.Part)
	}
	return textvalue.LocalNumber(text, e.Decimal)
}

// Parser returns the function that parses the column's texts; nil for numbers as in programs.
func (e *Encoding) Parser() func(text []byte) (float64, bool) {
	if e.Date == "" && e.Decimal == textvalue.PlainNumbers {
		return nil
	}
	return e.Value
}

// Title returns the name of the column, with the part if the column holds dates.
func (e *Encoding) Title() string {
	if e.Part != "" {
		return e.Column + " " + e.Part
	}
	return e.Column
}

// Numeric reports whether the column holds numbers rather than categories.
func (e *Encoding) Numeric() bool { return len(e.Categories) == 0 }

// EncodedLevels returns the categories with a feature.
func (e *Encoding) EncodedLevels() []string {
	if len(e.Levels) > 0 {
		return e.Levels
	}
	return e.Categories
}

// Width returns the number of features.
func (e *Encoding) Width() int {
	width := len(e.EncodedLevels())
	if e.Numeric() {
		width = 1
	}
	if e.Missing {
		width++
	}
	return width
}

// Check returns ErrColumn if the preparation, which may come from a file, is not valid.
func (p *Preparation) Check() error {
	if kinds := vec.Indicator(len(p.Encodings) > 0) + vec.Indicator(len(p.Numbers) > 0) + vec.Indicator(p.Pictures != nil); kinds != 1 {
		return fmt.Errorf("datasets: a preparation with %d columns and %d numbers: %w: want either columns or numbers", len(p.Encodings), len(p.Numbers), dataerr.ErrColumn)
	}
	if p.Pictures != nil {
		if err := p.Pictures.Check(); err != nil {
			return fmt.Errorf("datasets: a preparation: %w", err)
		}
	}
	if err := p.Layout.Check(); err != nil {
		return fmt.Errorf("datasets: a preparation: %w", err)
	}
	for i, n := range p.Numbers {
		if n < 1 || n > p.Indices || i > 0 && n <= p.Numbers[i-1] {
			return fmt.Errorf("datasets: a preparation's number %d: %w: the numbers must increase within 1..%d", n, dataerr.ErrColumn, p.Indices)
		}
	}
	if len(p.Scales) != len(p.Centers) || len(p.Centers) > 0 && len(p.Centers) != len(p.Numbers) {
		return fmt.Errorf("datasets: a preparation: %w: %d centres and %d scales of %d numbers", dataerr.ErrColumn, len(p.Centers), len(p.Scales), len(p.Numbers))
	}
	for j, scale := range p.Scales {
		if !(scale > 0) || math.IsInf(scale, 0) || math.IsNaN(p.Centers[j]) || math.IsInf(p.Centers[j], 0) {
			return fmt.Errorf("datasets: a preparation's number %d: %w: it has the centre %v and the scale %v", p.Numbers[j], dataerr.ErrColumn, p.Centers[j], scale)
		}
	}
	for i := range p.Encodings {
		e := &p.Encodings[i]
		for _, level := range e.Levels {
			if !slices.Contains(e.Categories, level) {
				return fmt.Errorf("datasets: a preparation's level %q of %q: %w: it is not one of the categories", level, e.Column, dataerr.ErrColumn)
			}
		}
		if e.Date != "" || e.Part != "" {
			if err := textvalue.CheckDate(e.Date, e.Part); err != nil {
				return fmt.Errorf("datasets: a preparation's %q: %w: %w", e.Column, dataerr.ErrColumn, err)
			}
		}
		if !slices.Contains([]string{textvalue.PlainNumbers, textvalue.CommaDecimals, textvalue.PointDecimals}, e.Decimal) {
			return fmt.Errorf("datasets: a preparation's %q: %w: the decimal sign is %q, want a comma or a point", e.Column, dataerr.ErrColumn, e.Decimal)
		}
		if e.Numeric() && (!(e.Scale > 0) || math.IsInf(e.Scale, 0) || math.IsNaN(e.Center) || math.IsInf(e.Center, 0)) {
			return fmt.Errorf("datasets: a preparation's %q: %w: it has the centre %v and the scale %v", e.Column, dataerr.ErrColumn, e.Center, e.Scale)
		}
	}
	return nil
}

// Width returns the number of features.
func (p *Preparation) Width() int {
	if p.Pictures != nil {
		return p.Pictures.Pixels()
	}
	width := len(p.Numbers)
	for i := range p.Encodings {
		width += p.Encodings[i].Width()
	}
	return width
}

// Columns returns the names of the features: "age", "job=student", "OtherPerCap missing". Features
// of LIBSVM files are named by their numbers. Pixels have no names.
func (p *Preparation) Columns() []string {
	var names []string
	for _, n := range p.Numbers {
		names = append(names, strconv.Itoa(n-p.Shift()))
	}
	for i := range p.Encodings {
		e := &p.Encodings[i]
		if e.Numeric() {
			names = append(names, e.Title())
		}
		for _, level := range e.EncodedLevels() {
			names = append(names, e.Column+"="+level)
		}
		if e.Missing {
			names = append(names, e.Title()+" missing")
		}
	}
	return names
}

// Shift returns the number that a reader adds to the indices in LIBSVM's format, so that they count
// from 1.
func (p *Preparation) Shift() int { return vec.Indicator(p.ZeroBased) }

// Standardised returns the feature of a number.
func (e *Encoding) Standardised(x float64) float64 { return Standardise(x, e.Center, e.Scale) }

// Singly standardises a row of the features Numbers in place, if the preparation has Centers.
func (p *Preparation) Singly(row []float64) {
	for j, center := range p.Centers {
		row[j] = float64(float32(Standardise(float64(float32(row[j])), center, p.Scales[j])))
	}
}

// Standardise returns x minus the centre, divided by the scale.
func Standardise(x, center, scale float64) float64 { return (x - center) / scale }
