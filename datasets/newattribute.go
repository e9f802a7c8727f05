package datasets

import (
	"fmt"
	"slices"
)

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
