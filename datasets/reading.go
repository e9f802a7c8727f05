package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Reading says how a training read the columns that groups, attributes and conditions use. Readers
// of new rows obey it, so that the other new rows do not decide what a value is.
type Reading struct {
	// Missing is MissingFlagged if "missing" is a value of groups and attributes, and MissingDropped
	// if rows without a value in a column of Required were left out.
	Missing  string          `json:"missing,omitempty"`
	Required []string        `json:"required,omitempty"`
	Columns  []ColumnReading `json:"columns,omitempty"`
}

// ColumnReading says how a training read a column: as numbers or as texts.
type ColumnReading struct {
	Column string `json:"column"`
	// Number says that equal numbers are equal values; otherwise equal texts are equal values.
	Number bool `json:"number,omitempty"`
	// Decimal says how the numbers are written, as Encoding.Decimal does.
	Decimal string `json:"decimal,omitempty"`
}

// add adds the reading of a column of a sheet, once.
func (r *Reading) add(c *column) {
	if !slices.ContainsFunc(r.Columns, func(other ColumnReading) bool { return other.Column == c.name }) {
		r.Columns = append(r.Columns, ColumnReading{Column: c.name, Number: c.codes == nil, Decimal: c.decimal})
	}
}

// of returns the reading of a column. A column that the training read for features alone has the
// reading of the features. known is false for a column that the training did not use.
func (r *Reading) of(name string, p *Preparation) (c ColumnReading, known bool) {
	for _, c := range r.Columns {
		if c.Column == name {
			return c, true
		}
	}
	for i := range p.Encodings {
		if e := &p.Encodings[i]; e.Column == name {
			return ColumnReading{Column: name, Number: e.numeric() && e.Date == "", Decimal: e.Decimal}, true
		}
	}
	return ColumnReading{Column: name}, false
}

// NewAttribute makes an attribute of new rows. text is the name of a column or a condition on the
// column, name is the column's name, and texts holds the column's field in each row. values are the
// attribute's values in the training; nil: the training had no such attribute. Values that only new
// rows have follow those of the training. A column that the training did not use holds texts, and
// numbers in a condition with < or >.
func (r *Reading) NewAttribute(text, name string, texts, values []string, p *Preparation) (Attribute, error) {
	failed := func(err error) (Attribute, error) { return Attribute{}, fmt.Errorf("datasets: attribute: %w", err) }
	c, err := parseCondition(text, []string{name})
	if err != nil {
		return failed(err)
	}
	read, known := r.of(name, p)
	if !known {
		read.Number = !c.each && c.value == ""
	}
	own := &column{name: name, decimal: read.Decimal}
	if read.Number {
		err = own.readNumbers(texts, values, p.Absent)
	} else {
		own.readTexts(texts, p.Absent)
		if values != nil && !slices.Contains(own.values, c.value) {
			own.values = append(own.values, c.value) // the training had the value
		}
	}
	flag := r.Missing == MissingFlagged
	if flag && c.value == theMissing && own.codes == nil && own.firstMissing() < 0 {
		return Attribute{Name: text, Values: []string{text, theRest}, Of: slices.Repeat([]int{1}, len(texts))}, nil
	}
	if err != nil {
		return failed(err)
	}
	a, err := c.attribute(own, flag)
	if err != nil {
		return failed(err)
	}
	if c.each {
		a.follow(values)
	}
	return a, nil
}

// readNumbers sets the numbers of new rows. A number has the spelling that the training's values or
// the first row gives it.
func (c *column) readNumbers(texts, values, absent []string) error {
	c.spell(values)
	c.numbers = make([]float64, len(texts))
	known := map[string]float64{}
	for i, text := range texts {
		x, ok := known[text]
		if !ok {
			if x, ok = localNumber([]byte(text), c.decimal); slices.Contains(absent, text) {
				x = math.NaN()
			} else if !ok {
				return fmt.Errorf("%w: row %d: %s holds numbers and %s is %w", ErrGroup, i+1, c.name, quoted([]byte(text)), ErrNumber)
			}
			if _, named := c.spelled[x]; !named {
				c.spelled[x] = text
			}
			known[text] = x
		}
		c.numbers[i] = x
	}
	return nil
}

// readTexts sets the categories of new rows, in alphabetical order.
func (c *column) readTexts(texts, absent []string) {
	c.codes = make([]int32, 0, len(texts))
	codes := map[string]int32{}
	for _, text := range texts {
		code, ok := codes[text]
		if !ok {
			if code = -1; !slices.Contains(absent, text) {
				code = int32(len(c.values))
				c.values = append(c.values, text)
			}
			codes[text] = code
		}
		c.codes = append(c.codes, code)
	}
	c.sortValues(codes)
}

// follow gives the attribute the values of the training, followed by its own other values.
func (a *Attribute) follow(values []string) {
	all, place := slices.Clone(values), make([]int, len(a.Values))
	for k, v := range a.Values {
		if place[k] = slices.Index(all, v); place[k] < 0 {
			place[k] = len(all)
			all = append(all, v)
		}
	}
	for i, k := range a.Of {
		if k >= 0 {
			a.Of[i] = place[k]
		}
	}
	a.Values = all
}

// spell lets numbers have the names of the first texts that write them.
func (c *column) spell(texts []string) {
	c.spelled = make(map[float64]string)
	for _, text := range texts {
		if x, ok := localNumber([]byte(text), c.decimal); ok {
			x = c.exactly(x)
			if _, known := c.spelled[x]; !known {
				c.spelled[x] = text
			}
		}
	}
}

// spelling returns the name of a number: as in the file, if the column knows the file's texts.
func (c *column) spelling(x float64) string {
	if text, ok := c.spelled[x]; ok {
		return text
	}
	text := formatNumber(x)
	if c.decimal == commaDecimals {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}
