package columnar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
)

// SheetReader reads the rows of a text into the columns of a sheet: workers read chunks into
// SheetParts, and add joins the parts in the order of the text.
type SheetReader struct {
	text   *recordio.Delimited
	absent *textSet
	drop   bool
	Specs  []ColumnSpec
	fields []int // index of each column's field in a record
	// no text in absent is a number, so a worker tries the number first
	numbersFirst bool

	pages       *mapped.Dir // receives the columns' values; nil: parts receives them
	checkMemory func(bytes uint64) error
	bytes       uint64             // in parts
	lists       []columnLists      // of each column, for pages
	parts       [][]ColumnPart     // of each column
	values      [][]string         // categories of each column so far
	codes       []map[string]int32 // codes of values; workers read those of columns with allowed categories
	rows        int
	records     int   // rows with the dropped rows
	source      []int // sheet.source, if the schema drops rows
	only        recordio.Only
	begins      []int  // Sheet.Begins
	lacks       []bool // of each column: a value is missing
	blocks      []wideBlock
	wides       map[int]*Wide // Schema.Wides
	order       []wideColumn  // of each column of the schema; block is nil for the next of Specs
}

// NoCategory is the code of a category outside the allowed categories.
const NoCategory = -2

// ReadSheet reads the columns that the schema names, in the schema's order, from r.
//
// Errors are *FileError with line and column: ErrFormat, ErrTruncated, ErrColumn (no such column),
// ErrNumber, ErrCategory, ErrMissing.
func ReadSheet(r io.Reader, name string, s *Schema) (*Sheet, error) {
	text, err := recordio.NewDelimited(r, name, s.Layout)
	if err != nil {
		return nil, err
	}
	reader := &SheetReader{text: text, absent: NewTextSet(s.Absent), Specs: slices.Clone(s.Columns), drop: s.Drop, pages: s.Pages, wides: s.Wides, only: recordio.Only{Rows: s.Only, Begins: s.Begins}}
	for _, attribute := range s.Attributes {
		c, err := ParseCondition(attribute, text.Header)
		if err != nil {
			return nil, fmt.Errorf("datasets: attribute: %w", err)
		}
		if !slices.ContainsFunc(reader.Specs, func(spec ColumnSpec) bool { return spec.Name == c.Column }) {
			reader.Specs = append(reader.Specs, ColumnSpec{Name: c.Column, Missing: true, Many: true, Guess: true})
		}
	}
	if err := reader.begin(); err != nil {
		return nil, err
	}
	reader.checkMemory = s.CheckMemory
	if err := recordio.InOrder(reader.only.Chunks(text.Next), reader.worker, reader.add); err != nil {
		return nil, err
	}
	reader.begins = append(reader.begins, reader.records)
	if err := reader.readWide(s.Only); err != nil {
		return nil, err
	}
	switch {
	case s.Only != nil && reader.rows != len(s.Only):
		return nil, &dataerr.FileError{Path: name, Offset: -1, Err: dataerr.ErrChanged}
	case reader.rows == 0 && s.Drop:
		return nil, &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: every row has a missing value", dataerr.ErrMissing),
			Advice: "ignore the columns with many missing values (--ignore), or use --missing impute"}
	case reader.rows == 0:
		return nil, &dataerr.FileError{Path: name, Offset: -1, Err: dataerr.ErrNoRows}
	}
	sheet, err := reader.sheet()
	if sheet != nil {
		sheet.LeftOut = text.LeftOut()
	}
	return sheet, err
}

// ReadSheetFile calls ReadSheet on a file.
func ReadSheetFile(path string, s *Schema) (*Sheet, error) {
	f, err := recordio.OpenInput(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSheet(f, path, s)
}

// begin finds the columns.
func (r *SheetReader) begin() error {
	r.numbersFirst = !r.absent.numbers
	places := recordio.HeaderPlaces{Header: r.text.Header, Repeated: r.text.Layout.Repeated}
	for i := range r.Specs {
		spec := &r.Specs[i]
		field, err := places.Column(cmp.Or(spec.From, spec.Name))
		if err != nil {
			return &dataerr.FileError{Path: r.text.Name, Offset: -1, Line: r.text.HeaderLine, Err: err}
		}
		r.fields = append(r.fields, field)
	}
	r.Specs, r.fields = r.takeWide(r.fields)
	for i := range r.Specs {
		spec, codes := &r.Specs[i], map[string]int32{}
		for i, v := range spec.Categories {
			codes[v] = int32(i)
		}
		r.codes = append(r.codes, codes)
		r.values = append(r.values, slices.Clone(spec.Categories))
	}
	r.parts, r.lacks = make([][]ColumnPart, len(r.Specs)), make([]bool, len(r.Specs))
	var read []int
	for i := range r.Specs {
		r.lists = append(r.lists, NewColumnLists(r.pages))
		if r.Specs[i].Stored == nil {
			read = append(read, r.fields[i])
		}
		r.bytes += 8 * uint64(len(r.Specs[i].Stored))
	}
	r.text.Skip(read)
	return nil
}

// worker returns a function that reads the rows of a chunk up to the first error.
func (r *SheetReader) worker() func(c recordio.Chunk, part *SheetPart) error {
	records := r.text.Records()
	rows := 0      // of the last chunk
	var left []int // the columns whose values are added one by one
	return func(c recordio.Chunk, part *SheetPart) error {
		part.Begin(r)
		left = part.take(r, c, records, rows, left[:0])
		selected := r.only.In(c)
		err := records.Each(c, func() error {
			record := part.records
			part.records++
			if !selected() {
				return nil
			}
			if r.drop && r.incomplete(records) {
				return nil
			}
			for _, i := range left {
				field := r.fields[i]
				if err := part.add(r, i, records, field); err != nil {
					return records.Fail(field, fmt.Errorf("%s: %w", r.text.Header[field], err))
				}
			}
			if r.drop {
				part.source = append(part.source, record)
			}
			part.rows++
			return nil
		})
		if rows = part.rows; err == nil {
			err = r.only.Check(c, part.records, r.text.Name)
		}
		return err
	}
}

// incomplete reports whether the record lacks a value in a column that allows no missing values.
func (r *SheetReader) incomplete(record recordio.RecordReader) bool {
	for i, field := range r.fields {
		if !r.Specs[i].Missing && r.absent.marks(record, field) {
			return true
		}
	}
	return false
}

// add appends the rows of a part to the sheet. It returns ErrColumn at the first value that makes
// too many categories.
func (r *SheetReader) add(p *SheetPart) error {
	first, at := -1, category{}
	for i := range p.Columns {
		c := &p.Columns[i]
		for _, own := range c.own {
			code, ok := r.codes[i][own.text]
			if !ok {
				code = int32(len(r.values[i]))
				if code >= MaxCategories && !r.Specs[i].Many {
					if first < 0 || own.record < at.record {
						first, at = i, own
					}
					break
				}
				r.codes[i][own.text] = code
				r.values[i] = append(r.values[i], own.text)
			}
			c.Places = append(c.Places, code)
		}
		c.own = nil
		r.lacks[i] = r.lacks[i] || c.Lacks
		if r.Specs[i].Summary {
			continue
		}
		if r.pages == nil {
			const number, code = 8, 4
			r.bytes += uint64(number*len(c.Numbers) + code*len(c.Codes))
			r.parts[i] = append(r.parts[i], *c)
		} else if err := r.lists[i].Add(c); err != nil {
			return err
		}
	}
	if r.checkMemory != nil && r.pages == nil {
		if err := r.checkMemory(RowCopies * r.bytes); err != nil {
			return err
		}
	}
	if first >= 0 {
		field := r.fields[first]
		return r.text.At(at.line, field, fmt.Errorf("%s: %w: more than %d different texts; ignore the column (--ignore), or replace it by numbers",
			r.text.Header[field], dataerr.ErrColumn, MaxCategories))
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
func (r *SheetReader) sheet() (*Sheet, error) {
	s := &Sheet{Name: r.text.Name, Rows: r.rows, Source: r.source, Begins: r.begins, Pages: r.pages}
	own, failures := make([]*Column, len(r.Specs)), make([]error, len(r.Specs))
	recordio.InParallel(len(r.Specs), func(i int) { own[i], failures[i] = r.column(i) })
	for _, w := range r.order {
		if w.block != nil {
			s.Columns = append(s.Columns, w.column())
			continue
		}
		s.Columns, own = append(s.Columns, own[0]), own[1:]
	}
	return s, errors.Join(failures...)
}

// column joins the parts of column i.
func (r *SheetReader) column(i int) (*Column, error) {
	spec := &r.Specs[i]
	c := &Column{Name: spec.Name, Values: r.values[i], Lacks: spec.Summary && r.lacks[i], Decimal: spec.Decimal, Single: spec.Numeric && spec.Date == "" && r.text.Single(r.fields[i])}
	switch {
	case spec.Stored != nil && len(spec.Stored) != r.rows:
		return nil, &dataerr.FileError{Path: r.text.Name, Offset: -1, Err: dataerr.ErrChanged}
	case spec.Stored != nil:
		c.Numbers = spec.Stored
		return c, nil
	case r.pages != nil:
		if err := r.lists[i].End(c); err != nil {
			return nil, err
		}
	default:
		all := r.join(i)
		c.Numbers, c.Codes = all.Numbers, all.Codes
	}
	if spec.Numeric || spec.Categories != nil {
		return c, nil
	}
	if spec.Guess {
		if numbers, err := c.becomeNumbers(r.pages); numbers || err != nil {
			return c, err
		}
	}
	c.sortValues(r.codes[i])
	return c, nil
}

// join joins the parts of column i, and releases their memory.
func (r *SheetReader) join(i int) (all ColumnPart) {
	switch spec := &r.Specs[i]; {
	case spec.Summary:
	case spec.Numeric:
		all.Numbers = make([]float64, 0, r.rows)
	default:
		all.Codes = make([]int32, 0, r.rows)
	}
	for k, part := range r.parts[i] {
		part.place()
		all.Numbers, all.Codes = append(all.Numbers, part.Numbers...), append(all.Codes, part.Codes...)
		r.parts[i][k] = ColumnPart{} // release the memory
	}
	return all
}

// columnLists takes the values of a column in the order of the rows.
type columnLists struct {
	numbers *mapped.List[float64]
	codes   *mapped.List[int32]
}

// NewColumnLists returns empty lists in pages; nil: in memory.
func NewColumnLists(pages *mapped.Dir) columnLists {
	return columnLists{mapped.NewList[float64](pages), mapped.NewList[int32](pages)}
}

// Add appends the values of a part of the file.
func (l columnLists) Add(p *ColumnPart) error {
	p.place()
	return errors.Join(l.numbers.Append(p.Numbers), l.codes.Append(p.Codes))
}

// End gives the values to the column.
func (l columnLists) End(c *Column) (err error) {
	if c.Numbers, err = l.numbers.Slice(); err == nil {
		c.Codes, err = l.codes.Slice()
	}
	return err
}
