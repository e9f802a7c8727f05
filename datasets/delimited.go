package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// separators are the separators that are detected automatically.
var separators = []rune{',', ';', '\t', '|'}

const (
	sniffBytes   = 64 << 10 // bytes of a file that are examined to detect the separator
	sniffRecords = 50       // records of a file that are examined, at most
)

// byteOrderMark is the UTF-8 mark that some programs write at the beginning of a text file.
const byteOrderMark = "\ufeff"

// delimited is a text of separated fields, or a table of a binary format, of which the columns' names have been
// read.
type delimited struct {
	name   string // name of the file, for errors
	layout Layout // with the separator
	header []string
	text   *chunker
	first  *chunk      // the rows before those of text; nil: none
	binary binaryTable // instead of text; nil: none
}

// openTable opens r, plain or gzip. It returns the table of a binary format, or the beginning of a
// text.
func openTable(r io.Reader, name string) (binaryTable, *beginning, error) {
	r = steady(r)
	c, err := newContent(r, name)
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReaderSize(c, sniffBytes)
	head, err := c.peek(buffered, sniffBytes)
	if err != nil && err != io.EOF {
		return nil, nil, c.fail(err)
	}
	table, err := openBinary(r, buffered, head, name)
	return table, &beginning{c, buffered, head}, err
}

// beginning is a content whose first bytes are known.
type beginning struct {
	*content
	buffered *bufio.Reader // of the content
	head     []byte
}

// openText returns the text that begins with b, without byte order marks and without the lines
// before the table. It returns the number of these lines, and the layout with the separator.
func openText(b *beginning, name string, layout Layout) (*bufio.Reader, Layout, int, error) {
	fail := func(err error) (*bufio.Reader, Layout, int, error) { return nil, layout, 0, err }
	c, buffered, head := b.content, b.buffered, b.head
	if err := checkText(head, name, "text of separated fields"); err != nil {
		return fail(err)
	}
	for bytes.HasPrefix(head, []byte(byteOrderMark)) {
		head = head[len(byteOrderMark):]
		_, _ = buffered.Discard(len(byteOrderMark)) // Discard cannot fail: Peek has filled the buffer
	}
	if err := layout.check(); err != nil {
		return fail(&FileError{Path: name, Offset: 0, Err: err})
	}
	lines, err := layout.begin(buffered, name, func() ([]byte, error) { return c.peek(buffered, separatorBytes) })
	if err != nil {
		return fail(err)
	}
	if head, err = c.peek(buffered, sniffBytes); err != nil && err != io.EOF {
		return fail(c.fail(err))
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return fail(&FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: the file is empty", ErrTruncated)})
	}
	if layout.Separator == "" && layout.Header == nil && libsvmRow.Match(firstLine(head)) {
		return fail(&FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it looks like rows in LIBSVM's format, want text of separated fields", ErrFormat),
			Advice: "to train on it: --dataset libsvm"})
	}
	if layout.Separator == "" {
		layout.Separator = string(sniffSeparator(head, layout))
	}
	return buffered, layout, lines, nil
}

// newDelimited reads the columns' names in the first line of r, plain or gzip, and checks them.
//
// Errors of newDelimited, and of reading the rows, are *FileError.
func newDelimited(r io.Reader, name string, layout Layout) (*delimited, error) {
	d, names, err := openDelimited(r, name, layout)
	if err != nil || names == nil {
		return d, err
	}
	if err := names.checkUTF8(); err != nil {
		return nil, err
	}
	return d, d.checkHeader(names)
}

// openDelimited is newDelimited without the checks of the names. names has read the columns' names;
// nil: no line has them.
func openDelimited(r io.Reader, name string, layout Layout) (d *delimited, names *fieldReader, err error) {
	table, begin, err := openTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	if table != nil {
		d = &delimited{name: name, layout: Layout{Repeated: layout.Repeated}, binary: table}
		d.header, err = table.columnNames()
		return d, nil, err
	}
	buffered, layout, lines, err := openText(begin, name, layout)
	if err != nil {
		return nil, nil, err
	}
	d = &delimited{name: name, layout: layout, header: layout.Header, text: newChunker(buffered, name)}
	d.text.line, d.text.unquoted = lines, layout.Quote == QuoteNone
	d.text.pausing, _ = r.(*pausing)
	if len(d.header) > 0 {
		return d, nil, nil
	}
	first, err := d.text.next(nil)
	if err == io.EOF {
		return nil, nil, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file is empty", ErrTruncated)}
	}
	if err != nil {
		return nil, nil, err
	}
	d.first = &first
	names = d.reader(0)
	names.reset(first)
	if err := names.next(); err != nil {
		return nil, nil, err
	}
	if layout.Header != nil {
		d.header = columnNames(make([][]byte, len(names.fields)))
		return d, nil, nil
	}
	d.header = columnNames(names.fields)
	first.text, first.line = names.rest, names.line
	return d, names, nil
}

// next returns the next chunk of rows; see chunker.next.
func (d *delimited) next(buffer []byte) (chunk, error) {
	if d.binary != nil {
		return d.binary.next(buffer)
	}
	if first := d.first; first != nil {
		d.first = nil
		return *first, nil
	}
	return d.text.next(buffer)
}

// records returns a reader of the rows of chunks.
func (d *delimited) records() recordReader {
	if d.binary != nil {
		return d.binary.records()
	}
	return d.reader(len(d.header))
}

// single reports whether a column of a binary format holds numbers of 32 bits.
func (d *delimited) single(field int) bool { return d.binary != nil && d.binary.single(field) }

// reader returns a reader of records with a number of fields, as in newFieldReader.
func (d *delimited) reader(want int) *fieldReader {
	f := newFieldReader(d.name, d.layout.separator(), want)
	f.unquoted = d.text.unquoted
	return f
}

// checkHeader returns an error if the first line does not look like names.
func (d *delimited) checkHeader(first *fieldReader) error {
	switch {
	case len(d.header) == 1:
		return advise(first.fail(0, fmt.Errorf("%w: there is only one column; the separator is %q", ErrFormat, d.layout.separator())),
			d.oneColumn())
	case numbersIn(d.header) == len(d.header):
		return advise(first.fail(0, fmt.Errorf("%w: the first line holds numbers, want the columns' names", ErrFormat)), adviceNoNames)
	}
	return nil
}

// adviceNoNames is the advice for a file whose first line looks like values.
const adviceNoNames = "if no line has the names, name the columns (--columns NAME,NAME,...) or use their places (--header none)"

// oneColumn returns advice about a file that seems to have one column.
func (d *delimited) oneColumn() string {
	name := d.header[0]
	if n := comments(append([]byte(name+"\n"), d.first.text...)); n > 0 {
		return fmt.Sprintf("leave out the comments before the names (--skip %d)", n+d.layout.Skip)
	}
	if strings.ContainsAny(name, " \t") {
		return "if blanks separate the fields: --separator ' '"
	}
	return "name another separator (--separator CHAR), or leave out the lines before the names (--skip N)"
}

// namesElsewhere returns advice about a first line without the name of the label or its column, if
// another line seems to have the columns' names, or no line.
func (d *delimited) namesElsewhere(label, column string) string {
	if d.layout.Header != nil || d.first == nil {
		return ""
	}
	records := d.reader(anyFields)
	records.reset(*d.first)
	for range sniffRecords {
		if records.next() != nil {
			break
		}
		if slices.ContainsFunc(records.fields, func(f []byte) bool { return string(f) == label || string(f) == column }) {
			return fmt.Sprintf("line %d seems to have the columns' names: --skip %d", records.record, records.record-1)
		}
	}
	if numbersIn(d.header) > 0 {
		return "the first line looks like values: " + adviceNoNames
	}
	return ""
}

// sniffSeparator detects the separator. A separator is regular if all examined records have the
// same number of fields. sniffSeparator returns the regular separator with the most fields. If no
// separator is regular, it returns the separator that gives the most fields in the first record.
func sniffSeparator(head []byte, layout Layout) rune {
	best, most, regular := separators[0], 0, false
	cut := len(head) == sniffBytes // the last record examined may be incomplete
	for _, separator := range separators {
		reader := newFieldReader("", separator, anyFields)
		reader.unquoted = layout.Quote == QuoteNone
		reader.reset(chunk{text: head, last: true})
		fields, same := 0, true
		for i := range sniffRecords {
			err := reader.next()
			left := len(reader.rest)
			if err != nil { // within the record
				left = bytes.IndexByte(reader.rest, '\n') + 1
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
