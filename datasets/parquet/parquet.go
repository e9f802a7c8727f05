// Package parquet lets a program read tables in Parquet files. Import the package for its
// effect: import _ "ppal/datasets/parquet". Package trainer/session imports it.
//
// Numbers are read as numbers, and the values of other types as the texts that pandas'
// DataFrame.to_csv(index=False) writes: null is empty, a boolean is True or False, a column of
// timestamps that are all at midnight has dates, and a timestamp with a time zone has the local
// time and its offset.
package parquet

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"ppal/datasets/dataerr"
	"ppal/internal/recordio"
)

// init registers the format.
func init() {
	recordio.RegisterFormat(recordio.BinaryFormat{Magic: magic, Open: openParquet})
}

// parquetTable yields the rows of a Parquet file, some in each chunk.
type parquetTable struct {
	*tableFile
	name string // for errors
	file recordio.RandomAccess
}

var _ recordio.BinaryTable = (*parquetTable)(nil)

// openParquet opens a Parquet file.
func openParquet(file recordio.RandomAccess, size int64, name string) (recordio.BinaryTable, error) {
	p := &parquetTable{name: name, file: file}
	var err error
	if p.tableFile, err = openFile(file, size); err != nil {
		return nil, p.Fail(err)
	}
	return p, nil
}

// ColumnNames implements BinaryTable.
func (p *parquetTable) ColumnNames() ([]string, error) {
	var fields [][]byte
	for _, column := range p.Names() {
		if advice, err := recordio.CheckUTF8(column, p.name); err != nil {
			return nil, &dataerr.FileError{Path: p.name, Offset: -1, Err: err, Advice: advice}
		}
		fields = append(fields, recordio.Trimmed([]byte(column)))
	}
	return recordio.ColumnNames(fields), nil
}

// Records implements BinaryTable.
func (p *parquetTable) Records() recordio.RecordReader { return &parquetRecords{name: p.name} }

// Next returns the next chunk, as Chunker.Next does.
func (p *parquetTable) Next([]byte) (recordio.Chunk, error) {
	rows, err := p.tableFile.Next()
	if err != nil {
		return recordio.Chunk{}, p.Fail(err)
	}
	return recordio.Chunk{Rows: rows, Record: rows.First}, nil
}

// Fail returns an error of the Parquet file as an error of the file. The end is an error if the
// file has changed.
func (p *parquetTable) Fail(err error) error {
	if changed := recordio.ChangedSince(p.file); changed != nil {
		return changed
	}
	if err == io.EOF {
		return err
	}
	return &dataerr.FileError{Path: p.name, Offset: -1, Err: fmt.Errorf("%w: the Parquet file cannot be read: %w", dataerr.ErrFormat, err)}
}

// parquetRecords are the rows of chunks of a Parquet file.
type parquetRecords struct {
	name   string // of the file, for errors
	rows   *chunkRows
	row    int
	buffer []byte // of the last text of a number
}

// Each implements RecordReader.
func (p *parquetRecords) Each(c recordio.Chunk, visit func() error) error {
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

// EachField implements ColumnReader: the rows of a column are together in memory.
func (p *parquetRecords) EachField(c recordio.Chunk, fields []int, visit func(i int)) error {
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
func (p *parquetRecords) begin(c recordio.Chunk) parquetPlace {
	p.rows = c.Rows.(*chunkRows)
	first := parquetPlace{row: -1}
	for field := range p.rows.Columns {
		if p.rows.Columns[field].Numeric() {
			continue
		}
		for p.row = 0; p.row < p.rows.Count && (first.row < 0 || p.row < first.row); p.row++ {
			if !utf8.Valid(p.Text(field)) {
				first = parquetPlace{p.row, field}
			}
		}
	}
	return first
}

// failUTF8 is the error of a text that is not in UTF-8.
func (p *parquetRecords) failUTF8(field int) error {
	advice, err := recordio.CheckUTF8(string(p.Text(field)), p.name)
	return dataerr.Advise(p.Fail(field, err), advice)
}

// Text implements RecordReader. As in the fields of a CSV file, blanks around a text do not count,
// and a line ends in \n.
func (p *parquetRecords) Text(field int) []byte {
	column := &p.rows.Columns[field]
	text := column.Text(p.buffer[:0], p.row)
	if column.Numeric() {
		p.buffer = text
		return text
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return recordio.Trimmed(text)
}

// Padded implements RecordReader.
func (p *parquetRecords) Padded(field int) bool {
	column := &p.rows.Columns[field]
	if column.Numeric() {
		return false
	}
	text := column.Text(p.buffer[:0], p.row)
	return len(recordio.Trimmed(text)) < len(text)
}

// Number implements RecordReader.
func (p *parquetRecords) Number(field int) (x float64, ok bool) {
	return p.rows.Columns[field].Number(p.row)
}

// Numbers implements ColumnReader.
func (p *parquetRecords) Numbers(c recordio.Chunk, field int) []float64 {
	return c.Rows.(*chunkRows).Columns[field].Numbers()
}

// Key implements RecordReader.
func (p *parquetRecords) Key(field int) uint64 { return p.rows.Columns[field].Key(p.row) }

// Position implements RecordReader: the row of the file, from 1.
func (p *parquetRecords) Position(field int) (line, column int) {
	return p.rows.First + p.row + 1, field + 1
}

// Fail implements RecordReader.
func (p *parquetRecords) Fail(field int, err error) error {
	row, column := p.Position(field)
	return &dataerr.FileError{Path: p.name, Offset: -1, Row: row, Column: column, Err: err}
}
