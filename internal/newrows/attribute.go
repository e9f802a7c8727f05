package newrows

import (
	"fmt"
	"slices"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
)

// columnReading returns the reading of a column. A column that the training read for features alone
// has the reading of the features. known is false for a column that the training did not use.
func columnReading(r *tabular.Reading, name string, p *tabular.Preparation) (c tabular.ColumnReading, known bool) {
	for _, c := range r.Columns {
		if c.Column == name {
			return c, true
		}
	}
	for i := range p.Encodings {
		if e := &p.Encodings[i]; e.Column == name {
			return tabular.ColumnReading{Column: name, Number: e.Numeric() && e.Date == "", Decimal: e.Decimal}, true
		}
	}
	return tabular.ColumnReading{Column: name}, false
}

// NewAttribute makes an attribute of new rows. text is the name of a column or a condition on the
// column, name is the column's name, and texts holds the column's field in each row. values are the
// attribute's values in the training; nil: the training had no such attribute. Values that only new
// rows have follow the values of the training. A column that the training did not use holds texts,
// and numbers in a condition with < or >.
func NewAttribute(r *tabular.Reading, text, name string, texts, values []string, p *tabular.Preparation) (tabular.Attribute, error) {
	failed := func(err error) (tabular.Attribute, error) {
		return tabular.Attribute{}, fmt.Errorf("datasets: attribute: %w", err)
	}
	c, err := columnar.ParseCondition(text, []string{name})
	if err != nil {
		return failed(err)
	}
	read, known := columnReading(r, name, p)
	if !known {
		read.Number = !c.Each && c.Value == ""
	}
	own := &columnar.Column{Name: name, Decimal: read.Decimal}
	if read.Number {
		err = own.ReadNumbers(texts, values, p.Absent)
	} else {
		own.ReadTexts(texts, p.Absent)
		if values != nil && !slices.Contains(own.Values, c.Value) {
			own.Values = append(own.Values, c.Value) // the training had the value
		}
	}
	flag := r.Missing == tabular.MissingFlagged
	if flag && c.Value == columnar.TheMissing && own.Codes == nil && own.FirstMissing() < 0 {
		return tabular.Attribute{Name: text, Values: []string{text, columnar.TheRest}, Of: slices.Repeat([]int{1}, len(texts))}, nil
	}
	if err != nil {
		return failed(err)
	}
	a, err := columnar.AttributeOf(&c, own, flag)
	if err != nil {
		return failed(err)
	}
	if c.Each {
		a.Follow(values)
	}
	return a, nil
}
