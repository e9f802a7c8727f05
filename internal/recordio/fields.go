package recordio

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"ppal/datasets/dataerr"
	"ppal/internal/option"
)

// RecordReader yields the rows of chunks, one after the other. A field is a text, or a number if
// the file stores numbers.
type RecordReader interface {
	// Each calls visit for each row of the chunk, and checks that its texts are in UTF-8. It
	// returns the first error.
	Each(c Chunk, visit func() error) error
	// Text returns a field of the row as text: "" if it has no value. The text is valid until the
	// next call.
	Text(field int) []byte
	// Padded reports whether the file has blanks before or after a field, which Text leaves out.
	Padded(field int) bool
	// Number returns a field that the file stores as a finite number. ok is false for other fields,
	// and x is then NaN if an array has NaN.
	Number(field int) (x float64, ok bool)
	// Key returns a number that differs for different numbers of a column in the chunk.
	Key(field int) uint64
	// Position returns the line of a field, or its row in a file without lines, and its column.
	// All count from 1.
	Position(field int) (line, column int)
	// Fail adds the position of a field to an error.
	Fail(field int, err error) error
}

// Absent returns a missing value for an error: its text, or NaN if an array has it.
func Absent(text []byte, r RecordReader, field int) string {
	shown := string(text)
	if x, _ := r.Number(field); shown == "" && math.IsNaN(x) {
		return "NaN"
	}
	return shown
}

// FieldReader splits the records of a chunk into fields (RFC 4180): one record for each line, with
// optional quotes around fields; lines end in \n or \r\n. It skips empty lines, ignores blanks
// before and after a field, and does not allocate memory for each field.
type FieldReader struct {
	name      string // name of the file, for errors
	separator []byte // one character
	blank     bool   // the separator is a blank; several of them separate two fields
	unquoted  bool   // a quote is an ordinary character
	want      int    // number of fields of a record; 0: the number in the first record; anyFields
	rest      []byte // the text that is left
	last      bool   // the text ends with this chunk
	line      int    // number of the first line of rest, from 1

	Fields  [][]byte // fields of the last record, without surrounding blanks; valid until the next call
	padded  []int    // the fields with blanks around them, ascending
	lines   []int    // line of each field; empty: all fields are in the line of the record
	scratch []byte   // the fields with doubled quotes or line ends
	Record  int      // line of the last record
}

// anyFields is the value of FieldReader.want if records may have different numbers of fields.
const anyFields = -1

// NewFieldReader returns a reader without a chunk.
func NewFieldReader(name string, separator rune, want int) *FieldReader {
	return &FieldReader{
		name: name, separator: utf8.AppendRune(nil, separator), want: want,
		blank: separator != '\t' && unicode.IsSpace(separator), // a tab always begins a field
	}
}

// Reset starts a new chunk and keeps the buffers.
func (f *FieldReader) Reset(c Chunk) { f.rest, f.last, f.line = c.Text, c.Last, c.Line }

// Each implements RecordReader.
func (f *FieldReader) Each(c Chunk, visit func() error) error {
	f.Reset(c)
	valid := utf8.Valid(c.Text)
	for {
		err := f.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil && !valid {
			err = f.checkUTF8()
		}
		if err == nil {
			err = visit()
		}
		if err != nil {
			return err
		}
	}
}

// EachField calls visit(i) for fields[i] of each row, for the rows of a field in their order. It
// checks the texts as RecordReader.Each does.
func EachField(r RecordReader, c Chunk, fields []int, visit func(i int)) error {
	if columns, ok := r.(ColumnReader); ok {
		return columns.EachField(c, fields, visit)
	}
	return r.Each(c, func() error {
		for i := range fields {
			visit(i)
		}
		return nil
	})
}

// Text implements RecordReader.
func (f *FieldReader) Text(field int) []byte { return f.Fields[field] }

// Padded implements RecordReader.
func (f *FieldReader) Padded(field int) bool {
	_, found := slices.BinarySearch(f.padded, field)
	return found
}

// Number implements RecordReader: no field of a text is stored as a number.
func (f *FieldReader) Number(int) (float64, bool) { return 0, false }

// Key implements RecordReader.
func (f *FieldReader) Key(int) uint64 { return 0 }

// Next reads the next record. After the last record it returns io.EOF; other errors are *FileError.
func (f *FieldReader) Next() error {
	if f.skipEmpty(); len(f.rest) == 0 {
		return io.EOF
	}
	f.Fields, f.padded, f.lines, f.scratch, f.Record = f.Fields[:0], f.padded[:0], f.lines[:0], f.scratch[:0], f.line
	line := f.rest
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	} else if !f.last {
		return f.Fail(-1, ErrLongRecord)
	}
	if len(f.separator) == 1 && !f.blank && (f.unquoted || bytes.IndexByte(line, '"') < 0) {
		f.plain(line)
	} else if err := f.general(); err != nil {
		return err
	}
	if f.want == 0 {
		f.want = len(f.Fields)
	}
	if n := len(f.Fields); n != f.want && f.want != anyFields {
		if f.skipEmpty(); n < f.want && f.last && len(f.rest) == 0 {
			return f.Fail(-1, f.truncated())
		}
		return f.Fail(-1, fmt.Errorf("%w: %s, want %d", dataerr.ErrFormat, option.Counted(n, "field"), f.want))
	}
	return nil
}

// skipEmpty skips empty lines.
func (f *FieldReader) skipEmpty() {
	for len(f.rest) > 0 && (f.rest[0] == '\n' || len(f.rest) > 1 && f.rest[0] == '\r' && f.rest[1] == '\n') {
		f.rest = f.rest[bytes.IndexByte(f.rest, '\n')+1:]
		f.line++
	}
	if f.last && len(f.rest) == 1 && f.rest[0] == '\r' {
		f.rest = nil
	}
}

// truncated is the error of a last record that ends too early.
func (f *FieldReader) truncated() error {
	return fmt.Errorf("%w: the last line has only %d of %d fields", dataerr.ErrTruncated, len(f.Fields), f.want)
}

// plain splits a line that has no quotes.
func (f *FieldReader) plain(line []byte) {
	f.rest = f.rest[min(len(line)+1, len(f.rest)):]
	f.line++
	separator, from := f.separator[0], 0
	for i, c := range line {
		if c == separator {
			f.add(line[from:i], false)
			from = i + 1
		}
	}
	f.add(line[from:], false)
}

// add adds a field, of which the caller may have cut blanks.
func (f *FieldReader) add(field []byte, cut bool) {
	own := Trimmed(field)
	// the \r of a line end is no blank
	if n := len(field); cut || len(own) < n && (len(own) < n-1 || field[n-1] != '\r') {
		f.padded = append(f.padded, len(f.Fields))
	}
	f.Fields = append(f.Fields, own)
}

// Trimmed returns the field without surrounding blanks.
func Trimmed(field []byte) []byte {
	if n := len(field); n > 0 {
		if first, last := field[0], field[n-1]; first <= ' ' || last <= ' ' || first >= utf8.RuneSelf || last >= utf8.RuneSelf {
			return bytes.TrimSpace(field)
		}
	}
	return field
}

// general splits a record with any separator and with or without quotes.
func (f *FieldReader) general() error {
	for {
		cut := false
		if f.separator[0] != '\t' { // with tabs, leading space includes the separator
			line := f.rest
			if end := bytes.IndexByte(line, '\n'); end >= 0 {
				line = line[:end]
			}
			blanks := len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace))
			f.rest, cut = f.rest[blanks:], blanks > 0 && !f.blank
		}
		var field []byte
		var err error
		at := f.line
		if len(f.rest) > 0 && f.rest[0] == '"' && !f.unquoted {
			field, err = f.quotedField()
		} else {
			field, err = f.bareField()
		}
		if err != nil {
			return err
		}
		f.add(field, cut)
		f.lines = append(f.lines, at)
		if f.atSeparator(0) {
			f.rest = f.rest[len(f.separator):]
			continue
		}
		if len(f.rest) == 0 && !f.last {
			return f.Fail(-1, ErrLongRecord)
		}
		f.rest = f.rest[min(1, len(f.rest)):] // the line end
		f.line++
		return nil
	}
}

// atSeparator reports whether the separator is at a place in the text.
func (f *FieldReader) atSeparator(at int) bool {
	return at < len(f.rest) && f.rest[at] == f.separator[0] && bytes.HasPrefix(f.rest[at:], f.separator)
}

// bareField returns a field without quotes and advances to its end.
func (f *FieldReader) bareField() ([]byte, error) {
	end := 0
	for end < len(f.rest) && f.rest[end] != '\n' && !f.atSeparator(end) {
		if f.rest[end] == '"' && !f.unquoted {
			return nil, f.Fail(len(f.Fields), fmt.Errorf("%w: %w", dataerr.ErrFormat, csv.ErrBareQuote))
		}
		end++
	}
	field := f.rest[:end]
	f.rest = f.rest[end:]
	return field, nil
}

// quotedField returns the content of a field in quotes and advances to its end.
func (f *FieldReader) quotedField() ([]byte, error) {
	f.rest = f.rest[1:]
	opened := f.line
	var content []byte
	copied := false // content is in scratch, because it is not a part of the text
	from := len(f.scratch)
	for {
		at := bytes.IndexByte(f.rest, '"')
		if at < 0 {
			f.Record = opened
			if !f.last {
				return nil, f.Fail(len(f.Fields), fmt.Errorf("%w: the quote is not closed", ErrLongRecord))
			}
			return nil, f.Fail(len(f.Fields), fmt.Errorf("%w: the quote is not closed", dataerr.ErrTruncated))
		}
		part := f.rest[:at]
		newlines := bytes.Count(part, []byte{'\n'})
		f.line += newlines
		f.rest = f.rest[at+1:]
		doubled := len(f.rest) > 0 && f.rest[0] == '"'
		if doubled || copied || newlines > 0 {
			copied = true
			for i, c := range part { // a line end in a field is \n
				if c != '\r' || i+1 == len(part) || part[i+1] != '\n' {
					f.scratch = append(f.scratch, c)
				}
			}
		} else {
			content = part
		}
		if doubled {
			f.scratch = append(f.scratch, '"')
			f.rest = f.rest[1:]
			continue
		}
		if copied {
			content = f.scratch[from:]
		}
		if n := len(f.rest); n > 1 && f.rest[0] == '\r' && f.rest[1] == '\n' || n == 1 && f.rest[0] == '\r' {
			f.rest = f.rest[1:]
		}
		if len(f.rest) > 0 && f.rest[0] != '\n' && !f.atSeparator(0) {
			return nil, f.Fail(len(f.Fields), fmt.Errorf("%w: %w", dataerr.ErrFormat, csv.ErrQuote))
		}
		return content, nil
	}
}

// Fail adds a position to an error: the position of a field (from 0) of the last record, or of the
// record if field is -1.
func (f *FieldReader) Fail(field int, err error) error {
	line, column := f.Position(field)
	return &dataerr.FileError{Path: f.name, Offset: -1, Line: line, Column: column, Err: err}
}

// Position returns the line of a field of the last record, and its column from 1.
func (f *FieldReader) Position(field int) (line, column int) {
	if field >= 0 && field < len(f.lines) {
		return f.lines[field], field + 1
	}
	return f.Record, field + 1
}

// checkUTF8 returns an error if a field of the last record is not in UTF-8.
func (f *FieldReader) checkUTF8() error {
	for i, field := range f.Fields {
		if advice, err := CheckUTF8(string(field), f.name); err != nil {
			return dataerr.Advise(f.Fail(i, err), advice)
		}
	}
	return nil
}
