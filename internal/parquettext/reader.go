// Package parquettext reads a Parquet file as text of separated fields, so that the code for CSV
// tables reads Parquet tables too.
//
// The text is what pandas' DataFrame.to_csv(index=False) writes: commas separate the fields, the
// first line has the columns' names, null and NaN are empty fields, a column of timestamps that are
// all at midnight has dates, and a timestamp with a time zone has the local time and its offset.
package parquettext

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// Magic is at the beginning and at the end of a Parquet file.
const Magic = "PAR1"

// Separator separates the fields of the text.
const Separator = ','

// textBytes is the size of the text that Reader makes at once, approximately.
const textBytes = 64 << 10

// Reader is an io.Reader of the text. For each column, Reader keeps the page that it decodes.
type Reader struct {
	file   *file.Reader
	texts  []texts // the conversion of each column
	next   []func() (string, error)
	group  int   // number of row groups that were opened
	left   int64 // unread rows of the open row group
	row    int64 // rows that were read
	record []string
	text   bytes.Buffer
	lines  *csv.Writer
	err    error // returned after the text in the buffer
}

// NewReader returns a reader of the text of a Parquet file.
//
// A file with lists, maps or structures is an error that names the columns. Errors of a damaged
// file say where the damage was found.
func NewReader(r interface {
	io.ReaderAt
	io.Seeker
}) (_ *Reader, err error) {
	defer recovered(&err)
	of, err := file.NewParquetReader(r)
	if err != nil {
		return nil, err
	}
	p := &Reader{file: of}
	schema, zones := of.MetaData().Schema, zonesOf(of)
	var nested, names []string
	for i := range schema.NumColumns() {
		column := schema.Column(i)
		path := column.ColumnPath()
		if len(path) != 1 || column.MaxRepetitionLevel() > 0 {
			if !slices.Contains(nested, path[0]) {
				nested = append(nested, path[0])
			}
			continue
		}
		t, err := textsOf(column, zones[path[0]])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", path[0], err)
		}
		names, p.texts = append(names, header(path[0])), append(p.texts, t)
	}
	switch {
	case nested != nil:
		return nil, fmt.Errorf("the columns %s hold lists or structures; write the file with a column for each part, or without these columns",
			strings.Join(nested, ", "))
	case len(names) == 0:
		return nil, errors.New("the file has no columns")
	}
	for i := range p.texts {
		if err := p.findDates(i); err != nil {
			return nil, fmt.Errorf("column %s: %w", names[i], err)
		}
	}
	p.record, p.next = make([]string, len(names)), make([]func() (string, error), len(names))
	p.lines = csv.NewWriter(&p.text)
	p.write(names)
	return p, nil
}

// header returns the name of a column in the text. pandas stores the rows' numbers as
// "__index_level_0__". In a CSV file the column of the rows' numbers has no name.
func header(name string) string {
	if strings.HasPrefix(name, "__index_level_") {
		return ""
	}
	return name
}

// findDates reads a column of timestamps. If all of them are at midnight, their text is the date.
func (p *Reader) findDates(column int) error {
	t := &p.texts[column]
	if !t.timestamp {
		return nil
	}
	for g := range p.file.NumRowGroups() {
		next, err := p.cursor(g, column)
		if err != nil {
			return err
		}
		for range p.file.RowGroup(g).NumRows() {
			text, err := next()
			if err != nil {
				return err
			}
			if text != "" && !strings.HasSuffix(text, midnight) {
				return nil
			}
		}
	}
	t.dates = true
	return nil
}

// cursor returns the function that returns the next text of a column in a row group.
func (p *Reader) cursor(group, column int) (func() (string, error), error) {
	chunk, err := p.file.RowGroup(group).Column(column)
	if err != nil {
		return nil, err
	}
	return p.texts[column].cursor(chunk)
}

// Read implements io.Reader.
func (p *Reader) Read(b []byte) (int, error) {
	for p.text.Len() == 0 && p.err == nil {
		p.err = p.fill()
	}
	if p.text.Len() == 0 {
		return 0, p.err
	}
	return p.text.Read(b)
}

// fill writes rows to the buffer. After the last row it returns io.EOF.
func (p *Reader) fill() (err error) {
	defer recovered(&err)
	for p.text.Len() < textBytes {
		for p.left == 0 {
			if p.group == p.file.NumRowGroups() {
				return io.EOF
			}
			if err := p.open(); err != nil {
				return err
			}
		}
		p.left--
		p.row++
		for i, next := range p.next {
			if p.record[i], err = next(); err != nil {
				return fmt.Errorf("row %d, column %d: %w", p.row, i+1, err)
			}
		}
		p.write(p.record)
	}
	return nil
}

// open opens the next row group.
func (p *Reader) open() (err error) {
	for i := range p.next {
		if p.next[i], err = p.cursor(p.group, i); err != nil {
			return fmt.Errorf("after row %d, column %d: %w", p.row, i+1, err)
		}
	}
	p.left = p.file.RowGroup(p.group).NumRows()
	p.group++
	return nil
}

// write appends a line to the buffer.
func (p *Reader) write(record []string) {
	_ = p.lines.Write(record) // a bytes.Buffer takes everything
	p.lines.Flush()
}

// recovered turns a panic of the library, which a damaged file can cause, into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged: %v", r)
	}
}
