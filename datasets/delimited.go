package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"ppal/internal/parquettext"
)

// separators are the separators that are detected automatically.
var separators = []rune{',', ';', '\t', '|'}

const (
	sniffBytes   = 64 << 10 // bytes of a file that are examined to detect the separator
	sniffRecords = 50       // records of a file that are examined, at most
)

// byteOrderMark is the UTF-8 mark that some programs write at the beginning of a text file.
const byteOrderMark = "\ufeff"

// delimited is a text of separated fields, of which the columns' names have been read.
type delimited struct {
	name      string // name of the file, for errors
	separator rune
	header    []string
	text      *chunker
	first     *chunk // the rows before those of text; nil: none
}

// openText returns the text of r, plain or gzip, without its byte order mark, and the separator. A
// separator of 0 is detected from the first lines. The text of a Parquet file is that of package
// parquettext.
func openText(r io.Reader, name string, separator rune) (*bufio.Reader, rune, error) {
	r = steady(r)
	c, err := newContent(r, name)
	if err != nil {
		return nil, 0, err
	}
	buffered := bufio.NewReaderSize(c, sniffBytes)
	head, err := c.peek(buffered, sniffBytes)
	if err != nil && err != io.EOF {
		return nil, 0, c.fail(err)
	}
	if bytes.HasPrefix(head, []byte(parquettext.Magic)) {
		text, err := openParquet(r, buffered, name)
		if err != nil {
			return nil, 0, err
		}
		return bufio.NewReaderSize(text, sniffBytes), parquettext.Separator, nil
	}
	if err := checkForm(head, name); err != nil {
		return nil, 0, err
	}
	if err := checkEncoding(head, name); err != nil {
		return nil, 0, err
	}
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		head = head[len(byteOrderMark):]
		_, _ = buffered.Discard(len(byteOrderMark)) // Discard cannot fail: Peek has filled the buffer
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, 0, &FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: the file is empty", ErrTruncated)}
	}
	if separator == 0 {
		separator = sniffSeparator(head)
	}
	return buffered, separator, nil
}

// newDelimited reads the columns' names in the first line of r, plain or gzip, and checks them. A
// separator of 0 is detected from the first lines. header names the columns of a file without a
// line of names.
//
// Errors of newDelimited, and of reading the rows, are *FileError.
func newDelimited(r io.Reader, name string, separator rune, header []string) (*delimited, error) {
	d, names, err := openDelimited(r, name, separator, header)
	if err != nil || header != nil {
		return d, err
	}
	if err := names.checkUTF8(); err != nil {
		return nil, err
	}
	return d, d.checkHeader(names)
}

// openDelimited is newDelimited without the checks of the names. names has read the columns' names.
func openDelimited(r io.Reader, name string, separator rune, header []string) (d *delimited, names *fieldReader, err error) {
	buffered, separator, err := openText(r, name, separator)
	if err != nil {
		return nil, nil, err
	}
	if separator == '"' || separator == '\n' || separator == '\r' || separator == utf8.RuneError {
		return nil, nil, &FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: the separator cannot be %q", ErrFormat, separator)}
	}
	d = &delimited{name: name, separator: separator, header: header, text: newChunker(buffered, name)}
	d.text.pausing, _ = r.(*pausing)
	if header != nil {
		return d, nil, nil
	}
	first, err := d.text.next(nil)
	if err == io.EOF {
		return nil, nil, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file is empty", ErrTruncated)}
	}
	if err != nil {
		return nil, nil, err
	}
	names = newFieldReader(name, separator, 0)
	names.reset(first)
	if err := names.next(); err != nil {
		return nil, nil, err
	}
	d.header = columnNames(names.fields)
	first.text, first.line = names.text, names.line
	d.first = &first
	return d, names, nil
}

// next returns the next chunk of rows; see chunker.next.
func (d *delimited) next(buffer []byte) (chunk, error) {
	if first := d.first; first != nil {
		d.first = nil
		return *first, nil
	}
	return d.text.next(buffer)
}

// fields returns a reader of the fields of chunks of rows.
func (d *delimited) fields() *fieldReader { return newFieldReader(d.name, d.separator, len(d.header)) }

// checkHeader returns an error if the first line does not look like names.
func (d *delimited) checkHeader(first *fieldReader) error {
	numbers := 0
	for _, name := range d.header {
		if _, ok := number([]byte(name)); ok {
			numbers++
		}
	}
	switch {
	case len(d.header) == 1:
		return first.fail(0, fmt.Errorf("%w: there is only one column; the separator is %q", ErrFormat, d.separator))
	case numbers == len(d.header):
		return first.fail(0, fmt.Errorf("%w: the first line holds numbers, want the columns' names", ErrFormat))
	}
	return nil
}

// columnNames returns the names in a header. A column without a name is named by its place: "column
// 1".
func columnNames(header [][]byte) []string {
	names := make([]string, len(header))
	for i, field := range header {
		names[i] = string(field)
	}
	given := setOf(names)
	for i, name := range names {
		if name == "" {
			names[i] = fmt.Sprintf("column %d", i+1)
			for given[names[i]] {
				names[i] += "'"
			}
		}
	}
	return names
}

// sniffSeparator detects the separator. A separator is regular if all examined records have the
// same number of fields. sniffSeparator returns the regular separator with the most fields. If no
// separator is regular, it returns the separator that gives the most fields in the first record.
func sniffSeparator(head []byte) rune {
	best, most, regular := separators[0], 0, false
	cut := len(head) == sniffBytes // the last record examined may be incomplete
	for _, separator := range separators {
		reader := newFieldReader("", separator, anyFields)
		reader.reset(chunk{text: head, last: true})
		fields, same := 0, true
		for i := range sniffRecords {
			err := reader.next()
			left := len(reader.text)
			if err != nil { // within the record
				left = bytes.IndexByte(reader.text, '\n') + 1
			}
			if err == io.EOF || errors.Is(err, ErrTruncated) || i > 0 && cut && left == 0 {
				break
			}
			if err != nil { // a wrong quote: the text probably has another separator
				same = false
				break
			}
			if i == 0 {
				fields = len(reader.fields)
			}
			same = same && len(reader.fields) == fields
		}
		if same = same && fields > 1; same == regular && fields > most || same && !regular {
			best, most, regular = separator, fields, same
		}
	}
	return best
}
