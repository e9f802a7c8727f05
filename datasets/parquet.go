package datasets

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"ppal/internal/parquetfile"
)

// init registers the format.
func init() { registerFormat(binaryFormat{magic: parquetfile.Magic, open: openParquet}) }

// parquetTable yields the rows of a Parquet file, some in each chunk.
type parquetTable struct {
	name string // for errors
	file randomAccess
	size int64 // of the file
	of   *parquetfile.File
}

// openParquet opens a Parquet file.
func openParquet(file randomAccess, size int64, name string) (binaryTable, error) {
	p := &parquetTable{name: name, file: file, size: size}
	var err error
	if p.of, err = parquetfile.Open(file, size); err != nil {
		return nil, p.fail(err)
	}
	return p, nil
}

// columnNames implements binaryTable.
func (p *parquetTable) columnNames() ([]string, error) {
	var fields [][]byte
	for _, column := range p.of.Names() {
		if advice, err := checkUTF8(column, p.name); err != nil {
			return nil, &FileError{Path: p.name, Offset: -1, Line: 1, Err: err, Advice: advice}
		}
		fields = append(fields, trimmed([]byte(column)))
	}
	return columnNames(fields), nil
}

// records implements binaryTable.
func (p *parquetTable) records() recordReader { return &parquetRecords{name: p.name} }

// single implements binaryTable.
func (p *parquetTable) single(field int) bool { return p.of.Single(field) }

// next returns the next chunk, as chunker.next does. The chunks' offsets divide the file as if all
// rows had the same number of bytes.
func (p *parquetTable) next([]byte) (chunk, error) {
	rows, err := p.of.Next()
	if err != nil {
		return chunk{}, p.fail(err)
	}
	offset := int64(float64(p.size) * float64(rows.First) / float64(p.of.Rows()))
	return chunk{rows: rows, record: rows.First, offset: offset}, nil
}

// fail returns an error of the Parquet file as an error of the file. The end is an error if the
// file has changed.
func (p *parquetTable) fail(err error) error {
	if changed := changedSince(p.file); changed != nil {
		return changed
	}
	if err == io.EOF {
		return err
	}
	return &FileError{Path: p.name, Offset: -1, Err: fmt.Errorf("%w: the Parquet file cannot be read: %w", ErrFormat, err)}
}

// parquetRecords are the rows of chunks of a Parquet file.
type parquetRecords struct {
	name   string // of the file, for errors
	rows   *parquetfile.Rows
	row    int
	buffer []byte // of the last text of a number
}

// each implements recordReader.
func (p *parquetRecords) each(c chunk, visit func() error) error {
	invalid := p.begin(c)
	for p.row = range p.rows.Count {
		if p.row == invalid.row {
			return p.failUTF8(invalid.field)
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// eachField implements recordReader: column by column, because the rows of a column are together in
// memory.
func (p *parquetRecords) eachField(c chunk, fields []int, visit func(i int)) error {
	if invalid := p.begin(c); invalid.row >= 0 {
		p.row = invalid.row
		return p.failUTF8(invalid.field)
	}
	for i := range fields {
		for p.row = range p.rows.Count {
			visit(i)
		}
	}
	return nil
}

// parquetPlace is a place in the rows of a chunk.
type parquetPlace struct{ row, field int }

// begin starts a chunk. It returns the place of the first text that is not in UTF-8; row is -1 if
// there is none.
func (p *parquetRecords) begin(c chunk) parquetPlace {
	p.rows = c.rows.(*parquetfile.Rows)
	first := parquetPlace{row: -1}
	for field := range p.rows.Columns {
		if p.rows.Columns[field].Numeric() {
			continue
		}
		for p.row = 0; p.row < p.rows.Count && (first.row < 0 || p.row < first.row); p.row++ {
			if !utf8.Valid(p.text(field)) {
				first = parquetPlace{p.row, field}
			}
		}
	}
	return first
}

// failUTF8 is the error of a text that is not in UTF-8.
func (p *parquetRecords) failUTF8(field int) error {
	advice, err := checkUTF8(string(p.text(field)), p.name)
	return advise(p.fail(field, err), advice)
}

// text implements recordReader. As in the fields of a CSV file, blanks around a text do not count,
// and a line ends in \n.
func (p *parquetRecords) text(field int) []byte {
	column := &p.rows.Columns[field]
	text := column.Text(p.buffer[:0], p.row)
	if column.Numeric() {
		p.buffer = text
		return text
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return trimmed(text)
}

// number implements recordReader.
func (p *parquetRecords) number(field int) (x float64, ok bool) {
	return p.rows.Columns[field].Number(p.row)
}

// key implements recordReader.
func (p *parquetRecords) key(field int) uint64 { return p.rows.Columns[field].Key(p.row) }

// position implements recordReader. The columns' names count as line 1.
func (p *parquetRecords) position(field int) (line, column int) {
	return p.rows.First + p.row + 2, field + 1
}

// fail implements recordReader.
func (p *parquetRecords) fail(field int, err error) error {
	line, column := p.position(field)
	return &FileError{Path: p.name, Offset: -1, Line: line, Column: column, Err: err}
}
