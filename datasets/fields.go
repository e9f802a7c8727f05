package datasets

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// recordReader yields the rows of chunks, one after the other. A field is a text, or a number if
// the file stores numbers.
type recordReader interface {
	// each calls visit for each row of the chunk, and checks that its texts are in UTF-8. It
	// returns the first error.
	each(c chunk, visit func() error) error
	// eachField calls visit(i) for fields[i] of each row, for the rows of a field in their order. It
	// checks the texts as each does.
	eachField(c chunk, fields []int, visit func(i int)) error
	// text returns a field of the row as text: "" if it has no value. The text is valid until the
	// next call.
	text(field int) []byte
	// number returns a field that the file stores as a finite number. ok is false for other fields.
	number(field int) (x float64, ok bool)
	// key returns a number that differs for different numbers of a column in the chunk.
	key(field int) uint64
	// position returns the line of a field, and its column from 1.
	position(field int) (line, column int)
	// fail adds the position of a field to an error.
	fail(field int, err error) error
}

// fieldReader splits the records of a chunk into fields (RFC 4180): one record for each line, with
// optional quotes around fields; lines end in \n or \r\n. It skips empty lines, ignores blanks
// before and after a field, and does not allocate memory for each field.
type fieldReader struct {
	name      string // name of the file, for errors
	separator []byte // one character
	blank     bool   // the separator is a blank; several of them separate two fields
	unquoted  bool   // a quote is an ordinary character
	want      int    // number of fields of a record; 0: the number in the first record; anyFields
	rest      []byte // the text that is left
	last      bool   // the text ends with this chunk
	line      int    // number of the first line of rest, from 1

	fields  [][]byte // fields of the last record, without surrounding blanks; valid until the next call
	lines   []int    // line of each field; empty: all fields are in the line of the record
	scratch []byte   // the fields with doubled quotes or line ends
	record  int      // line of the last record
}

// anyFields is the value of fieldReader.want if records may have different numbers of fields.
const anyFields = -1

// newFieldReader returns a reader without a chunk.
func newFieldReader(name string, separator rune, want int) *fieldReader {
	return &fieldReader{
		name: name, separator: utf8.AppendRune(nil, separator), want: want,
		blank: separator != '\t' && unicode.IsSpace(separator), // a tab always begins a field
	}
}

// reset starts a new chunk and keeps the buffers.
func (f *fieldReader) reset(c chunk) { f.rest, f.last, f.line = c.text, c.last, c.line }

// each implements recordReader.
func (f *fieldReader) each(c chunk, visit func() error) error {
	f.reset(c)
	valid := utf8.Valid(c.text)
	for {
		err := f.next()
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

// eachField implements recordReader: row by row.
func (f *fieldReader) eachField(c chunk, fields []int, visit func(i int)) error {
	return f.each(c, func() error {
		for i := range fields {
			visit(i)
		}
		return nil
	})
}

// text implements recordReader.
func (f *fieldReader) text(field int) []byte { return f.fields[field] }

// number implements recordReader: no field of a text is stored as a number.
func (f *fieldReader) number(int) (float64, bool) { return 0, false }

// key implements recordReader.
func (f *fieldReader) key(int) uint64 { return 0 }

// next reads the next record. After the last record it returns io.EOF; other errors are *FileError.
func (f *fieldReader) next() error {
	if f.skipEmpty(); len(f.rest) == 0 {
		return io.EOF
	}
	f.fields, f.lines, f.scratch, f.record = f.fields[:0], f.lines[:0], f.scratch[:0], f.line
	line := f.rest
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	} else if !f.last {
		return f.fail(-1, errLongRecord)
	}
	if len(f.separator) == 1 && !f.blank && (f.unquoted || bytes.IndexByte(line, '"') < 0) {
		f.plain(line)
	} else if err := f.general(); err != nil {
		return err
	}
	if f.want == 0 {
		f.want = len(f.fields)
	}
	if n := len(f.fields); n != f.want && f.want != anyFields {
		if f.skipEmpty(); n < f.want && f.last && len(f.rest) == 0 {
			return f.fail(-1, f.truncated())
		}
		return f.fail(-1, fmt.Errorf("%w: %d fields, want %d", ErrFormat, n, f.want))
	}
	return nil
}

// skipEmpty skips empty lines.
func (f *fieldReader) skipEmpty() {
	for len(f.rest) > 0 && (f.rest[0] == '\n' || len(f.rest) > 1 && f.rest[0] == '\r' && f.rest[1] == '\n') {
		f.rest = f.rest[bytes.IndexByte(f.rest, '\n')+1:]
		f.line++
	}
	if f.last && len(f.rest) == 1 && f.rest[0] == '\r' {
		f.rest = nil
	}
}

// truncated is the error of a last record that ends too early.
func (f *fieldReader) truncated() error {
	return fmt.Errorf("%w: the last line has only %d of %d fields", ErrTruncated, len(f.fields), f.want)
}

// plain splits a line that has no quotes.
func (f *fieldReader) plain(line []byte) {
	f.rest = f.rest[min(len(line)+1, len(f.rest)):]
	f.line++
	separator, from := f.separator[0], 0
	for i, c := range line {
		if c == separator {
			f.fields = append(f.fields, trimmed(line[from:i]))
			from = i + 1
		}
	}
	f.fields = append(f.fields, trimmed(line[from:]))
}

// trimmed returns the field without surrounding blanks.
func trimmed(field []byte) []byte {
	if n := len(field); n > 0 {
		if first, last := field[0], field[n-1]; first <= ' ' || last <= ' ' || first >= utf8.RuneSelf || last >= utf8.RuneSelf {
			return bytes.TrimSpace(field)
		}
	}
	return field
}

// general splits a record with any separator and with or without quotes.
func (f *fieldReader) general() error {
	for {
		if f.separator[0] != '\t' { // with tabs, leading space includes the separator
			line := f.rest
			if end := bytes.IndexByte(line, '\n'); end >= 0 {
				line = line[:end]
			}
			f.rest = f.rest[len(line)-len(bytes.TrimLeftFunc(line, unicode.IsSpace)):]
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
		f.fields, f.lines = append(f.fields, trimmed(field)), append(f.lines, at)
		if f.atSeparator(0) {
			f.rest = f.rest[len(f.separator):]
			continue
		}
		if len(f.rest) == 0 && !f.last {
			return f.fail(-1, errLongRecord)
		}
		f.rest = f.rest[min(1, len(f.rest)):] // the line end
		f.line++
		return nil
	}
}

// atSeparator reports whether the separator is at a place in the text.
func (f *fieldReader) atSeparator(at int) bool {
	return at < len(f.rest) && f.rest[at] == f.separator[0] && bytes.HasPrefix(f.rest[at:], f.separator)
}

// bareField returns a field without quotes and advances to its end.
func (f *fieldReader) bareField() ([]byte, error) {
	end := 0
	for end < len(f.rest) && f.rest[end] != '\n' && !f.atSeparator(end) {
		if f.rest[end] == '"' && !f.unquoted {
			return nil, f.fail(len(f.fields), fmt.Errorf("%w: %w", ErrFormat, csv.ErrBareQuote))
		}
		end++
	}
	field := f.rest[:end]
	f.rest = f.rest[end:]
	return field, nil
}

// quotedField returns the content of a field in quotes and advances to its end.
func (f *fieldReader) quotedField() ([]byte, error) {
	f.rest = f.rest[1:]
	opened := f.line
	var content []byte
	copied := false // content is in scratch, because it is not a part of the text
	from := len(f.scratch)
	for {
		at := bytes.IndexByte(f.rest, '"')
		if at < 0 {
			f.record = opened
			if !f.last {
				return nil, f.fail(len(f.fields), fmt.Errorf("%w: the quote is not closed", errLongRecord))
			}
			return nil, f.fail(len(f.fields), fmt.Errorf("%w: the quote is not closed", ErrTruncated))
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
			return nil, f.fail(len(f.fields), fmt.Errorf("%w: %w", ErrFormat, csv.ErrQuote))
		}
		return content, nil
	}
}

// fail adds a position to an error: the position of a field (from 0) of the last record, or of the
// record if field is -1.
func (f *fieldReader) fail(field int, err error) error {
	line, column := f.position(field)
	return &FileError{Path: f.name, Offset: -1, Line: line, Column: column, Err: err}
}

// position returns the line of a field of the last record, and its column from 1.
func (f *fieldReader) position(field int) (line, column int) {
	if field >= 0 && field < len(f.lines) {
		return f.lines[field], field + 1
	}
	return f.record, field + 1
}

// checkUTF8 returns an error if a field of the last record is not in UTF-8.
func (f *fieldReader) checkUTF8() error {
	for i, field := range f.fields {
		if advice, err := checkUTF8(string(field), f.name); err != nil {
			return advise(f.fail(i, err), advice)
		}
	}
	return nil
}
