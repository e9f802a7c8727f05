package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
)

// magic is at the beginning and at the end of a Parquet file.
const magic = "PAR1"

// valuesAtOnce is about the number of values that Next decodes, of all columns together.
const valuesAtOnce = 128 << 10

// The limits of the number of rows that Next decodes.
const (
	leastRows = 16
	mostRows  = 4096
)

// errShort is the error of a column with fewer values than its row group has rows.
var errShort = errors.New("the column ends too early")

// tableFile is a Parquet file whose rows are read once, in their order. For each column, tableFile
// keeps the page that it decodes.
type tableFile struct {
	file    *parquet.File
	groups  []parquet.RowGroup
	columns []column
	cursors []cursor // of each column in the open row group
	group   int      // number of row groups that were opened
	left    int      // unread rows of the open row group
	row     int      // rows that were read
	size    int64    // of the file
	skipped []bool   // the columns that Next leaves out
	// the numbers of all rows of a column; nil: not kept
	kept [][]float64
}

// chunkRows are consecutive rows of a file.
type chunkRows struct {
	First   int // number of the first row, from 0
	Count   int
	Columns []chunkColumn
}

// openFile reads the footer of a file of size bytes.
//
// A file with lists, maps or structures is an error that names the columns. Errors of a damaged
// file say where the damage was found.
func openFile(r io.ReaderAt, size int64) (f *tableFile, err error) {
	defer recovered(&err)
	if err := checkEnds(r, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	f = &tableFile{file: file, groups: file.RowGroups(), size: size}
	var nested []string
	for _, c := range file.Root().Columns() {
		if !c.Leaf() || c.Repeated() {
			nested = append(nested, c.Name())
		}
	}
	switch {
	case nested != nil:
		return nil, fmt.Errorf("the columns %s hold lists or structures; write the file with a column for each part, or without these columns",
			strings.Join(nested, ", "))
	case len(file.Root().Columns()) == 0:
		return nil, errors.New("the file has no columns")
	}
	zones := zonesOf(file)
	for i, c := range file.Root().Columns() {
		own, err := newColumn(c, &file.Metadata().Schema[i+1], zones[c.Name()])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name(), err)
		}
		f.columns = append(f.columns, own)
	}
	for i, g := range f.groups {
		if n := g.NumRows(); n < 0 || len(g.ColumnChunks()) != len(f.columns) {
			return nil, fmt.Errorf("row group %d has %d rows and %d columns, want %d columns", i+1, n, len(g.ColumnChunks()), len(f.columns))
		}
	}
	for i := range f.columns {
		if err := f.findDates(i); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.columns[i].name, err)
		}
	}
	f.skipped, f.kept = make([]bool, len(f.columns)), make([][]float64, len(f.columns))
	return f, nil
}

// Skip lets Next leave out a column of numbers, which has no values then.
func (f *tableFile) Skip(column int) { f.skipped[column] = f.columns[column].number() }

// mostKept bounds the memory of the numbers that a file keeps: a number of 32 bits takes 4 bytes in
// most files and 8 in memory, and a damaged file may claim any number of rows.
const mostKept = 16

// Keep lets Next keep the numbers of some columns, in 8 bytes for each row: see Numbers. It returns
// the number of bytes. If they would be more than 16 times the size of the file, Next keeps none.
func (f *tableFile) Keep(columns []int) (bytes uint64) {
	rows := int64(f.Rows())
	if rows <= 0 || rows > mostKept*f.size/8/int64(max(1, len(columns))) {
		return 0
	}
	for _, i := range columns {
		if f.columns[i].number() {
			f.kept[i] = make([]float64, rows)
			bytes += 8 * uint64(rows)
		}
	}
	return bytes
}

// Numbers returns the numbers of all rows of a column after the last row was read. It returns nil
// if they were not kept, or not all are finite.
func (f *tableFile) Numbers(column int) []float64 {
	if f.row != f.Rows() {
		return nil
	}
	return f.kept[column]
}

// checkEnds checks the first and the last bytes of a file, which have the magic bytes and the size
// of the footer.
func checkEnds(r io.ReaderAt, size int64) error {
	const ends = 12 // bytes of the shortest file
	if size < ends {
		return fmt.Errorf("%d bytes are too small for a file", size)
	}
	var head, tail [8]byte
	if _, err := r.ReadAt(head[:4], 0); err != nil {
		return err
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && err != io.EOF {
		return err
	}
	if string(head[:4]) != magic || string(tail[4:]) != magic {
		return fmt.Errorf("want %s at the beginning and at the end of the file", magic)
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > size-ends {
		return fmt.Errorf("the file is smaller than its footer, which has %d bytes", n)
	}
	return nil
}

// Names returns the names of the columns. pandas stores the rows' numbers as "__index_level_0__",
// and writes them to a CSV file as a column without a name: so is the name here.
func (f *tableFile) Names() []string {
	names := make([]string, len(f.columns))
	for i, c := range f.columns {
		if names[i] = c.name; strings.HasPrefix(c.name, "__index_level_") {
			names[i] = ""
		}
	}
	return names
}

// Single reports whether a column holds numbers of 32 bits. Next returns their exact values, which
// often have no short decimal form in 64 bits: 0.1 is 0.10000000149011612.
func (f *tableFile) Single(column int) bool { return f.columns[column].kind == parquet.Float }

// Spelling returns the text of a number of a column, as chunkColumn.Text does.
func (f *tableFile) Spelling(column int, x float64) string {
	return string(f.columns[column].spell(nil, x))
}

// Rows returns the number of rows in the file.
func (f *tableFile) Rows() int { return int(f.file.NumRows()) }

// Next decodes the next rows. After the last row it returns io.EOF.
func (f *tableFile) Next() (*chunkRows, error) {
	for f.left == 0 {
		if f.group == len(f.groups) {
			return nil, io.EOF
		}
		f.open()
	}
	n := min(f.left, max(leastRows, min(mostRows, valuesAtOnce/len(f.columns))))
	rows := &chunkRows{First: f.row, Count: n, Columns: make([]chunkColumn, len(f.columns))}
	workers := min(runtime.GOMAXPROCS(0), len(f.columns))
	failed := make([]error, len(f.columns))
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(f.columns); i += workers {
				rows.Columns[i], failed[i] = f.take(i, n)
			}
		})
	}
	all.Wait()
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return nil, fmt.Errorf("after row %d, column %d: %w", f.row, i+1, failed[i])
	}
	f.left, f.row = f.left-n, f.row+n
	return rows, nil
}

// take decodes the next n rows of a column.
func (f *tableFile) take(i, n int) (out chunkColumn, err error) {
	if f.skipped[i] {
		return chunkColumn{col: &f.columns[i], numbers: []float64{}}, nil
	}
	if f.kept[i] == nil {
		return f.cursors[i].take(n, nil)
	}
	if f.row+n > len(f.kept[i]) {
		return out, errors.New("the row groups have more rows than the file")
	}
	if out, err = f.cursors[i].take(n, f.kept[i][f.row:f.row:f.row+n]); out.Numbers() == nil {
		f.kept[i] = nil
	}
	return out, err
}

// open opens the next row group.
func (f *tableFile) open() {
	g := f.groups[f.group]
	f.cursors = make([]cursor, len(f.columns))
	for i, chunk := range g.ColumnChunks() {
		f.cursors[i] = cursor{col: &f.columns[i], pages: chunk.Pages()}
	}
	f.left = int(g.NumRows())
	f.group++
}

// findDates reads a column of timestamps. If all of them are at midnight, their text is the date.
func (f *tableFile) findDates(i int) error {
	c := &f.columns[i]
	if !c.timestamp {
		return nil
	}
	for _, g := range f.groups {
		at := cursor{col: c, pages: g.ColumnChunks()[i].Pages()}
		for left := int(g.NumRows()); left > 0; left -= min(left, mostRows) {
			part, err := at.take(min(left, mostRows), nil)
			if err != nil {
				return err
			}
			for _, text := range part.texts {
				if len(text) > 0 && !strings.HasSuffix(string(text), midnight) {
					return nil
				}
			}
		}
	}
	c.dates = true
	return nil
}

// recovered turns a panic of the library, which a damaged file can cause, into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged: %v", r)
	}
}
