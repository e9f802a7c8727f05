package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"ppal/internal/paged"
)

// sheetReader reads the rows of a text into the columns of a sheet: workers read chunks into
// sheetParts, and add joins the parts in the order of the text.
type sheetReader struct {
	text   *delimited
	absent *textSet
	drop   bool
	specs  []columnSpec
	fields []int // index of each column's field in a record
	// no text in absent is a number, so a worker tries the number first
	numbersFirst bool

	pages   *paged.Dir // receives the columns' values; nil: parts receives them
	room    func(bytes uint64) error
	bytes   uint64             // in parts
	lists   []columnLists      // of each column, for pages
	parts   [][]columnPart     // of each column
	values  [][]string         // categories of each column so far
	codes   []map[string]int32 // codes of values; workers read those of columns with allowed categories
	rows    int
	records int    // rows with the dropped rows
	source  []int  // sheet.source, if the schema drops rows
	only    []int  // rows to read; nil: all rows
	begins  []int  // sheet.begins
	lacks   []bool // of each column: a value is missing
}

// sheetPart holds the rows of a chunk.
type sheetPart struct {
	rows, records int
	columns       []columnPart
	codes         []map[string]int32 // of the part's own categories
	source        []int              // index among the records of the chunk, if the schema drops rows
}

// columnPart holds the rows of a chunk in one column.
type columnPart struct {
	numbers []float64
	codes   []int32 // codes among the allowed categories, or among own
	own     []category
	places  []int32 // the sheet's code of each own category
	lacks   bool    // a value is missing
}

// category is a category of a chunk, and where the chunk has it first.
type category struct {
	text         string
	record, line int
}

// noCategory is the code of a category outside the allowed categories.
const noCategory = -2

// readSheet reads the columns that the schema names, in the schema's order, from r.
//
// Errors are *FileError with line and column: ErrFormat, ErrTruncated, ErrColumn (no such column),
// ErrNumber, ErrCategory, ErrMissing. If the processes of the schema read the file together, the
// error of any of them is errAlone in all.
func readSheet(r io.Reader, name string, s *schema) (*sheet, error) {
	text, err := newDelimited(r, name, s.layout)
	if err != nil {
		return nil, err
	}
	reader := &sheetReader{text: text, absent: newTextSet(s.absent), specs: slices.Clone(s.columns), drop: s.drop, pages: s.pages, only: s.only}
	for _, attribute := range s.attributes {
		c, err := parseCondition(attribute, text.header)
		if err != nil {
			return nil, fmt.Errorf("datasets: attribute: %w", err)
		}
		if !slices.ContainsFunc(reader.specs, func(spec columnSpec) bool { return spec.name == c.column }) {
			reader.specs = append(reader.specs, columnSpec{name: c.column, missing: true, many: true, guess: true})
		}
	}
	if err := reader.begin(); err != nil {
		return nil, err
	}
	next := withRows(text.next, s.only, s.begins)
	if s.share != nil {
		next = ownChunks(next, s.share, s.size)
	}
	reader.room = s.room
	err = inOrder(next, reader.worker, reader.add)
	if s.share != nil {
		err = reader.combine(s.share, err)
	}
	if err != nil {
		return nil, err
	}
	reader.begins = append(reader.begins, reader.records)
	switch {
	case s.only != nil && reader.rows != len(s.only):
		return nil, &FileError{Path: name, Offset: -1, Err: ErrChanged}
	case reader.rows == 0 && s.drop:
		return nil, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: every row has a missing value", ErrMissing),
			Advice: "ignore the columns with many missing values (--ignore), or use --missing impute"}
	case reader.rows == 0:
		return nil, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file has no rows", ErrTruncated)}
	}
	return reader.sheet()
}

// withRows returns a function that returns the chunks of next that have some of the rows. begins
// are the numbers of the first rows of the chunks, and of all rows; nil: all chunks.
func withRows(next func(buffer []byte) (chunk, error), rows, begins []int) func(buffer []byte) (chunk, error) {
	at := 0 // index of the next chunk
	return func(buffer []byte) (chunk, error) {
		for {
			c, err := next(buffer)
			if err != nil || at+1 >= len(begins) {
				return c, err
			}
			c.record = begins[at]
			at++
			switch i, _ := slices.BinarySearch(rows, c.record); {
			case i == len(rows):
				return chunk{}, io.EOF
			case rows[i] < begins[at]:
				return c, nil
			}
			buffer = c.text
		}
	}
}

// readSheetFile calls readSheet on a file.
func readSheetFile(path string, s *schema) (*sheet, error) {
	f, err := openInput(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSheet(f, path, s)
}

// begin finds the columns.
func (r *sheetReader) begin() error {
	r.numbersFirst = !r.absent.numbers
	places := headerPlaces{header: r.text.header, repeated: r.text.layout.Repeated}
	for i := range r.specs {
		spec := &r.specs[i]
		field, err := places.column(cmp.Or(spec.from, spec.name))
		if err != nil {
			return &FileError{Path: r.text.name, Offset: -1, Line: 1, Err: err}
		}
		r.fields = append(r.fields, field)
		codes := map[string]int32{}
		for i, v := range spec.categories {
			codes[v] = int32(i)
		}
		r.codes = append(r.codes, codes)
		r.values = append(r.values, slices.Clone(spec.categories))
	}
	r.parts, r.lacks = make([][]columnPart, len(r.specs)), make([]bool, len(r.specs))
	for range r.specs {
		r.lists = append(r.lists, newColumnLists(r.pages))
	}
	return nil
}

// worker returns a function that reads the rows of a chunk up to the first error.
func (r *sheetReader) worker() func(c chunk, part *sheetPart) error {
	records := r.text.records()
	rows := 0 // of the last chunk
	return func(c chunk, part *sheetPart) error {
		part.begin(r, rows)
		only, _ := slices.BinarySearch(r.only, c.record) // index of the next row to read
		err := records.each(c, func() error {
			record := part.records
			part.records++
			if r.only != nil {
				if only == len(r.only) || r.only[only] != c.record+record {
					return nil
				}
				only++
			}
			if r.drop && r.incomplete(records) {
				return nil
			}
			for i, field := range r.fields {
				if err := part.add(r, i, records, field); err != nil {
					return records.fail(field, fmt.Errorf("%s: %w", r.text.header[field], err))
				}
			}
			if r.drop {
				part.source = append(part.source, record)
			}
			part.rows++
			return nil
		})
		rows = part.rows
		return err
	}
}

// begin empties the part. The columns get memory of their own, because the reader keeps them. rows
// is a guess of the number of rows.
func (p *sheetPart) begin(r *sheetReader, rows int) {
	if p.columns == nil {
		p.columns, p.codes = make([]columnPart, len(r.specs)), make([]map[string]int32, len(r.specs))
		for i := range p.codes {
			p.codes[i] = map[string]int32{}
		}
	}
	p.rows, p.records, p.source = 0, 0, p.source[:0]
	rows += rows / 32
	for i := range p.columns {
		clear(p.codes[i])
		switch old := p.columns[i]; {
		case r.specs[i].summary:
			p.columns[i] = columnPart{numbers: old.numbers[:0], codes: old.codes[:0]}
		case r.specs[i].numeric:
			p.columns[i] = columnPart{numbers: make([]float64, 0, rows)}
		default:
			p.columns[i] = columnPart{codes: make([]int32, 0, rows)}
		}
	}
}

// incomplete reports whether the record lacks a value in a column that allows no missing values.
func (r *sheetReader) incomplete(of recordReader) bool {
	for i, field := range r.fields {
		if !r.specs[i].missing && r.absent.marks(of, field) {
			return true
		}
	}
	return false
}

// add appends the value in a field of the last record to column i.
func (p *sheetPart) add(r *sheetReader, i int, records recordReader, field int) error {
	c, spec := &p.columns[i], &r.specs[i]
	if spec.numeric && spec.date == "" {
		if x, ok := r.absent.number(records, field); ok {
			c.numbers = append(c.numbers, x)
			return nil
		}
	}
	text := records.text(field)
	if spec.numeric && r.numbersFirst {
		if x, ok := spec.number(text); ok {
			c.numbers = append(c.numbers, x)
			return nil
		}
	}
	absent := r.absent.has(text)
	c.lacks = c.lacks || absent
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
			return notReadable(text, spec.date)
		}
		c.numbers = append(c.numbers, x)
	case spec.categories != nil:
		code, ok := r.codes[i][string(text)]
		switch {
		case !ok && !spec.unknown:
			return fmt.Errorf("%w %s, want one of %s", ErrCategory, quoted(text), listed(spec.categories, 20))
		case !ok:
			code = noCategory
		}
		c.codes = append(c.codes, code)
	default:
		code, ok := p.codes[i][string(text)]
		if !ok {
			line, _ := records.position(field)
			code = int32(len(c.own))
			c.own = append(c.own, category{text: string(text), record: p.records, line: line})
			p.codes[i][c.own[code].text] = code
		}
		c.codes = append(c.codes, code)
	}
	return nil
}

// add appends the rows of a part to the sheet. It returns ErrColumn at the first value that makes
// too many categories.
func (r *sheetReader) add(p *sheetPart) error {
	first, at := -1, category{}
	for i := range p.columns {
		c := &p.columns[i]
		for _, own := range c.own {
			code, ok := r.codes[i][own.text]
			if !ok {
				code = int32(len(r.values[i]))
				if code >= maxCategories && !r.specs[i].many {
					if first < 0 || own.record < at.record {
						first, at = i, own
					}
					break
				}
				r.codes[i][own.text] = code
				r.values[i] = append(r.values[i], own.text)
			}
			c.places = append(c.places, code)
		}
		c.own = nil
		r.lacks[i] = r.lacks[i] || c.lacks
		if r.specs[i].summary {
			continue
		}
		if r.pages == nil {
			const number, code = 8, 4
			r.bytes += uint64(number*len(c.numbers) + code*len(c.codes))
			r.parts[i] = append(r.parts[i], *c)
		} else if err := r.lists[i].add(c); err != nil {
			return err
		}
	}
	if r.room != nil && r.pages == nil {
		if err := r.room(rowCopies * r.bytes); err != nil {
			return err
		}
	}
	if first >= 0 {
		field := r.fields[first]
		return &FileError{Path: r.text.name, Offset: -1, Line: at.line, Column: field + 1, Err: fmt.Errorf(
			"%s: %w: more than %d different texts; ignore the column (--ignore), or replace it by numbers", r.text.header[field], ErrColumn, maxCategories)}
	}
	for _, record := range p.source {
		r.source = append(r.source, r.records+record)
	}
	r.begins = append(r.begins, r.records)
	r.rows, r.records = r.rows+p.rows, r.records+p.records
	return nil
}

// sheet joins the parts of the columns, and sorts the categories of the columns that allow any
// category.
func (r *sheetReader) sheet() (*sheet, error) {
	s := &sheet{name: r.text.name, rows: r.rows, columns: make([]*column, len(r.specs)), source: r.source, begins: r.begins, pages: r.pages}
	failures := make([]error, len(r.specs))
	inParallel(len(r.specs), func(i int) { s.columns[i], failures[i] = r.column(i) })
	return s, errors.Join(failures...)
}

// column joins the parts of column i.
func (r *sheetReader) column(i int) (*column, error) {
	spec := &r.specs[i]
	c := &column{name: spec.name, values: r.values[i], lacks: spec.summary && r.lacks[i], decimal: spec.decimal, single: spec.numeric && spec.date == "" && r.text.single(r.fields[i])}
	if r.pages != nil {
		if err := r.lists[i].end(c); err != nil {
			return nil, err
		}
	} else {
		all := r.join(i, r.rows)
		c.numbers, c.codes = all.numbers, all.codes
	}
	if spec.numeric || spec.categories != nil {
		return c, nil
	}
	if spec.guess {
		if numbers, err := c.becomeNumbers(r.pages); numbers || err != nil {
			return c, err
		}
	}
	c.sortValues(r.codes[i])
	r.pages.Touch(4 * len(c.codes))
	return c, nil
}

// join joins the parts of column i, which have the given number of rows, and releases their memory.
func (r *sheetReader) join(i, rows int) (all columnPart) {
	switch spec := &r.specs[i]; {
	case spec.summary:
	case spec.numeric:
		all.numbers = make([]float64, 0, rows)
	default:
		all.codes = make([]int32, 0, rows)
	}
	for k, part := range r.parts[i] {
		part.place()
		all.numbers, all.codes = append(all.numbers, part.numbers...), append(all.codes, part.codes...)
		r.parts[i][k] = columnPart{} // release the memory
	}
	return all
}

// place replaces the part's own codes by the sheet's codes.
func (p *columnPart) place() {
	if p.places == nil {
		return
	}
	for row, code := range p.codes {
		if code >= 0 {
			p.codes[row] = p.places[code]
		}
	}
}

// columnLists takes the values of a column in the order of the rows.
type columnLists struct {
	numbers *paged.List[float64]
	codes   *paged.List[int32]
}

func newColumnLists(pages *paged.Dir) columnLists {
	return columnLists{paged.NewList[float64](pages), paged.NewList[int32](pages)}
}

func (l columnLists) add(p *columnPart) error {
	p.place()
	return errors.Join(l.numbers.Append(p.numbers), l.codes.Append(p.codes))
}

// end gives the values to the column.
func (l columnLists) end(c *column) (err error) {
	if c.numbers, err = l.numbers.Slice(); err == nil {
		c.codes, err = l.codes.Slice()
	}
	return err
}
