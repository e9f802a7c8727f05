package datasets

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// fieldReader splits the records of a chunk into fields by the same rules as delimited. It does not
// allocate memory for each field.
type fieldReader struct {
	separator byte
	want      int // number of fields of a record; 0: the number in the first record
	text      []byte
	last      bool // the text ends with this chunk
	line      int  // number of the first line of text, from 1

	fields  [][]byte // fields of the last record, without surrounding blanks; valid until the next call
	lines   []int    // line of each field
	scratch []byte   // the fields with doubled quotes
	record  int      // line of the last record
}

// newFieldReader returns a reader of a chunk.
func newFieldReader(c chunk, separator byte, want int) *fieldReader {
	return &fieldReader{separator: separator, want: want, text: c.text, last: c.last, line: c.line}
}

// reset starts a new chunk and keeps the buffers.
func (f *fieldReader) reset(c chunk) { f.text, f.last, f.line = c.text, c.last, c.line }

// next reads the next record, and skips empty lines before it. After the last record it returns
// io.EOF; other errors are a *fieldError.
func (f *fieldReader) next() error {
	for len(f.text) > 0 && (f.text[0] == '\n' || len(f.text) > 1 && f.text[0] == '\r' && f.text[1] == '\n') {
		f.text = f.text[bytes.IndexByte(f.text, '\n')+1:]
		f.line++
	}
	if len(f.text) == 0 || f.last && len(f.text) == 1 && f.text[0] == '\r' {
		return io.EOF
	}
	f.fields, f.lines, f.scratch, f.record = f.fields[:0], f.lines[:0], f.scratch[:0], f.line
	line := f.text
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	} else if !f.last && len(line) > maxLine {
		return f.fail(-1, errLongRecord)
	}
	if bytes.IndexByte(line, '"') < 0 {
		f.plain(line)
	} else if err := f.quoted(); err != nil {
		return err
	}
	if f.want == 0 {
		f.want = len(f.fields)
	}
	if n := len(f.fields); n != f.want {
		if n < f.want && f.last && len(f.text) == 0 {
			return f.fail(-1, f.truncated(n))
		}
		return f.fail(-1, fmt.Errorf("%w: %d fields, want %d", ErrFormat, n, f.want))
	}
	return nil
}

// truncated is the error of a last record that ends too early.
func (f *fieldReader) truncated(fields int) error {
	return fmt.Errorf("%w: the last line has only %d of %d fields", ErrTruncated, fields, f.want)
}

// plain splits a line that has no quotes.
func (f *fieldReader) plain(line []byte) {
	f.text = f.text[min(len(line)+1, len(f.text)):]
	f.line++
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	from := 0
	for i, c := range line {
		if c == f.separator {
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

// quoted splits a record whose first line has a quote.
func (f *fieldReader) quoted() error {
	for {
		if f.separator != '\t' { // with tabs, leading space includes the separator
			line := f.text
			if end := bytes.IndexByte(line, '\n'); end >= 0 {
				line = line[:end]
			}
			f.text = f.text[len(line)-len(bytes.TrimLeftFunc(line, unicode.IsSpace)):]
		}
		var field []byte
		var err error
		at := f.line
		if len(f.text) > 0 && f.text[0] == '"' {
			field, err = f.quotedField()
		} else {
			field, err = f.bareField()
		}
		if err != nil {
			return err
		}
		f.fields, f.lines = append(f.fields, trimmed(field)), append(f.lines, at)
		if len(f.text) > 0 && f.text[0] == f.separator {
			f.text = f.text[1:]
			continue
		}
		f.text = f.text[min(1, len(f.text)):] // the line end
		f.line++
		return nil
	}
}

// bareField returns a field without quotes and advances to its end.
func (f *fieldReader) bareField() ([]byte, error) {
	end := 0
	for end < len(f.text) && f.text[end] != f.separator && f.text[end] != '\n' {
		if f.text[end] == '"' {
			return nil, f.fail(len(f.fields), f.quoteError(csv.ErrBareQuote))
		}
		end++
	}
	field := f.text[:end]
	f.text = f.text[end:]
	return field, nil
}

// quotedField returns the content of a field in quotes and advances to its end.
func (f *fieldReader) quotedField() ([]byte, error) {
	f.text = f.text[1:]
	var parts []byte // the content so far, if the field has doubled quotes
	copied := false
	from := len(f.scratch)
	for {
		at := bytes.IndexByte(f.text, '"')
		if at < 0 {
			if !f.last && len(f.text) > maxLine/2 {
				return nil, f.fail(len(f.fields), errLongRecord)
			}
			return nil, f.fail(len(f.fields), f.truncated(len(f.fields)+1))
		}
		part := f.text[:at]
		newlines := bytes.Count(part, []byte{'\n'})
		f.line += newlines
		f.text = f.text[at+1:]
		again := len(f.text) > 0 && f.text[0] == '"' // a doubled quote
		if again || copied || newlines > 0 {
			copied = true
			for i, c := range part { // a line end in a field is \n
				if c != '\r' || i+1 == len(part) || part[i+1] != '\n' {
					f.scratch = append(f.scratch, c)
				}
			}
		} else {
			parts = part
		}
		if again {
			f.scratch = append(f.scratch, '"')
			f.text = f.text[1:]
			continue
		}
		if copied {
			parts = f.scratch[from:]
		}
		rest := f.text
		if len(rest) > 0 && rest[0] == '\r' && (len(rest) > 1 && rest[1] == '\n' || len(rest) == 1 && f.last) {
			f.text, rest = f.text[1:], rest[1:]
		}
		if len(rest) > 0 && rest[0] != f.separator && rest[0] != '\n' {
			return nil, f.fail(len(f.fields), f.quoteError(csv.ErrQuote))
		}
		return parts, nil
	}
}

// quoteError is the error of a wrong quote.
func (f *fieldReader) quoteError(err error) error { return fmt.Errorf("%w: %w", ErrFormat, err) }

// fieldError is an error at a record or a field, without the file's name.
type fieldError struct {
	line, column int // from 1; column 0: the record
	err          error
}

func (e *fieldError) Error() string { return e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// of returns the error with the name of the file.
func (e *fieldError) of(name string) *FileError {
	return &FileError{Path: name, Offset: -1, Line: e.line, Column: e.column, Err: e.err}
}

// fail adds a position to an error: the position of a field (from 0), or of the record if field is
// -1.
func (f *fieldReader) fail(field int, err error) error {
	line := f.record
	if field >= 0 && field < len(f.lines) {
		line = f.lines[field]
	}
	return &fieldError{line: line, column: field + 1, err: err}
}

// checkUTF8 returns an error if a field of the last record is not in UTF-8.
func (f *fieldReader) checkUTF8() error {
	for i, field := range f.fields {
		if advice, err := checkUTF8(string(field), "FILE"); err != nil {
			return f.fail(i, fmt.Errorf("%w; %s", err, advice))
		}
	}
	return nil
}
