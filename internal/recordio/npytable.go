package recordio

import (
	"fmt"
	"math"
	"unicode/utf8"

	"ppal/datasets/dataerr"
)

// init registers the formats .npy and .npz with the readers of tables.
func init() {
	RegisterFormat(BinaryFormat{Magic: Magic, Open: openNPY})
	RegisterFormat(BinaryFormat{Magic: archiveMagic, Is: isArchive, Open: openNPY})
}

// field is a column of an array.
type field struct {
	array  int
	column int
}

// table is the table of all columns of the arrays in a file.
type table struct {
	RowChunks
	name   string // for errors
	arrays []*array
	fields []field
	names  []string
	texts  []int // numbers of the fields with texts
	blocks bool  // an array has two dimensions or more
}

var _ ArrayTable = (*table)(nil)

// The limits of a chunk.
const (
	chunkBytes   = 1 << 20
	fortranBytes = 16 << 20 // for arrays in Fortran order: each column of a chunk is a separate read
	mostRows     = 4096
)

// openNPY opens a file of arrays.
func openNPY(file RandomAccess, size int64, name string) (BinaryTable, error) {
	t := &table{RowChunks: RowChunks{File: file}, name: name}
	var err error
	if t.arrays, err = open(file, size); err != nil {
		return nil, t.fail(err)
	}
	width, most := 0, chunkBytes
	for k, a := range t.arrays {
		width += a.columns * a.size
		t.blocks = t.blocks || a.Block()
		if a.fortran && a.columns > 1 {
			most = fortranBytes
		}
		for column, name := range a.Names() {
			if a.text() {
				t.texts = append(t.texts, len(t.fields))
			}
			t.fields, t.names = append(t.fields, field{k, column}), append(t.names, name)
		}
		if len(t.fields) > maxColumns {
			return nil, t.fail(fmt.Errorf("the arrays give more than %d columns", maxColumns))
		}
	}
	if len(t.fields) == 0 {
		return nil, t.fail(fmt.Errorf("the shape %s gives no columns", t.arrays[0].shapeText()))
	}
	t.Count, t.AtOnce = t.arrays[0].Rows(), max(1, min(mostRows, most/width))
	return t, nil
}

// fail adds the file's path to an error. If the file has changed, fail returns the error of the
// change instead.
func (t *table) fail(err error) error {
	if changed := ChangedSince(t.File); changed != nil {
		return changed
	}
	return &dataerr.FileError{Path: t.name, Offset: -1, Err: fmt.Errorf("%w: %w", dataerr.ErrFormat, err)}
}

// ColumnNames implements BinaryTable.
func (t *table) ColumnNames() ([]string, error) {
	for _, a := range t.arrays {
		if _, err := CheckUTF8(a.Name, t.name); err != nil {
			return nil, t.fail(fmt.Errorf("the name of array %q: %w", a.Name, err))
		}
	}
	return t.names, nil
}

// Blocks implements ArrayTable.
func (t *table) Blocks() (list []Block) {
	first := 0
	for _, a := range t.arrays {
		if a.Block() && a.columns > 0 {
			b := Block{First: first, Columns: a.columns, Rows: t.Rows(), Single: a.Single(), ByColumn: a.fortran && a.columns > 1}
			b.Read32 = func(dst []float32, from, to int) error { return readRows(t, a, dst, from, to) }
			b.Read64 = func(dst []float64, from, to int) error { return readRows(t, a, dst, from, to) }
			b.Fail = func(row, column int, err error) error {
				return &dataerr.FileError{Path: t.name, Offset: -1, Row: t.Row(row) + 1, Column: b.First + column + 1, Err: err}
			}
			if t.Chosen == nil && a.native(a.size) && a.size >= 4 && !b.ByColumn {
				if f, at := a.file(t.File); f != nil && at%int64(a.size) == 0 {
					b.File, b.Offset = f, at
				}
			}
			list = append(list, b)
		}
		first += a.columns
	}
	return list
}

// readRows writes the elements of rows [from, to) of the table to dst.
func readRows[T float32 | float64](t *table, a *array, dst []T, from, to int) error {
	err := Runs(t.Chosen, from, to, func(at, from, to int) error {
		return readNumbers(a, dst[at*a.columns:][:(to-from)*a.columns], from, to)
	})
	if err != nil {
		return t.fail(fmt.Errorf("array %s: %w", a.Name, err))
	}
	return nil
}

// Arrays implements ArrayTable.
func (t *table) Arrays() (list []Array) {
	first := 0
	for _, a := range t.arrays {
		if len(a.shape) > 1 {
			list = append(list, Array{Name: a.Name, First: first, Columns: a.columns})
		}
		first += a.columns
	}
	return list
}

// Auxiliary implements ArrayTable: in a file with an array of two dimensions or more, an array of
// one dimension is a label, a group or the like, and not a feature.
func (t *table) Auxiliary(field int) bool {
	return t.blocks && len(t.arrays[t.fields[field].array].shape) == 1
}

// Single implements BinaryTable.
func (t *table) Single(field int) bool {
	a := t.arrays[t.fields[field].array]
	return a.kind == floats && a.size == 4
}

// Records implements BinaryTable.
func (t *table) Records() RecordReader {
	return &records{table: t, raw: make([][]byte, len(t.arrays)), loaded: make([]bool, len(t.arrays))}
}

// records reads the rows of chunks. It reads an array's elements at the first access to one of
// them.
type records struct {
	table  *table
	rows   RowRange
	row    int      // number of the row in the chunk
	raw    [][]byte // bytes of each array in the chunk
	loaded []bool   // raw has the bytes of the array
	failed error    // first error of reading
	text   []byte   // memory of the last text
}

// element returns the array of a field, and the bytes from the row's element on; nil after an
// error.
func (r *records) element(field int) (*array, []byte) {
	f := &r.table.fields[field]
	a := r.table.arrays[f.array]
	if !r.loaded[f.array] && r.failed == nil {
		r.loaded[f.array] = true
		r.raw[f.array], r.failed = r.table.read(a, r.raw[f.array], r.rows)
	}
	if r.failed != nil {
		return a, nil
	}
	return a, r.raw[f.array][(r.row*a.columns+f.column)*a.size:]
}

// read returns the bytes of an array in the given rows. It uses the memory of buffer.
func (t *table) read(a *array, buffer []byte, rows RowRange) ([]byte, error) {
	buffer = buffer[:0]
	err := Runs(t.Chosen, rows.From, rows.To, func(_, from, to int) error {
		part, err := a.bytes(buffer[len(buffer):], from, to)
		if len(buffer) == 0 {
			buffer = part
		} else {
			buffer = append(buffer, part...)
		}
		return err
	})
	if err != nil {
		return nil, t.fail(fmt.Errorf("array %s: %w", a.Name, err))
	}
	return buffer, nil
}

// Each implements RecordReader.
func (r *records) Each(c Chunk, visit func() error) error {
	r.rows, r.failed = c.Rows.(RowRange), nil
	clear(r.loaded)
	for r.row = range r.rows.To - r.rows.From {
		for _, field := range r.table.texts {
			if text := r.Text(field); !utf8.Valid(text) {
				return r.Fail(field, fmt.Errorf("%w: the text is not in UTF-8", dataerr.ErrFormat))
			}
		}
		err := visit()
		if r.failed != nil {
			return r.failed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Text implements RecordReader.
func (r *records) Text(field int) []byte {
	a, p := r.element(field)
	if p == nil {
		return nil
	}
	if a.kind == booleans && a.Block() {
		return append(r.text[:0], '0'+min(p[0], 1))
	}
	r.text = a.appendText(r.text[:0], p)
	if a.text() {
		return Trimmed(r.text)
	}
	return r.text
}

// Padded implements RecordReader.
func (r *records) Padded(field int) bool {
	a, p := r.element(field)
	if p == nil || !a.text() {
		return false
	}
	r.text = a.appendText(r.text[:0], p)
	return len(Trimmed(r.text)) < len(r.text)
}

// Number implements RecordReader.
func (r *records) Number(field int) (x float64, ok bool) {
	a, p := r.element(field)
	if p == nil || a.text() || a.kind == booleans && !a.Block() {
		return 0, false
	}
	x = a.number(p)
	return x, !math.IsNaN(x) && !math.IsInf(x, 0)
}

// Key implements RecordReader.
func (r *records) Key(field int) uint64 {
	a, p := r.element(field)
	switch {
	case p == nil:
		return 0
	case a.kind == floats:
		return math.Float64bits(a.number(p))
	}
	return a.natural(p)
}

// Position implements RecordReader: the row of the file, from 1.
func (r *records) Position(field int) (line, column int) {
	return r.table.Row(r.rows.From+r.row) + 1, field + 1
}

// Fail implements RecordReader.
func (r *records) Fail(field int, err error) error {
	row, column := r.Position(field)
	return &dataerr.FileError{Path: r.table.name, Offset: -1, Row: row, Column: column, Err: err}
}
