package loader

import (
	"fmt"
	"slices"
	"strings"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
)

// attributesOf makes one attribute for each text. A text is a column's name or a condition on a
// column. column returns the named column with a value for each row. The result columns names the
// columns that determine the attributes. With flag, "missing" is a value.
func attributesOf(texts, names []string, column func(name string) *columnar.Column, flag bool) (attributes []tabular.Attribute, columns []string, err error) {
	for _, text := range texts {
		c, err := columnar.ParseCondition(text, names)
		if err == nil {
			var a tabular.Attribute
			if a, err = columnar.AttributeOf(&c, column(c.Column), flag); err == nil {
				attributes, columns = append(attributes, a), append(columns, c.Column)
				continue
			}
		}
		return nil, nil, fmt.Errorf("datasets: attribute: %w", err)
	}
	return attributes, columns, nil
}

// ColumnsWith returns the columns that have one of the values as a category, without regard to
// case. It skips values that a class or a known attribute has.
func ColumnsWith(values, classes []string, known []tabular.Attribute, names []string, categories func(name string) []string) (columns []string) {
	for _, v := range values {
		if slices.Contains(classes, v) || slices.ContainsFunc(known, func(a tabular.Attribute) bool { return slices.Contains(a.Values, v) }) {
			continue
		}
		for _, name := range names {
			has := slices.ContainsFunc(categories(name), func(c string) bool { return strings.EqualFold(c, v) })
			known := slices.ContainsFunc(known, func(a tabular.Attribute) bool { return a.Name == name })
			if has && !known && !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// Attributes makes the attributes of a sparse table that the texts name. The blocks of features are
// its columns: sex, race=White. Without blocks, an attribute is a feature's number, with the values
// "feature 5" (the row has an entry) and "the rest". by holds the first feature of each block that
// the texts use or, without blocks, the features themselves.
func (d *SparseDesign) Attributes(x entries, texts []string) (attributes []tabular.Attribute, by []int32, err error) {
	if d.Blocks == nil {
		return d.entries(x, texts)
	}
	rows, _ := x.Dims()
	attributes, columns, err := attributesOf(texts, d.Titles, func(name string) *columnar.Column {
		block := slices.Index(d.Titles, name)
		c := &columnar.Column{Name: name, Codes: slices.Repeat([]int32{-1}, rows)}
		first := slices.Index(d.Blocks, block)
		c.Values = d.Categories(name)
		for i := range rows {
			each(x, i, func(j int32) {
				if d.Blocks[j] == block {
					c.Codes[i] = j - int32(first)
				}
			})
		}
		return c
	}, false)
	for _, name := range columns {
		by = append(by, int32(slices.Index(d.Blocks, slices.Index(d.Titles, name))))
	}
	return attributes, by, err
}

// Categories returns the categories of a block of features.
func (d *SparseDesign) Categories(title string) (list []string) {
	block := slices.Index(d.Titles, title)
	for j := slices.Index(d.Blocks, block); j < len(d.Blocks) && d.Blocks[j] == block; j++ {
		list = append(list, d.Names[j][len(title)+len("="):])
	}
	return list
}

// entries makes one attribute for each named feature. The attribute says whether a row has an entry
// of the feature.
func (d *SparseDesign) entries(x entries, texts []string) (attributes []tabular.Attribute, features []int32, err error) {
	_, cols := x.Dims()
	if features, err = d.Find(texts, cols); err != nil {
		return nil, nil, err
	}
	for k, j := range features {
		attributes = append(attributes, d.entry(x, j))
		attributes[k].Name = texts[k]
	}
	return attributes, features, nil
}

// entry returns the attribute that says whether a row has an entry of feature j.
func (d *SparseDesign) entry(x entries, j int32) tabular.Attribute {
	rows, _ := x.Dims()
	a := tabular.Attribute{Values: []string{d.name(j), columnar.TheRest}, Of: make([]int, rows)}
	if d.Names == nil {
		a.Values[0] = "feature " + d.name(j)
	}
	for i := range a.Of {
		if !x.Has(i, j) {
			a.Of[i] = 1
		}
	}
	return a
}
