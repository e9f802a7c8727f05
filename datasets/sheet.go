package datasets

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/internal/option"
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

// names finds the first of several names that equals a name. Files may have 100,000 columns.
type names struct {
	of   map[string]int
	next int // number of names in the map
}

// find returns the index of the first name that equals name, or -1. name(i) is name i of n. Names
// may be appended between two calls, and do not change otherwise.
func (p *names) find(wanted string, n int, name func(i int) string) int {
	if p.of == nil {
		p.of = make(map[string]int, n)
	}
	for ; p.next < n; p.next++ {
		if _, twice := p.of[name(p.next)]; !twice {
			p.of[name(p.next)] = p.next
		}
	}
	if i, ok := p.of[wanted]; ok {
		return i
	}
	return -1
}

// headerPlaces finds columns of a header by their names.
type headerPlaces struct {
	header   []string
	repeated []string // names that several columns may have: the first counts
	names    names
	counts   map[string]int // number of columns of each name
}

// column returns the index of the column. A name that several columns have is an error: their
// values may differ, and no rule says which one was meant.
func (h *headerPlaces) column(name string) (int, error) {
	at := h.names.find(name, len(h.header), func(i int) string { return h.header[i] })
	if at < 0 {
		return 0, noColumn(name, h.header)
	}
	if h.counts == nil {
		h.counts = make(map[string]int, len(h.header))
		for _, column := range h.header {
			h.counts[column]++
		}
	}
	if n := h.counts[name]; n > 1 && !slices.Contains(h.repeated, name) {
		return 0, fmt.Errorf("%w: %d columns are named %q; remove or rename all but one", ErrColumn, n, name)
	}
	return at, nil
}

// setOf returns the texts as a set.
func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set
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

// columnSpec describes how to read a column.
type columnSpec struct {
	name    string
	numeric bool
	// name of the column in the file; "": the same as name
	from string
	// function that parses a number; nil: the function number
	value      func(text []byte) (float64, bool)
	decimal    string   // how the numbers are written, as in Encoding
	date       string   // as in Encoding
	categories []string // the allowed categories; nil: any, in alphabetical order
	unknown    bool     // categories outside the list are allowed and count as no category
	missing    bool     // a value may be missing
	many       bool     // the column may have any number of categories
	guess      bool     // the column becomes numbers if all values are numbers, otherwise categories
	summary    bool     // keep the categories and whether values are missing, and no values
}

// number parses a number. It calls the usual parser directly.
func (s *columnSpec) number(text []byte) (float64, bool) {
	if s.value == nil {
		return number(text)
	}
	return s.value(text)
}

// schema describes which columns of a file to read, and how.
type schema struct {
	layout  Layout
	absent  []string // texts that mark a missing value
	columns []columnSpec
	// attributes to read in addition: names of columns, or conditions on columns
	attributes []string
	// leave out rows that lack a value in a column with missing = false
	drop  bool
	pages *paged.Dir               // receives the values; nil: memory
	room  func(bytes uint64) error // as in TableOptions; nil: no limit
	// read these rows of the file alone, by increasing numbers; nil: all rows
	only   []int
	begins []int // sheet.begins of an earlier reading, for only
	// the processes that read the file together, each a part of its bytes; nil: this process alone
	share Share
	size  int64 // bytes of the file
}

// maxCategories is the largest number of features of one text column.
const maxCategories = 1000

// noColumn returns the error for an unknown column, with the column that has the nearest name and a
// list of the columns.
func noColumn(name string, header []string) error {
	guess := ""
	if near := option.Nearest(name, header); near != "" {
		guess = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("%w: no column %q; %sthe columns are %s", ErrColumn, name, guess, listed(header, 20))
}

// listed joins the first names, at most most names, for an error.
func listed(names []string, most int) string {
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = inList(name)
	}
	return strings.Join(shown, ", ") + more
}

// inList returns a name as a list shows it: in quotes if it has a comma, or characters that are not
// visible.
func inList(name string) string {
	invisible := func(c rune) bool { return !strconv.IsPrint(c) }
	if name == "" || strings.HasPrefix(name, `"`) || !strings.Contains(name, ",") && strings.IndexFunc(name, invisible) < 0 && name == strings.TrimSpace(name) {
		return name
	}
	return strconv.Quote(name)
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
