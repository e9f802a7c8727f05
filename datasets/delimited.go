package datasets

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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

// recordReader reads a table row by row, each field as text.
type recordReader interface {
	// columns returns the columns' names.
	columns() []string
	// next returns the fields of the next row, without surrounding blanks. The fields are valid
	// until the next call. After the last row next returns io.EOF; other errors are *FileError.
	next() ([]string, error)
	// fail adds the position of a field of the last row to an error.
	fail(field int, err error) error
}

// newRecords returns a reader of r: text of separated fields, plain or gzip; see newDelimited.
func newRecords(r io.Reader, name string, separator rune, header []string) (recordReader, error) {
	return newDelimited(r, name, separator, header)
}

// delimited reads the records of a text of separated fields (RFC 4180): one record for each line,
// with optional quotes around fields; lines end in \n or \r\n.
type delimited struct {
	name   string // for errors
	csv    *csv.Reader
	header []string
}

// openText returns the text of r, plain or gzip, without its byte order mark, and the separator. A
// separator of 0 is detected from the first lines. The text of a Parquet file is that of package
// parquettext.
func openText(r io.Reader, name string, separator rune) (*bufio.Reader, rune, error) {
	c, err := newContent(r, name)
	if err != nil {
		return nil, 0, err
	}
	buffered := bufio.NewReaderSize(c, sniffBytes)
	head, err := buffered.Peek(sniffBytes)
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

// newDelimited returns a reader of r, plain or gzip. A separator of 0 is detected from the first
// lines. header names the fields of a file without a header line.
func newDelimited(r io.Reader, name string, separator rune, header []string) (*delimited, error) {
	buffered, separator, err := openText(r, name, separator)
	if err != nil {
		return nil, err
	}
	d := &delimited{name: name, csv: newCSVReader(buffered, separator), header: header}
	if header != nil {
		d.csv.FieldsPerRecord = len(header)
		return d, nil
	}
	first, err := d.next()
	if err != nil {
		return nil, err
	}
	d.header = columnNames(first)
	return d, d.checkHeader(separator)
}

func newCSVReader(r io.Reader, separator rune) *csv.Reader {
	reader := csv.NewReader(r)
	reader.Comma = separator
	reader.ReuseRecord = true
	reader.TrimLeadingSpace = separator != '\t' // with tabs, leading space includes the separator
	return reader
}

// checkHeader returns an error if the first line does not look like names.
func (d *delimited) checkHeader(separator rune) error {
	numbers := 0
	for _, name := range d.header {
		if _, ok := number([]byte(name)); ok {
			numbers++
		}
	}
	switch {
	case len(d.header) == 1:
		return d.fail(0, fmt.Errorf("%w: there is only one column; the separator is %q", ErrFormat, separator))
	case numbers == len(d.header):
		return d.fail(0, fmt.Errorf("%w: the first line holds numbers, want the columns' names", ErrFormat))
	}
	return nil
}

// columnNames returns copies of the names in a header. A column without a name is named by its
// place: "column 1".
func columnNames(header []string) []string {
	names := make([]string, len(header))
	for i, field := range header {
		if names[i] = strings.Clone(field); field == "" {
			names[i] = fmt.Sprintf("column %d", i+1)
			for slices.Contains(header, names[i]) {
				names[i] += "'"
			}
		}
	}
	return names
}

// columns implements recordReader.
func (d *delimited) columns() []string { return d.header }

// sniffSeparator detects the separator. A separator is regular if all examined records have the
// same number of fields. sniffSeparator returns the regular separator with the most fields. If no
// separator is regular, it returns the separator that gives the most fields in the first record.
func sniffSeparator(head []byte) rune {
	best, most, regular := separators[0], 0, false
	for _, separator := range separators {
		reader := newCSVReader(bytes.NewReader(head), separator)
		reader.FieldsPerRecord = -1
		fields, same := 0, true
		for i := range sniffRecords {
			record, err := reader.Read()
			// The last record examined may be incomplete.
			if err != nil || i > 0 && reader.InputOffset() == int64(len(head)) && len(head) == sniffBytes {
				break
			}
			if i == 0 {
				fields = len(record)
			}
			same = same && len(record) == fields
		}
		if same = same && fields > 1; same == regular && fields > most || same && !regular {
			best, most, regular = separator, fields, same
		}
	}
	return best
}

// next implements recordReader.
func (d *delimited) next() ([]string, error) {
	record, err := d.csv.Read()
	switch {
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, d.readError(record, err)
	}
	for i, field := range record {
		record[i] = strings.TrimSpace(field)
		if advice, err := checkUTF8(record[i], d.name); err != nil {
			return nil, advise(d.fail(i, err), advice)
		}
	}
	return record, nil
}

// readError returns the error for the last record: ErrTruncated if the file ends inside the record.
func (d *delimited) readError(record []string, err error) error {
	var parse *csv.ParseError
	var file *FileError
	switch {
	case errors.As(err, &file):
		return err
	case !errors.As(err, &parse):
		return &FileError{Path: d.name, Offset: d.csv.InputOffset(), Err: err}
	}
	what := fmt.Errorf("%w: %w", ErrFormat, parse.Err)
	if errors.Is(err, csv.ErrFieldCount) {
		what = fmt.Errorf("%w: %d fields, want %d", ErrFormat, len(record), len(d.header))
	}
	fields := len(record)
	if _, err := d.csv.Read(); err == io.EOF && (fields < len(d.header) || errors.Is(parse.Err, csv.ErrQuote)) {
		what = fmt.Errorf("%w: the last line has only %d of %d fields", ErrTruncated, fields, len(d.header))
	}
	return &FileError{Path: d.name, Offset: -1, Line: parse.StartLine, Err: what}
}

// fail implements recordReader.
func (d *delimited) fail(field int, err error) error {
	line, _ := d.csv.FieldPos(field)
	return &FileError{Path: d.name, Offset: -1, Line: line, Column: field + 1, Err: err}
}
