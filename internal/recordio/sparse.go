package recordio

import (
	"bytes"
	"fmt"
	"math"

	"ppal/datasets/dataerr"
	"ppal/internal/textvalue"
)

// SparseReader decodes rows in the format of LIBSVM and SVMlight (Chang and Lin, "LIBSVM: a library
// for support vector machines", ACM TIST 2, 2011), one line for each row:
//
//	label [qid:query] index:value index:value ... [# comment]
//
// Indices start at 1 and increase along the line. Features that a line omits are 0. A reader skips
// empty lines.
type SparseReader struct {
	Name       string  // of the file, for errors
	Cols       int     // the largest index; 0: any index is valid
	Shift      int     // 1 if the file counts the features from 0, to count them from 1; otherwise 0
	Most       float64 // the largest size of a value; 0: no limit
	Unlabelled bool    // rows may lack their label
	Zeros      bool    // keep entries with the value 0

	// of the row
	line         int
	label, query []byte // texts; nil: the row has none
	number       float64
	entries      []byte // the text of the entries
}

// Entries are the entries of rows, one after the other.
type Entries struct {
	Columns []int32   // from 0
	Values  []float64 // nil: all values are 1
	Largest int       // the largest index, from 1, also of entries that are left out
	spare   []float64 // memory of Values
}

// Reset removes the entries. It keeps the memory.
func (e *Entries) Reset() {
	if e.Values != nil {
		e.spare = e.Values[:0]
	}
	e.Columns, e.Values, e.Largest = e.Columns[:0], nil, 0
}

// Each calls visit for each row of the chunk. It returns the first error.
func (s *SparseReader) Each(c Chunk, visit func() error) error {
	for number, text := c.Line, c.Text; len(text) > 0; number++ {
		line := text
		s.line = number
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else if text = nil; !c.Last {
			return s.Fail(ErrLongRecord)
		}
		if at := bytes.IndexByte(line, '#'); at >= 0 {
			line = line[:at]
		}
		field, rest := nextField(line)
		if len(field) == 0 {
			continue
		}
		if err := s.begin(field, rest, line); err != nil {
			return s.Fail(err)
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// Fail adds the row's line to an error.
func (s *SparseReader) Fail(err error) error {
	return &dataerr.FileError{Path: s.Name, Offset: -1, Line: s.line, Err: err}
}

// Line returns the row's line, from 1.
func (s *SparseReader) Line() int { return s.line }

// begin reads the row's label and query. field is the first field of the line, and rest follows it.
func (s *SparseReader) begin(field, rest, line []byte) (err error) {
	s.label, s.query, s.entries = nil, nil, rest
	switch number, ok := textvalue.Number(field); {
	case ok:
		s.label, s.number = field, number
	case bytes.IndexByte(field, ':') < 0:
		return badLabel(field)
	case s.Unlabelled:
		s.entries = line
	default:
		return fmt.Errorf("%w: the row begins with %s instead of a label", dataerr.ErrFormat, textvalue.Quoted(field))
	}
	field, rest = nextField(s.entries)
	if digits, is := bytes.CutPrefix(field, []byte("qid:")); is {
		s.query, s.entries = digits, rest
	}
	return nil
}

// Label returns the row's label as a text and as a number. The text is nil if the row has no label.
func (s *SparseReader) Label() (text []byte, number float64) { return s.label, s.number }

// Query returns the row's query, a whole number without leading zeros; nil: the row has none.
func (s *SparseReader) Query() ([]byte, error) {
	if s.query == nil {
		return nil, nil
	}
	digits, negative := bytes.CutPrefix(s.query, []byte("-"))
	if len(digits) == 0 || !textvalue.AllDigits(digits) {
		return nil, fmt.Errorf("%w: qid %s is not a whole number", dataerr.ErrFormat, textvalue.Quoted(s.query))
	}
	if digits[0] != '0' {
		return s.query, nil
	}
	switch digits = bytes.TrimLeft(digits, "0"); {
	case len(digits) == 0:
		return []byte("0"), nil
	case negative:
		return append([]byte("-"), digits...), nil
	}
	return digits, nil
}

// Append appends the row's entries. An error is without the line.
func (s *SparseReader) Append(to *Entries) error {
	for rest, previous := s.entries, 0; ; {
		if to.Values == nil {
			rest, previous = s.indicators(to, rest, previous)
		}
		var field []byte
		if field, rest = nextField(rest); len(field) == 0 {
			return nil
		}
		index, value, err := s.entry(field, previous)
		if err != nil {
			return err
		}
		previous, to.Largest = index, max(to.Largest, index)
		if value != 0 || s.Zeros {
			to.add(int32(index-1), value)
		}
	}
}

// add appends an entry. There are no Values until the first value that is not 1.
func (e *Entries) add(column int32, value float64) {
	if value != 1 && e.Values == nil {
		if e.spare == nil {
			e.spare = make([]float64, 0, cap(e.Columns)+1)
		}
		e.Values = AppendOnes(e.spare, len(e.Columns))
	}
	if e.Values != nil {
		e.Values = append(e.Values, value)
	}
	e.Columns = append(e.Columns, column)
}

// Value returns the value of entry i.
func (e *Entries) Value(i int) float64 {
	if e.Values == nil {
		return 1
	}
	return e.Values[i]
}

// AppendOnes appends n ones.
func AppendOnes(values []float64, n int) []float64 {
	for range n {
		values = append(values, 1)
	}
	return values
}

// indicators adds the valid entries "index:1" with at most 9 digits at the start of the text, the
// only form in files of indicators, while there are no Values. It returns the text from the first
// other field on, which entry parses or refuses, and the last index.
func (s *SparseReader) indicators(to *Entries, text []byte, previous int) (rest []byte, last int) {
	const mostDigits = 9 // an integer below MaxIndex
	most := s.Cols
	if most == 0 {
		most = textvalue.MaxIndex
	}
	columns := to.Columns
	for at := 0; ; {
		for at < len(text) && blank(text[at]) {
			at++
		}
		index, from := 0, at
		for ; at < len(text) && text[at]-'0' <= 9; at++ {
			index = 10*index + int(text[at]-'0')
		}
		index += s.Shift
		if at == from || at-from > mostDigits || index <= previous || index > most ||
			at+1 >= len(text) || text[at] != ':' || text[at+1] != '1' || at+2 < len(text) && !blank(text[at+2]) {
			to.Columns, to.Largest = columns, max(to.Largest, previous)
			return text[from:], previous
		}
		columns, previous, at = append(columns, int32(index-1)), index, at+2
	}
}

// entry parses an entry "index:value". The index, with Shift, must be larger than the previous one.
func (s *SparseReader) entry(field []byte, previous int) (index int, value float64, err error) {
	colon := bytes.IndexByte(field, ':')
	if colon < 0 {
		return 0, 0, fmt.Errorf("%w: %s does not have the form index:value", dataerr.ErrFormat, textvalue.Quoted(field))
	}
	index, ok := textvalue.WholeNumber(field[:colon])
	index += s.Shift
	switch {
	case !ok || index > textvalue.MaxIndex:
		return 0, 0, fmt.Errorf("%w: the index of %s is not a whole number up to %d", dataerr.ErrIndex, textvalue.Quoted(field), textvalue.MaxIndex)
	case index == 0:
		return 0, 0, fmt.Errorf("%w: %s: indices start at 1; if the file counts from 0: --zero-based", dataerr.ErrIndex, textvalue.Quoted(field))
	case s.Cols > 0 && index > s.Cols:
		return 0, 0, fmt.Errorf("%w: %s: there are %d features", dataerr.ErrIndex, textvalue.Quoted(field), s.Cols)
	case index <= previous:
		return 0, 0, fmt.Errorf("%w: %s follows index %d: indices increase along a line", dataerr.ErrIndex, textvalue.Quoted(field), previous-s.Shift)
	}
	if value, ok = textvalue.Number(field[colon+1:]); !ok {
		return 0, 0, fmt.Errorf("the value of %s is %w", textvalue.Quoted(field), dataerr.ErrNumber)
	}
	if s.Most > 0 && math.Abs(value) > s.Most {
		return 0, 0, fmt.Errorf("%w: %s is larger than %v, whose square float32 holds; rescale the feature", dataerr.ErrColumn, textvalue.Quoted(field), s.Most)
	}
	return index, value, nil
}

// nextField splits off the text before the next blank. A line may end in \r\n: \r counts as a
// blank.
func nextField(line []byte) (field, rest []byte) {
	from := 0
	for from < len(line) && blank(line[from]) {
		from++
	}
	to := from
	for to < len(line) && !blank(line[to]) {
		to++
	}
	return line[from:to], line[to:]
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// badLabel is the error for a label that is not a number. A row of separated fields has no blanks.
func badLabel(field []byte) error {
	if bytes.ContainsAny(field, ",;") {
		return fmt.Errorf("label %s is %w: want rows in LIBSVM's format (label index:value ...), and this file looks like CSV", textvalue.Quoted(field), dataerr.ErrNumber)
	}
	return fmt.Errorf("label %s is %w", textvalue.Quoted(field), dataerr.ErrNumber)
}
