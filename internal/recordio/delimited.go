package recordio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
)

// separators are the separators that are detected automatically.
var separators = []rune{',', ';', '\t', '|'}

const (
	SniffBytes   = 64 << 10 // bytes of a file that are examined to detect the separator
	sniffRecords = 50       // records of a file that are examined, at most
)

// ByteOrderMark is the UTF-8 mark that some programs write at the beginning of a text file.
const ByteOrderMark = "\ufeff"

// Delimited is a text of separated fields, or a table of a binary format, of which the columns'
// names have been read.
type Delimited struct {
	Name   string         // name of the file, for errors
	Layout tabular.Layout // with the separator
	Header []string
	// HeaderLine is the line of the file that begins with the columns' names; 0: the file has no such
	// line.
	HeaderLine int
	Text       *Chunker
	first      *Chunk      // the rows before those of text; nil: none
	binary     BinaryTable // instead of text; nil: none
}

// openTable opens r, plain or gzip. It returns the table of a binary format, or the beginning of a
// text.
func openTable(r io.Reader, name string) (BinaryTable, *beginning, error) {
	r = Steady(r)
	c, err := NewContent(r, name)
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReaderSize(c, SniffBytes)
	head, err := c.Peek(buffered, SniffBytes)
	if err != nil && err != io.EOF {
		return nil, nil, c.Fail(err)
	}
	table, err := OpenBinary(r, buffered, head, name)
	return table, &beginning{c, buffered, head}, err
}

// beginning is a content whose first bytes are known.
type beginning struct {
	*Content
	buffered *bufio.Reader // of the content
	head     []byte
}

// openText returns the text that begins with b, without byte order marks and without the lines
// before the table. It returns the number of these lines, and the layout with the separator.
func openText(b *beginning, name string, layout tabular.Layout) (*bufio.Reader, tabular.Layout, int, error) {
	fail := func(err error) (*bufio.Reader, tabular.Layout, int, error) { return nil, layout, 0, err }
	c, buffered, head := b.Content, b.buffered, b.head
	if err := CheckText(head, name, "text of separated fields"); err != nil {
		return fail(err)
	}
	for bytes.HasPrefix(head, []byte(ByteOrderMark)) {
		head = head[len(ByteOrderMark):]
		_, _ = buffered.Discard(len(ByteOrderMark)) // Discard cannot fail: Peek has filled the buffer
	}
	if err := layout.Check(); err != nil {
		return fail(&dataerr.FileError{Path: name, Offset: 0, Err: err})
	}
	lines, err := skipLines(&layout, buffered, name, func() ([]byte, error) { return c.Peek(buffered, separatorBytes) })
	if err != nil {
		return fail(err)
	}
	if head, err = c.Peek(buffered, SniffBytes); err != nil && err != io.EOF {
		return fail(c.Fail(err))
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return fail(&dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: the file is empty", dataerr.ErrTruncated)})
	}
	if layout.Separator == "" && layout.Header == nil && libsvmRow.Match(firstLine(head)) {
		return fail(&dataerr.FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it looks like rows in LIBSVM's format, want text of separated fields", dataerr.ErrFormat),
			Advice: "to train on it: --dataset libsvm"})
	}
	if layout.Separator == "" {
		layout.Separator = string(SniffSeparator(head, layout))
	}
	return buffered, layout, lines, nil
}

// NewDelimited reads the columns' names in the first line of r, plain or gzip, and checks them.
//
// Errors of NewDelimited, and of reading the rows, are *FileError.
func NewDelimited(r io.Reader, name string, layout tabular.Layout) (*Delimited, error) {
	d, names, err := OpenDelimited(r, name, layout)
	if err != nil || names == nil {
		return d, err
	}
	if err := names.checkUTF8(); err != nil {
		return nil, err
	}
	return d, d.checkHeader(names)
}

// OpenDelimited does the work of NewDelimited without the checks of the names. names is the reader
// that has read the columns' names; nil: no line has them.
func OpenDelimited(r io.Reader, name string, layout tabular.Layout) (d *Delimited, names *FieldReader, err error) {
	table, begin, err := openTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	if table != nil {
		d = &Delimited{Name: name, Layout: tabular.Layout{Repeated: layout.Repeated, Arrays: layout.Arrays}, binary: table}
		if wider := d.otherWidth(func(now, training int) bool { return now > training }); wider != "" {
			return nil, nil, &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: %s", dataerr.ErrColumn, wider)}
		}
		if d.Pictures() != nil && layout.JoinFile == "" {
			layout.JoinFile = LabelsOf(name)
		}
		if layout.JoinFile != "" {
			if d.binary, err = joinTable(table, name, layout); err != nil {
				return nil, nil, err
			}
		}
		d.Header, err = d.binary.ColumnNames()
		return d, nil, err
	}
	if layout.JoinFile != "" && len(begin.head) > 0 {
		return nil, nil, noArraysError(name)
	}
	buffered, layout, lines, err := openText(begin, name, layout)
	if err != nil {
		return nil, nil, err
	}
	d = &Delimited{Name: name, Layout: layout, Header: layout.Header, Text: NewChunker(buffered, name)}
	d.Text.line, d.Text.Unquoted = lines, layout.Quote == tabular.QuoteNone
	d.Text.Pausing, _ = r.(*Pausing)
	if len(d.Header) > 0 {
		return d, nil, nil
	}
	first, err := d.Text.Next(nil)
	if err == io.EOF {
		return nil, nil, &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file is empty", dataerr.ErrTruncated)}
	}
	if err != nil {
		return nil, nil, err
	}
	d.first = &first
	names = d.Reader(0)
	names.Reset(first)
	if err := names.Next(); err != nil {
		return nil, nil, err
	}
	if layout.Header != nil {
		d.Header = ColumnNames(make([][]byte, len(names.Fields)))
		return d, nil, nil
	}
	d.Header, d.HeaderLine = ColumnNames(names.Fields), first.Line
	first.Text, first.Line = names.rest, names.line
	return d, names, nil
}

// Next returns the next chunk of rows; see Chunker.Next.
func (d *Delimited) Next(buffer []byte) (Chunk, error) {
	if d.binary != nil {
		return d.binary.Next(buffer)
	}
	if first := d.first; first != nil {
		d.first = nil
		return *first, nil
	}
	return d.Text.Next(buffer)
}

// Records returns a reader of the rows of chunks.
func (d *Delimited) Records() RecordReader {
	if d.binary != nil {
		return d.binary.Records()
	}
	return d.Reader(len(d.Header))
}

// IsText reports whether the table is text, or has a table of text beside it.
func (d *Delimited) IsText() bool {
	_, beside := d.binary.(*joined)
	return d.binary == nil || beside
}

// LeftOut says how many rows of the arrays, and of the table that is joined to the arrays, d leaves
// out, because the other file does not have their keys; "": none.
func (d *Delimited) LeftOut() string {
	if j, ok := d.binary.(*joined); ok {
		return j.absent
	}
	return ""
}

// Single reports whether a column of a binary format holds numbers of 32 bits.
func (d *Delimited) Single(field int) bool { return d.binary != nil && d.binary.Single(field) }

// Blocks returns the blocks of columns of a table of arrays.
func (d *Delimited) Blocks() []Block {
	if arrays, ok := d.binary.(ArrayTable); ok {
		return arrays.Blocks()
	}
	return nil
}

// Auxiliary reports whether a column is no feature unless the user says so.
func (d *Delimited) Auxiliary(field int) bool {
	arrays, ok := d.binary.(ArrayTable)
	return ok && arrays.Auxiliary(field)
}

// Arrays returns the arrays of two dimensions or more of a file of arrays.
func (d *Delimited) Arrays() []Array {
	if arrays, ok := d.binary.(ArrayTable); ok {
		return arrays.Arrays()
	}
	return nil
}

// otherWidth says what to do about the first array whose number of columns is wrong, compared with
// training; "": there is none. Columns of arrays are named by their places, so the names in a wider
// array do not say which columns training had.
func (d *Delimited) otherWidth(wrong func(now, training int) bool) string {
	for _, a := range d.Arrays() {
		if training, known := d.Layout.Arrays[a.Name]; known && wrong(a.Columns, training) {
			return fmt.Sprintf("the array %s has %d columns, and training had %d: give the columns of training, in their order", a.Name, a.Columns, training)
		}
	}
	return ""
}

// MissingColumnAdvice returns advice about a column that a file of arrays does not have; "" for
// other files and, unless an array is narrower than in training, beside a table.
func (d *Delimited) MissingColumnAdvice() string {
	if narrower := d.otherWidth(func(now, training int) bool { return now < training }); narrower != "" {
		return narrower
	}
	if _, is := d.binary.(*joined); is || len(d.Blocks()) == 0 && d.Pictures() == nil {
		return ""
	}
	return "name the table that has the column with --table FILE"
}

// At adds the position of a field, whose line or row RecordReader.Position returned, to an error.
func (d *Delimited) At(line, field int, err error) *dataerr.FileError {
	if d.Joined(field) {
		j := d.binary.(*joined)
		return j.table.At(line, field-j.fields, err)
	}
	e := &dataerr.FileError{Path: d.Name, Offset: -1, Line: line, Column: field + 1, Err: err}
	if d.binary != nil {
		e.Line, e.Row = 0, line
	}
	return e
}

// Joined reports whether a column is in the table beside arrays.
func (d *Delimited) Joined(field int) bool {
	j, is := d.binary.(*joined)
	return is && field >= j.fields
}

// Spelling returns a number that a binary format stores as text: see BinaryTable.
func (d *Delimited) Spelling(field int, x float64) string {
	return d.binary.(columnTable).Spelling(field, x)
}

// Skip lets Next leave out the fields of a binary format that want does not have and that the file
// stores as numbers. The readers of records must not ask for them.
func (d *Delimited) Skip(want []int) {
	table, ok := d.binary.(columnTable)
	if !ok {
		return
	}
	skipped := make([]bool, len(d.Header))
	for field := range skipped {
		skipped[field] = true
	}
	for _, field := range want {
		skipped[field] = false
	}
	for field, skip := range skipped {
		if skip {
			table.Skip(field)
		}
	}
}

// Keep lets Next keep fields that a binary format stores as numbers, for Numbers. It returns the
// memory that they take.
func (d *Delimited) Keep(fields []int) (bytes uint64) {
	if table, ok := d.binary.(columnTable); ok {
		return table.Keep(fields)
	}
	return 0
}

// Numbers returns a field of all rows, after Next has returned io.EOF, if Keep has kept it and all
// its numbers are finite; nil otherwise.
func (d *Delimited) Numbers(field int) []float64 {
	if table, ok := d.binary.(columnTable); ok {
		return table.Numbers(field)
	}
	return nil
}

// Reader returns a reader of records with a number of fields, as in NewFieldReader.
func (d *Delimited) Reader(want int) *FieldReader {
	f := NewFieldReader(d.Name, separatorOf(&d.Layout), want)
	f.unquoted = d.Text.Unquoted
	return f
}

// checkHeader returns an error if the first line does not look like names.
func (d *Delimited) checkHeader(first *FieldReader) error {
	switch {
	case len(d.Header) == 1:
		return dataerr.Advise(first.Fail(0, fmt.Errorf("%w: there is only one column; the separator is %q", dataerr.ErrFormat, separatorOf(&d.Layout))),
			d.oneColumn())
	case numbersIn(d.Header) == len(d.Header):
		return dataerr.Advise(first.Fail(0, fmt.Errorf("%w: the first line holds numbers, want the columns' names", dataerr.ErrFormat)), adviceNoNames)
	}
	return nil
}

// adviceNoNames is the advice for a file whose first line looks like values.
const adviceNoNames = "if no line has the names, name the columns (--columns NAME,NAME,...) or use their places (--header none)"

// oneColumn returns advice about a file that seems to have one column.
func (d *Delimited) oneColumn() string {
	name := d.Header[0]
	if n := comments(append([]byte(name+"\n"), d.first.Text...)); n > 0 {
		return fmt.Sprintf("leave out the comments before the names (--skip %d)", n+d.Layout.Skip)
	}
	if strings.ContainsAny(name, " \t") {
		return "if blanks separate the fields: --separator ' '"
	}
	return "name another separator (--separator CHAR), or leave out the lines before the names (--skip N)"
}

// NamesElsewhere returns advice about a first line without the name of the label or its column, if
// another line seems to have the columns' names, or no line.
func (d *Delimited) NamesElsewhere(label, column string) string {
	if slices.Contains(d.Header, column+"0") { // see NoColumn
		return ""
	}
	if advice := d.MissingColumnAdvice(); advice != "" {
		return advice
	}
	if d.Layout.Header != nil || d.first == nil {
		return ""
	}
	records := d.Reader(anyFields)
	records.Reset(*d.first)
	for range sniffRecords {
		if records.Next() != nil {
			break
		}
		if slices.ContainsFunc(records.Fields, func(f []byte) bool { return string(f) == label || string(f) == column }) {
			return fmt.Sprintf("line %d seems to have the columns' names: --skip %d", records.Record, records.Record-1)
		}
	}
	if numbersIn(d.Header) > 0 {
		return "the first line looks like values: " + adviceNoNames
	}
	return ""
}

// SniffSeparator detects the separator. A separator is regular if all examined records have the
// same number of fields. SniffSeparator returns the regular separator with the most fields. If no
// separator is regular, it returns the separator that gives the most fields in the first record.
func SniffSeparator(head []byte, layout tabular.Layout) rune {
	best, most, regular := separators[0], 0, false
	cut := len(head) == SniffBytes // the last record examined may be incomplete
	for _, separator := range separators {
		reader := NewFieldReader("", separator, anyFields)
		reader.unquoted = layout.Quote == tabular.QuoteNone
		reader.Reset(Chunk{Text: head, Last: true})
		fields, same := 0, true
		for i := range sniffRecords {
			err := reader.Next()
			left := len(reader.rest)
			if err != nil { // within the record
				left = bytes.IndexByte(reader.rest, '\n') + 1
			}
			if err == io.EOF || errors.Is(err, dataerr.ErrTruncated) || i > 0 && cut && left == 0 {
				break
			}
			if err != nil { // a wrong quote: the text probably has another separator
				same = false
				break
			}
			if i == 0 {
				fields = len(reader.Fields)
			}
			same = same && len(reader.Fields) == fields
		}
		if same = same && fields > 1; same == regular && fields > most || same && !regular {
			best, most, regular = separator, fields, same
		}
	}
	return best
}
