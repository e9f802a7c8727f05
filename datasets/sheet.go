package datasets

import (
	"math"
	"slices"

	"ppal/internal/paged"
)

// sheet holds the columns of a table before encoding: numbers and categories.
type sheet struct {
	name    string // name of the file, for errors
	rows    int
	columns []*column
	source  []int      // the rows' numbers in the file, from 0; nil: all rows
	begins  []int      // the number of the first row of each chunk in the file, and of all rows
	flag    bool       // "missing" is a value of groups and attributes
	pages   *paged.Dir // has the columns' values; nil: memory

	places names // of the columns
}

// column holds one value for each row: a number, or a category.
type column struct {
	name    string
	numbers []float64          // NaN: missing; nil for categories
	codes   []int32            // indices into values, -1: missing; nil for numbers
	values  []string           // the categories
	lacks   bool               // a value is missing in a column that keeps no values
	decimal string             // how the numbers are written, as in Encoding
	single  bool               // the file holds numbers of 32 bits; see exactly
	spelled map[float64]string // the names of numbers, as in the file; see spelling
}

// sortValues sorts the categories and renumbers the codes. codes holds the code of each category
// before sorting.
func (c *column) sortValues(codes map[string]int32) {
	slices.Sort(c.values)
	place := make([]int32, len(c.values))
	for k, v := range c.values {
		place[codes[v]] = int32(k)
	}
	for row, code := range c.codes {
		if code >= 0 {
			c.codes[row] = place[code]
		}
	}
}

// becomeNumbers replaces the categories by numbers if all categories are numbers.
func (c *column) becomeNumbers(pages *paged.Dir) (bool, error) {
	of := make([]float64, len(c.values))
	for k, v := range c.values {
		x, ok := number([]byte(v))
		if !ok {
			return false, nil
		}
		of[k] = x
	}
	var err error
	if c.numbers, err = paged.Make[float64](pages, len(c.codes)); err != nil {
		return false, err
	}
	for i, code := range c.codes {
		if c.numbers[i] = math.NaN(); code >= 0 {
			c.numbers[i] = of[code]
		}
	}
	c.spell(c.values)
	c.codes, c.values = nil, nil
	pages.Touch(12 * len(c.numbers))
	return true, nil
}

// column returns the column with the given name, or nil.
func (s *sheet) column(name string) *column {
	i := s.places.find(name, len(s.columns), func(i int) string { return s.columns[i].name })
	if i < 0 {
		return nil
	}
	return s.columns[i]
}

// names returns the names of the columns.
func (s *sheet) names() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}

// number returns the row's number in the file, from 0, without the header.
func (s *sheet) number(row int) int {
	if s.source == nil {
		return row
	}
	return s.source[row]
}

// exactly returns the number that a column holds for a number in decimal form. A column of 32 bits
// holds the nearest number of 32 bits: x>=0.7 is met by a 0.7 there, as in NumPy.
func (c *column) exactly(x float64) float64 {
	if c.single {
		return float64(float32(x))
	}
	return x
}

// filter returns a sheet with the rows for which want returns true.
func (s *sheet) filter(want func(row int) bool) *sheet {
	out := &sheet{name: s.name, source: []int{}}
	for i := range s.rows {
		if want(i) {
			out.source = append(out.source, i)
		}
	}
	out.rows = len(out.source)
	for _, c := range s.columns {
		kept := &column{name: c.name, values: c.values, decimal: c.decimal, single: c.single, spelled: c.spelled}
		for _, i := range out.source {
			if c.codes != nil {
				kept.codes = append(kept.codes, c.codes[i])
			} else {
				kept.numbers = append(kept.numbers, c.numbers[i])
			}
		}
		out.columns = append(out.columns, kept)
	}
	return out
}

// text returns the value of a row, or "" if the value is missing.
func (c *column) text(row int) string {
	switch {
	case c.codes == nil && math.IsNaN(c.numbers[row]), c.codes != nil && c.codes[row] < 0:
		return ""
	case c.codes == nil:
		return c.spelling(c.numbers[row])
	}
	return c.values[c.codes[row]]
}

// firstMissing returns the first row without a value, or -1 if all rows have a value.
func (c *column) firstMissing() int {
	if c.codes != nil {
		return slices.Index(c.codes, -1)
	}
	return slices.IndexFunc(c.numbers, math.IsNaN)
}
