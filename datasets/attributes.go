package datasets

import (
	"fmt"
	"slices"
	"strings"

	"ppal/datasets/matrix"
)

// attributesOf makes one attribute for each text. A text is a column's name or a condition on a
// column. column returns the named column with a value for each row. The result columns names the
// columns that determine the attributes. With flag, "missing" is a value.
func attributesOf(texts, names []string, column func(name string) *column, flag bool) (attributes []Attribute, columns []string, err error) {
	for _, text := range texts {
		c, err := parseCondition(text, names)
		if err == nil {
			var a Attribute
			if a, err = c.attribute(column(c.column), flag); err == nil {
				attributes, columns = append(attributes, a), append(columns, c.column)
				continue
			}
		}
		return nil, nil, fmt.Errorf("datasets: attribute: %w", err)
	}
	return attributes, columns, nil
}

// columnsWith returns the columns that have one of the values as a category, without regard to
// case. It skips values that a class or a known attribute has.
func columnsWith(values, classes []string, known []Attribute, names []string, categories func(name string) []string) (columns []string) {
	for _, v := range values {
		if slices.Contains(classes, v) || slices.ContainsFunc(known, func(a Attribute) bool { return slices.Contains(a.Values, v) }) {
			continue
		}
		for _, name := range names {
			has := slices.ContainsFunc(categories(name), func(c string) bool { return strings.EqualFold(c, v) })
			known := slices.ContainsFunc(known, func(a Attribute) bool { return a.Name == name })
			if has && !known && !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// attribute returns the attribute that the condition defines on the column.
func (c *condition) attribute(col *column, flag bool) (Attribute, error) {
	col = c.flagged(col, flag)
	rows := max(len(col.codes), len(col.numbers))
	a := Attribute{Name: c.text, Of: make([]int, rows)}
	if !c.each {
		meets, err := c.test(col)
		if err != nil {
			return a, err
		}
		a.Values = []string{c.text, theRest}
		for i := range a.Of {
			switch {
			case !flag && col.missing(i):
				a.Of[i] = -1
			case !meets(i):
				a.Of[i] = 1
			}
		}
		return a, nil
	}
	var err error
	if a.Values, err = col.distinct(); err != nil {
		return a, err
	}
	place := make(map[string]int, len(a.Values))
	for k, v := range a.Values {
		place[v] = k
	}
	for i := range a.Of {
		if a.Of[i] = -1; !col.missing(i) {
			a.Of[i] = place[col.text(i)]
		}
	}
	return a, nil
}

// attributes makes the attributes of a sparse table that the texts name. The blocks of features are
// its columns: sex, race=White. Without blocks, an attribute is a feature's number, with the values
// "feature 5" (the row has an entry) and "the rest". by holds the first feature of each block that
// the texts use or, without blocks, the features themselves.
func (d *sparseDesign) attributes(x *matrix.CSR, texts []string) (attributes []Attribute, by []int32, err error) {
	if d.blocks == nil {
		return d.entries(x, texts)
	}
	attributes, columns, err := attributesOf(texts, d.titles, func(name string) *column {
		block := slices.Index(d.titles, name)
		c := &column{name: name, codes: slices.Repeat([]int32{-1}, x.Rows)}
		first := slices.Index(d.blocks, block)
		c.values = d.categories(name)
		for i := range x.Rows {
			for _, j := range x.Columns[x.Starts[i]:x.Starts[i+1]] {
				if d.blocks[j] == block {
					c.codes[i] = j - int32(first)
				}
			}
		}
		return c
	}, false)
	for _, name := range columns {
		by = append(by, int32(slices.Index(d.blocks, slices.Index(d.titles, name))))
	}
	return attributes, by, err
}

// categories returns the categories of a block of features.
func (d *sparseDesign) categories(title string) (list []string) {
	block := slices.Index(d.titles, title)
	for j := slices.Index(d.blocks, block); j < len(d.blocks) && d.blocks[j] == block; j++ {
		list = append(list, d.names[j][len(title)+len("="):])
	}
	return list
}

// entries makes one attribute for each named feature. The attribute says whether a row has an entry
// of the feature.
func (d *sparseDesign) entries(x *matrix.CSR, texts []string) (attributes []Attribute, features []int32, err error) {
	if features, err = d.find(texts, x.Cols); err != nil {
		return nil, nil, err
	}
	for k, j := range features {
		a := Attribute{Name: texts[k], Values: []string{"feature " + d.name(j), theRest}, Of: make([]int, x.Rows)}
		for i := range a.Of {
			if !x.Has(i, j) {
				a.Of[i] = 1
			}
		}
		attributes = append(attributes, a)
	}
	return attributes, features, nil
}
