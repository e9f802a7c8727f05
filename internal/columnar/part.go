package columnar

import (
	"fmt"
	"math"

	"ppal/datasets/dataerr"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// SheetPart holds the rows of a chunk.
type SheetPart struct {
	rows, records int
	Columns       []ColumnPart
	Codes         []map[string]int32 // of the part's own categories
	source        []int              // index among the records of the chunk, if the schema drops rows
}

// ColumnPart holds the rows of a chunk in one column.
type ColumnPart struct {
	Numbers []float64
	Codes   []int32 // codes among the allowed categories, or among own
	own     []category
	Places  []int32 // the sheet's code of each own category
	Lacks   bool    // a value is missing
}

// category is a category of a chunk, and where the chunk has it first.
type category struct {
	text         string
	record, line int
}

// Begin empties the part. A column that keeps no values keeps its memory.
func (p *SheetPart) Begin(r *SheetReader) {
	if p.Columns == nil {
		p.Columns, p.Codes = make([]ColumnPart, len(r.Specs)), make([]map[string]int32, len(r.Specs))
		for i := range p.Codes {
			p.Codes[i] = map[string]int32{}
		}
	}
	p.rows, p.records, p.source = 0, 0, p.source[:0]
	for i := range p.Columns {
		clear(p.Codes[i])
		old := p.Columns[i]
		if p.Columns[i] = (ColumnPart{}); r.Specs[i].Summary {
			p.Columns[i] = ColumnPart{Numbers: old.Numbers[:0], Codes: old.Codes[:0]}
		}
	}
}

// take gives the columns their numbers that the file stores as numbers, if all rows of the chunk
// have one. It appends the other columns, whose values follow one by one, to left, and gives them
// memory of their own, because the reader keeps it. rows is a guess of the number of rows.
func (p *SheetPart) take(r *SheetReader, c recordio.Chunk, records recordio.RecordReader, rows int, left []int) []int {
	rows += rows / 32
	for i := range p.Columns {
		spec, column := &r.Specs[i], &p.Columns[i]
		if spec.Stored != nil {
			continue
		}
		if spec.Numeric && spec.Date == "" && !r.drop && r.only.Rows == nil {
			if numbers := r.absent.Numbers(records, c, r.fields[i]); numbers != nil {
				if !spec.Summary {
					column.Numbers = numbers
				}
				continue
			}
		}
		left = append(left, i)
		switch {
		case spec.Summary:
		case spec.Numeric:
			column.Numbers = make([]float64, 0, rows)
		default:
			column.Codes = make([]int32, 0, rows)
		}
	}
	return left
}

// add appends the value in a field of the last record to column i.
func (p *SheetPart) add(r *SheetReader, i int, records recordio.RecordReader, field int) error {
	c, spec := &p.Columns[i], &r.Specs[i]
	if spec.Numeric && spec.Date == "" {
		if x, ok := r.absent.Number(records, field); ok {
			c.Numbers = append(c.Numbers, x)
			return nil
		}
	}
	text := records.Text(field)
	if spec.Numeric && r.numbersFirst {
		if x, ok := spec.Number(text); ok {
			c.Numbers = append(c.Numbers, x)
			return nil
		}
	}
	absent := r.absent.has(text)
	c.Lacks = c.Lacks || absent
	switch {
	case absent && !spec.Missing:
		return fmt.Errorf("%w: %q", dataerr.ErrMissing, recordio.Absent(text, records, field))
	case absent && spec.Numeric:
		c.Numbers = append(c.Numbers, math.NaN())
	case absent:
		c.Codes = append(c.Codes, -1)
	case spec.Numeric:
		x, ok := spec.Number(text)
		if !ok {
			return textvalue.NotReadable(text, spec.Date)
		}
		c.Numbers = append(c.Numbers, x)
	case spec.Categories != nil:
		code, ok := r.codes[i][string(text)]
		switch {
		case !ok && !spec.Unknown:
			return fmt.Errorf("%w %s, want one of %s", dataerr.ErrCategory, textvalue.Quoted(text), textvalue.Listed(spec.Categories, 20))
		case !ok:
			code = NoCategory
		}
		c.Codes = append(c.Codes, code)
	default:
		code, ok := p.Codes[i][string(text)]
		if !ok {
			line, _ := records.Position(field)
			code = int32(len(c.own))
			c.own = append(c.own, category{text: string(text), record: p.records, line: line})
			p.Codes[i][c.own[code].text] = code
		}
		c.Codes = append(c.Codes, code)
	}
	return nil
}

// place replaces the part's own codes by the sheet's codes.
func (p *ColumnPart) place() {
	if p.Places == nil {
		return
	}
	for row, code := range p.Codes {
		if code >= 0 {
			p.Codes[row] = p.Places[code]
		}
	}
}
