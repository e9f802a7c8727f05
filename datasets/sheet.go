package datasets

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ppal/trainer/option"
)

// sheet holds the columns of a table before encoding: numbers and categories.
type sheet struct {
	name    string // name of the file, for errors
	rows    int
	columns []*column
	source  []int // the rows' numbers in the file, from 0; nil: all rows
	flag    bool  // "missing" is a value of groups and attributes

	places names // of the columns
}

// names finds the first of several names that equals a name. Files may have 100,000 columns.
type names struct {
	of   map[string]int
	next int // number of names in the map
}

// find returns the index of the first name that equals name, or -1. name(i) is name i of n. Names
// may be appended or removed between two calls, and do not change otherwise.
func (p *names) find(wanted string, n int, name func(i int) string) int {
	if p.of == nil || p.next > n { // the first call, or names were removed
		p.of, p.next = make(map[string]int, n), 0
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
	numbers []float64 // NaN: missing; nil for categories
	codes   []int32   // indices into values, -1: missing; nil for numbers
	values  []string  // the categories
}

// columnSpec describes how to read a column.
type columnSpec struct {
	name    string
	numeric bool
	// name of the column in the file; "": the same as name
	from string
	// function that parses a number; nil: the function number
	value      func(text []byte) (float64, bool)
	categories []string // the allowed categories; nil: any, in alphabetical order
	unknown    bool     // categories outside the list are allowed and count as no category
	missing    bool     // a value may be missing
	free       bool     // the column becomes numbers if all values are numbers, otherwise categories
}

// number parses a number. It calls the usual parser directly, so that the bytes stay on the stack.
func (s *columnSpec) number(text string) (float64, bool) {
	if s.value == nil {
		return number([]byte(text))
	}
	return s.value([]byte(text))
}

// schema describes which columns of a file to read, and how.
type schema struct {
	header    []string // the columns' names if the first line does not hold them
	separator rune     // 0: detect the separator
	absent    []string // texts that mark a missing value
	columns   []columnSpec
	// attributes to read in addition: names of columns, or conditions on columns
	attributes []string
	// leave out rows that lack a value in a column with missing = false
	drop bool
}

// maxCategories is the largest number of features of one text column.
const maxCategories = 1000

// sheetReader reads records into a sheet's columns.
type sheetReader struct {
	records recordReader
	absent  []string
	specs   []columnSpec
	fields  []int // index of each column's field in a record
	columns []*column
	codes   []map[string]int32
	drop    bool
	source  []int // sheet.source, if the schema drops rows
	// no text in absent is a number, so the reader tries the number first
	numbersFirst bool
}

// noCategory is the code of a category outside the allowed categories.
const noCategory = -2

// readSheet reads the columns that the schema names, in the schema's order, from r.
//
// Errors are *FileError with line and column: ErrFormat, ErrTruncated, ErrColumn (no such column),
// ErrNumber, ErrCategory, ErrMissing.
func readSheet(r io.Reader, name string, s *schema) (*sheet, error) {
	records, err := newRecords(r, name, s.separator, s.header)
	if err != nil {
		return nil, err
	}
	reader := &sheetReader{records: records, absent: s.absent, specs: slices.Clone(s.columns), drop: s.drop}
	for _, text := range s.attributes {
		c, err := parseCondition(text, records.columns())
		if err != nil {
			return nil, fmt.Errorf("datasets: attribute: %w", err)
		}
		if !slices.ContainsFunc(reader.specs, func(spec columnSpec) bool { return spec.name == c.column }) {
			reader.specs = append(reader.specs, columnSpec{name: c.column, missing: true, free: true})
		}
	}
	if err := reader.begin(name); err != nil {
		return nil, err
	}
	rows := 0
	for line := 0; ; line++ {
		record, err := records.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.drop && reader.incomplete(record) {
			continue
		}
		for i, field := range reader.fields {
			if err := reader.add(i, record[field]); err != nil {
				return nil, records.fail(field, fmt.Errorf("%s: %w", records.columns()[field], err))
			}
		}
		if s.drop {
			reader.source = append(reader.source, line)
		}
		rows++
	}
	switch {
	case rows == 0 && s.drop:
		return nil, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: every row has a missing value", ErrMissing),
			Advice: "ignore the columns with many missing values (--ignore), or use --missing impute"}
	case rows == 0:
		return nil, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file has no rows", ErrTruncated)}
	}
	reader.end()
	return &sheet{name: name, rows: rows, columns: reader.columns, source: reader.source}, nil
}

// incomplete reports whether the record lacks a value in a column that allows no missing values.
func (r *sheetReader) incomplete(record []string) bool {
	for i, field := range r.fields {
		if !r.specs[i].missing && slices.Contains(r.absent, record[field]) {
			return true
		}
	}
	return false
}

// readSheetFile calls readSheet on a file.
func readSheetFile(path string, s *schema) (*sheet, error) {
	f, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSheet(f, path, s)
}

// begin finds the columns. If several columns have the same name, it uses the first.
func (r *sheetReader) begin(name string) error {
	r.numbersFirst = !slices.ContainsFunc(r.absent, func(text string) bool {
		_, ok := number([]byte(text))
		return ok
	})
	header, places := r.records.columns(), names{}
	for i := range r.specs {
		spec := &r.specs[i]
		from := cmp.Or(spec.from, spec.name)
		field := places.find(from, len(header), func(i int) string { return header[i] })
		if field < 0 {
			return &FileError{Path: name, Offset: -1, Line: 1, Err: noColumn(from, header)}
		}
		r.fields = append(r.fields, field)
		codes := map[string]int32{}
		for i, v := range spec.categories {
			codes[v] = int32(i)
		}
		r.codes = append(r.codes, codes)
		r.columns = append(r.columns, &column{name: spec.name, values: slices.Clone(spec.categories)})
	}
	return nil
}

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
	return strings.Join(names, ", ") + more
}

// add appends a value to column i.
func (r *sheetReader) add(i int, text string) error {
	c, spec := r.columns[i], &r.specs[i]
	if spec.numeric && r.numbersFirst {
		if x, ok := spec.number(text); ok {
			c.numbers = append(c.numbers, x)
			return nil
		}
	}
	absent := slices.Contains(r.absent, text)
	switch {
	case absent && !spec.missing:
		return fmt.Errorf("%w: %q", ErrMissing, text)
	case absent && spec.numeric:
		c.numbers = append(c.numbers, math.NaN())
	case absent:
		c.codes = append(c.codes, -1)
	case spec.numeric:
		x, ok := spec.number(text)
		if !ok {
			return fmt.Errorf("%s is %w", quoted([]byte(text)), ErrNumber)
		}
		c.numbers = append(c.numbers, x)
	default:
		code, ok := r.codes[i][text]
		if !ok {
			var err error
			if code, err = r.newCategory(i, text); err != nil {
				return err
			}
		}
		c.codes = append(c.codes, code)
	}
	return nil
}

// newCategory adds a category to column i if any category is allowed.
func (r *sheetReader) newCategory(i int, text string) (int32, error) {
	c, spec := r.columns[i], &r.specs[i]
	if spec.categories != nil && spec.unknown {
		return noCategory, nil
	}
	if spec.categories != nil {
		return 0, fmt.Errorf("%w %s, want one of %s", ErrCategory, quoted([]byte(text)), listed(spec.categories, 20))
	}
	if len(c.values) == maxCategories && !spec.free {
		return 0, fmt.Errorf("%w: more than %d different texts; ignore the column (--ignore), or replace it by numbers", ErrColumn, maxCategories)
	}
	text = strings.Clone(text) // the record refers to a larger buffer
	code := int32(len(c.values))
	r.codes[i][text] = code
	c.values = append(c.values, text)
	return code, nil
}

// end sorts the categories of the columns that allow any category.
func (r *sheetReader) end() {
	for i, c := range r.columns {
		if r.specs[i].numeric || r.specs[i].categories != nil || r.specs[i].free && c.becomeNumbers() {
			continue
		}
		c.sortValues(r.codes[i])
	}
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
func (c *column) becomeNumbers() bool {
	of := make([]float64, len(c.values))
	for k, v := range c.values {
		x, ok := number([]byte(v))
		if !ok {
			return false
		}
		of[k] = x
	}
	c.numbers = make([]float64, len(c.codes))
	for i, code := range c.codes {
		if c.numbers[i] = math.NaN(); code >= 0 {
			c.numbers[i] = of[code]
		}
	}
	c.codes, c.values = nil, nil
	return true
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
		kept := &column{name: c.name, values: c.values}
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

// text returns the value of a row, approximately as in the file, or "" if the value is missing.
func (c *column) text(row int) string {
	switch {
	case c.codes == nil && math.IsNaN(c.numbers[row]), c.codes != nil && c.codes[row] < 0:
		return ""
	case c.codes == nil:
		return formatNumber(c.numbers[row])
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
