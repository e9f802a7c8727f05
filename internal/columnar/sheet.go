// Package columnar reads records into columns of numbers and categories. It learns the kinds of
// columns, tests conditions on columns, and lets processes share the reading of a file.
package columnar

import (
	"math"
	"slices"

	"ppal/internal/mapped"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// Sheet holds the columns of a table before encoding: numbers and categories.
type Sheet struct {
	Name    string // name of the file, for errors
	Rows    int
	Columns []*Column
	Source  []int       // the rows' numbers in the file, from 0; nil: all rows
	Begins  []int       // the number of the first row of each chunk in the file, and of all rows
	LeftOut string      // which rows of the arrays and of the table beside the arrays are left out; "": none
	Flag    bool        // "missing" is a value of groups and attributes
	Pages   *mapped.Dir // has the columns' values; nil: memory

	places recordio.Names // of the columns
}

// Column holds one value for each row: a number, or a category.
type Column struct {
	Name    string
	Numbers []float64          // NaN: missing; nil for categories
	Codes   []int32            // indices into values, -1: missing; nil for numbers
	Values  []string           // the categories
	Lacks   bool               // a value is missing in a column that keeps no values
	Decimal string             // how the numbers are written, as in Encoding
	Single  bool               // the file holds numbers of 32 bits; see exactly
	Spelled map[float64]string // the names of numbers, as in the file; see spelling
	Wide    *Wide              // holds the numbers, in its column At, instead of Numbers; the column is a feature alone
	At      int
}

// sortValues sorts the categories and renumbers the codes. codes holds the code of each category
// before sorting.
func (c *Column) sortValues(codes map[string]int32) {
	slices.Sort(c.Values)
	place := make([]int32, len(c.Values))
	for k, v := range c.Values {
		place[codes[v]] = int32(k)
	}
	for row, code := range c.Codes {
		if code >= 0 {
			c.Codes[row] = place[code]
		}
	}
}

// becomeNumbers replaces the categories by numbers if all categories are numbers.
func (c *Column) becomeNumbers(pages *mapped.Dir) (bool, error) {
	values := make([]float64, len(c.Values))
	for k, v := range c.Values {
		x, ok := textvalue.Number([]byte(v))
		if !ok {
			return false, nil
		}
		values[k] = x
	}
	var err error
	if c.Numbers, err = mapped.Make[float64](pages, len(c.Codes)); err != nil {
		return false, err
	}
	for i, code := range c.Codes {
		if c.Numbers[i] = math.NaN(); code >= 0 {
			c.Numbers[i] = values[code]
		}
	}
	c.Spell(c.Values)
	c.Codes, c.Values = nil, nil
	return true, nil
}

// Column returns the column with the given name, or nil.
func (s *Sheet) Column(name string) *Column {
	i := s.places.Find(name, len(s.Columns), func(i int) string { return s.Columns[i].Name })
	if i < 0 {
		return nil
	}
	return s.Columns[i]
}

// Names returns the names of the columns.
func (s *Sheet) Names() []string {
	names := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		names[i] = c.Name
	}
	return names
}

// Number returns the row's number in the file, from 0, without the header.
func (s *Sheet) Number(row int) int {
	if s.Source == nil {
		return row
	}
	return s.Source[row]
}

// exactly returns the number that a column holds for a number in decimal form. A column of
// 32-bit numbers holds the nearest 32-bit number, so a stored 0.7 meets x>=0.7, as in NumPy.
func (c *Column) exactly(x float64) float64 {
	if c.Single {
		return float64(float32(x))
	}
	return x
}

// Filter returns a sheet with the rows for which want returns true.
func (s *Sheet) Filter(want func(row int) bool) *Sheet {
	out := &Sheet{Name: s.Name, Source: []int{}}
	for i := range s.Rows {
		if want(i) {
			out.Source = append(out.Source, i)
		}
	}
	out.Rows = len(out.Source)
	for _, c := range s.Columns {
		kept := &Column{Name: c.Name, Values: c.Values, Decimal: c.Decimal, Single: c.Single, Spelled: c.Spelled}
		for _, i := range out.Source {
			if c.Codes != nil {
				kept.Codes = append(kept.Codes, c.Codes[i])
			} else {
				kept.Numbers = append(kept.Numbers, c.Numbers[i])
			}
		}
		out.Columns = append(out.Columns, kept)
	}
	return out
}

// Text returns the value of a row, or "" if the value is missing.
func (c *Column) Text(row int) string {
	switch {
	case c.Codes == nil && math.IsNaN(c.Numbers[row]), c.Codes != nil && c.Codes[row] < 0:
		return ""
	case c.Codes == nil:
		return c.spelling(c.Numbers[row])
	}
	return c.Values[c.Codes[row]]
}

// FirstMissing returns the first row without a value, or -1 if all rows have a value.
func (c *Column) FirstMissing() int {
	if c.Codes != nil {
		return slices.Index(c.Codes, -1)
	}
	for i, x := range c.Numbers { // inline, unlike slices.IndexFunc
		if math.IsNaN(x) {
			return i
		}
	}
	return -1
}
