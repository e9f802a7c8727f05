package recordio

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
)

// joined is a table of arrays, followed by the columns of the table beside the arrays (--table).
// The texts of the table beside are in memory.
type joined struct {
	ArrayTable
	fields int        // of the arrays
	table  *Delimited // the table beside, read and closed
	header []string
	hidden int    // the field of header that an array of the same name and values has; -1: none
	name   string // of the table beside, for errors
	texts  []byte
	padded map[int]bool // the texts with blanks around them, by their numbers in ends
	ends   []int        // of each text, row by row
	lines  []int        // of each row
	rows   []int        // of the table, for each row of the arrays; nil: all, in order
	absent string       // says which rows of the arrays and of the table are left out; "": none
}

// noArraysError returns the error of --table with a file that has no arrays.
func noArraysError(name string) error {
	return &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: --table needs a file of arrays, and this file has no arrays", dataerr.ErrFormat),
		Advice: "give --file a .npy or .npz file"}
}

// joinTable joins the table layout.JoinFile to the arrays of a file, by row or by layout.Key. name
// is the path of the file of the arrays, for errors.
func joinTable(first BinaryTable, name string, layout tabular.Layout) (BinaryTable, error) {
	arrays, ok := first.(ArrayTable)
	if !ok {
		return nil, noArraysError(name)
	}
	names, err := arrays.ColumnNames()
	if err != nil {
		return nil, err
	}
	j := &joined{ArrayTable: arrays, fields: len(names), hidden: -1, name: layout.JoinFile, padded: map[int]bool{}}
	if err := j.read(layout); err != nil {
		return nil, err
	}
	if layout.Key == "" {
		if len(j.lines) != arrays.Rows() {
			return nil, &dataerr.FileError{Path: layout.JoinFile, Offset: -1,
				Err:    fmt.Errorf("%w: the table has %d rows, but %s has %d", dataerr.ErrMismatch, len(j.lines), name, arrays.Rows()),
				Advice: "use a table with one row for each row of the arrays, or train with --key COLUMN, its column of row numbers or keys"}
		}
		return j, nil
	}
	rows, err := j.rowsByKey(name, layout, names)
	if err != nil {
		return nil, err
	}
	if all := arrays.Rows(); len(rows) < all {
		j.absent = fmt.Sprintf("%d of %d rows of %s are left out, because the column %q of %s does not name them.", all-len(rows), all, name, layout.Key, layout.JoinFile)
	}
	if all := len(j.lines); len(rows) < all {
		j.absent = strings.TrimSpace(fmt.Sprintf("%s %d of %d rows of %s are left out, because the array %s of %s does not have their keys.",
			j.absent, all-len(rows), all, layout.JoinFile, layout.Key, name))
	}
	arrays.Take(rows)
	return j, nil
}

// read reads the table beside the arrays.
func (j *joined) read(layout tabular.Layout) error {
	f, err := OpenInput(context.Background(), layout.JoinFile)
	if err != nil {
		return err
	}
	defer f.Close()
	layout.JoinFile = ""
	text, names, err := OpenDelimited(f, j.name, layout) // one column is enough, and its name may be a number
	if err != nil {
		return err
	}
	if names != nil {
		if err := names.checkUTF8(); err != nil {
			return err
		}
	}
	j.table, j.header = text, text.Header
	records := text.Records()
	for {
		c, err := text.Next(nil)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = records.Each(c, func() error {
				for field := range j.header {
					if records.Padded(field) {
						j.padded[len(j.ends)] = true
					}
					j.texts = append(j.texts, records.Text(field)...)
					j.ends = append(j.ends, len(j.texts))
				}
				line, _ := records.Position(0)
				j.lines = append(j.lines, line)
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
}

// text returns a field of a row of the table beside the arrays.
func (j *joined) text(row, field int) []byte {
	at := row*len(j.header) + field
	from := 0
	if at > 0 {
		from = j.ends[at-1]
	}
	return j.texts[from:j.ends[at]]
}

// fail adds a position in the table beside the arrays to an error.
func (j *joined) fail(row, field int, err error) error {
	return j.table.At(j.lines[row], field, err)
}

// rowsByKey returns the rows of the arrays that the column layout.Key of the table names, in the
// table's order, and sets j.rows. If an array has this name, rowsByKey leaves out the keys that the
// array lacks, because the table may have the rows of several files. names are the names of the
// arrays' columns.
func (j *joined) rowsByKey(name string, layout tabular.Layout, names []string) ([]int, error) {
	key := layout.Key
	places := HeaderPlaces{Header: j.header}
	field, err := places.Column(key)
	if err != nil {
		return nil, &dataerr.FileError{Path: j.name, Offset: -1, Line: j.table.HeaderLine, Err: fmt.Errorf("--key: %w", err)}
	}
	find := func(text string) (row int, ok bool) {
		row, err := strconv.Atoi(text)
		return row, err == nil && row >= 0 && row < j.ArrayTable.Rows()
	}
	want, byArray := fmt.Sprintf("a row of %s, 0 to %d", name, j.ArrayTable.Rows()-1), false
	for at, array := range names {
		if array == key && j.ArrayTable.Auxiliary(at) {
			known, err := j.keysOf(at)
			if err != nil {
				return nil, err
			}
			j.hidden, byArray = field, true
			find = func(text string) (row int, ok bool) { row, ok = known[text]; return row, ok }
			want = fmt.Sprintf("a value of the array %s in %s", key, name)
		}
	}
	if layout.Shared && !byArray {
		return nil, &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file has no array %s", dataerr.ErrColumn, key),
			Advice: fmt.Sprintf("row numbers in %s are those of the other file; add the array of keys to both files", j.name)}
	}
	unknown := func(i int) error {
		return j.fail(i, field, fmt.Errorf("%w: the key %q, want %s", dataerr.ErrMismatch, j.text(i, field), want))
	}
	rows, first := make([]int, 0, len(j.lines)), make(map[int]int, len(j.lines))
	for i := range j.lines {
		text := string(j.text(i, field))
		row, ok := find(text)
		if !ok && byArray {
			continue
		}
		if !ok {
			return nil, unknown(i)
		}
		if before, twice := first[row]; twice {
			return nil, j.fail(i, field, fmt.Errorf("%w: the key %q is also in %s", dataerr.ErrMismatch, text, j.table.At(j.lines[before], field, nil).Place()))
		}
		first[row] = i
		rows, j.rows = append(rows, row), append(j.rows, i)
	}
	switch {
	case len(j.lines) == 0:
		return nil, &dataerr.FileError{Path: j.name, Offset: -1, Err: dataerr.ErrNoRows}
	case len(rows) == 0:
		return nil, unknown(0)
	}
	return rows, nil
}

// keysOf returns the row of each value in a column of the arrays. A value in two rows is an error.
func (j *joined) keysOf(field int) (map[string]int, error) {
	known := make(map[string]int, j.ArrayTable.Rows())
	records := j.ArrayTable.Records()
	twice := false
	row := 0
	err := records.Each(Chunk{Rows: RowRange{0, j.ArrayTable.Rows()}}, func() error {
		text := string(records.Text(field))
		if _, twice = known[text]; twice {
			return records.Fail(field, fmt.Errorf("%w: the key %q is also in row %d", dataerr.ErrMismatch, text, known[text]+1))
		}
		known[text] = row
		row++
		return nil
	})
	return known, err
}

// ColumnNames implements BinaryTable.
func (j *joined) ColumnNames() ([]string, error) {
	names, err := j.ArrayTable.ColumnNames()
	names = slices.Clone(names)
	for field, name := range j.header {
		if field != j.hidden {
			names = append(names, name)
		}
	}
	return names, err
}

// Single implements BinaryTable.
func (j *joined) Single(field int) bool { return field < j.fields && j.ArrayTable.Single(field) }

// Auxiliary implements ArrayTable: labels, groups and weights are in the table beside the arrays.
func (j *joined) Auxiliary(field int) bool { return field >= j.fields || j.ArrayTable.Auxiliary(field) }

// Records implements BinaryTable.
func (j *joined) Records() RecordReader { return &joinedRecords{j.ArrayTable.Records(), j, 0} }

// joinedRecords reads the rows of chunks of a joined table.
type joinedRecords struct {
	RecordReader // of the arrays
	joined       *joined
	row          int
}

// Each implements RecordReader.
func (r *joinedRecords) Each(c Chunk, visit func() error) error {
	r.row = c.Rows.(RowRange).From - 1
	return r.RecordReader.Each(c, func() error {
		r.row++
		return visit()
	})
}

// inTable returns the number of a field in the table beside the arrays. ok is false for a field of
// the arrays.
func (r *joinedRecords) inTable(field int) (own int, is bool) {
	own = field - r.joined.fields
	if r.joined.hidden >= 0 && own >= r.joined.hidden {
		own++
	}
	return own, field >= r.joined.fields
}

// inBeside returns the row of the table beside the arrays.
func (r *joinedRecords) inBeside() int {
	if r.joined.rows == nil {
		return r.row
	}
	return r.joined.rows[r.row]
}

// Text implements RecordReader.
func (r *joinedRecords) Text(field int) []byte {
	if own, is := r.inTable(field); is {
		return r.joined.text(r.inBeside(), own)
	}
	return r.RecordReader.Text(field)
}

// Padded implements RecordReader.
func (r *joinedRecords) Padded(field int) bool {
	if own, is := r.inTable(field); is {
		return r.joined.padded[r.inBeside()*len(r.joined.header)+own]
	}
	return r.RecordReader.Padded(field)
}

// Number implements RecordReader.
func (r *joinedRecords) Number(field int) (x float64, ok bool) {
	if _, ok := r.inTable(field); ok {
		return 0, false
	}
	return r.RecordReader.Number(field)
}

// Key implements RecordReader.
func (r *joinedRecords) Key(field int) uint64 {
	if _, ok := r.inTable(field); ok {
		return 0
	}
	return r.RecordReader.Key(field)
}

// Position implements RecordReader.
func (r *joinedRecords) Position(field int) (line, column int) {
	if own, is := r.inTable(field); is {
		return r.joined.lines[r.inBeside()], own + 1
	}
	return r.RecordReader.Position(field)
}

// Fail implements RecordReader.
func (r *joinedRecords) Fail(field int, err error) error {
	if own, is := r.inTable(field); is {
		return r.joined.fail(r.inBeside(), own, err)
	}
	return r.RecordReader.Fail(field, err)
}
