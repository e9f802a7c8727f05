package loader

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/internal/textvalue"
)

// maxEntry is the largest size of a value. Training does not standardise sparse features, and its
// sums of squares are in float32.
const maxEntry = 1e18

// LibsvmParser parses lines and collects their rows.
type LibsvmParser struct {
	Cols    int  // 0: any index is valid
	Largest int  // largest index so far
	shift   int  // 1 if the file counts the features from 0, to count them from 1; otherwise 0
	limited bool // the rows are for training, and values beyond maxEntry are errors
	X       *matrix.CSR
	Labels  []float64
	queries []int64
	out     *spilled // has the rows before; nil: no rows are in pages
	rows    int      // in out
	// room is TableOptions.Room, asked again after roomBytes of text
	room  func(bytes uint64) error
	asked int // bytes of text at the last question
	// first and others are for processes that share the rows
	first   *firstReading // keeps few entries; nil: all
	others  *otherRows    // rows without entries; nil: none
	openEnd bool          // the last line has no line end
}

// line adds the row of a line, unless the line is blank or a comment.
func (p *LibsvmParser) line(line []byte) error {
	if at := bytes.IndexByte(line, '#'); at >= 0 {
		line = line[:at]
	}
	field, rest := NextField(line)
	if len(field) == 0 {
		return nil
	}
	label, ok := textvalue.Number(field)
	switch {
	case bytes.IndexByte(field, ':') >= 0:
		return fmt.Errorf("%w: the row begins with %s instead of a label", dataerr.ErrFormat, textvalue.Quoted(field))
	case !ok:
		return BadLabel(field)
	}
	field, following := NextField(rest)
	query, isQuery := bytes.CutPrefix(field, []byte("qid:"))
	if err := p.query(query, isQuery); err != nil {
		return err
	}
	if isQuery {
		rest = following
	}
	p.Labels = append(p.Labels, label)
	from := len(p.X.Columns)
	if p.others != nil && p.others.has(p.rows+len(p.Labels)-1) {
		p.X.Starts = append(p.X.Starts, from)
		return nil
	}
	for previous := 0; ; {
		if p.X.Values == nil {
			rest, previous = p.Indicators(rest, previous)
		}
		if field, rest = NextField(rest); len(field) == 0 {
			break
		}
		var err error
		if previous, err = p.entry(field, previous); err != nil {
			return err
		}
	}
	if p.first != nil {
		p.first.row(p.X, from)
	}
	p.X.Starts = append(p.X.Starts, len(p.X.Columns))
	return nil
}

// query adds the row's query. Either all rows have a query or no row has one.
func (p *LibsvmParser) query(digits []byte, given bool) error {
	row := p.rows + len(p.Labels)
	if given != (p.queries != nil) && row > 0 {
		return fmt.Errorf("%w: some rows have a qid and some have none", dataerr.ErrFormat)
	}
	if !given {
		return nil
	}
	q, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: qid %s is not a whole number", dataerr.ErrFormat, textvalue.Quoted(digits))
	}
	p.queries = append(p.queries, q)
	return nil
}

// entry adds the entry "index:value" and returns its index, which must be larger than the previous
// index.
func (p *LibsvmParser) entry(field []byte, previous int) (index int, err error) {
	index, value, err := ParseEntry(field, previous, p.Cols, p.shift)
	if err != nil {
		return 0, err
	}
	if p.limited && math.Abs(value) > maxEntry {
		return 0, fmt.Errorf("%w: %s is larger than %v, whose square float32 holds; rescale the feature", dataerr.ErrColumn, textvalue.Quoted(field), float64(maxEntry))
	}
	p.Largest = max(p.Largest, index)
	if value != 0 {
		p.add(int32(index-1), value)
	}
	return index, nil
}

// Indicators adds the valid entries "index:1" with at most 9 digits at the start of the text, the
// only form in files of indicators, while the matrix has no Values. It returns the text from the
// first other field on, which ParseEntry parses or refuses, and the last index.
func (p *LibsvmParser) Indicators(text []byte, previous int) (rest []byte, last int) {
	const mostDigits = 9 // an integer below MaxIndex
	most := p.Cols
	if most == 0 {
		most = textvalue.MaxIndex
	}
	columns := p.X.Columns
	for at := 0; ; {
		for at < len(text) && blank(text[at]) {
			at++
		}
		index, from := 0, at
		for ; at < len(text) && text[at]-'0' <= 9; at++ {
			index = 10*index + int(text[at]-'0')
		}
		index += p.shift
		if at == from || at-from > mostDigits || index <= previous || index > most ||
			at+1 >= len(text) || text[at] != ':' || text[at+1] != '1' || at+2 < len(text) && !blank(text[at+2]) {
			p.X.Columns, p.Largest = columns, max(p.Largest, previous)
			return text[from:], previous
		}
		columns, previous, at = append(columns, int32(index-1)), index, at+2
	}
}

// ParseEntry parses an entry "index:value", and adds shift to the index. The sum must be larger
// than the previous one, and at most cols unless cols is 0.
func ParseEntry(field []byte, previous, cols, shift int) (index int, value float64, err error) {
	colon := bytes.IndexByte(field, ':')
	if colon < 0 {
		return 0, 0, fmt.Errorf("%w: %s does not have the form index:value", dataerr.ErrFormat, textvalue.Quoted(field))
	}
	index, ok := textvalue.WholeNumber(field[:colon])
	index += shift
	switch {
	case !ok || index > textvalue.MaxIndex:
		return 0, 0, fmt.Errorf("%w: the index of %s is not a whole number up to %d", dataerr.ErrIndex, textvalue.Quoted(field), textvalue.MaxIndex)
	case index == 0:
		return 0, 0, fmt.Errorf("%w: %s: indices start at 1; if the file counts from 0: --zero-based", dataerr.ErrIndex, textvalue.Quoted(field))
	case cols > 0 && index > cols:
		return 0, 0, fmt.Errorf("%w: %s: there are %d features", dataerr.ErrIndex, textvalue.Quoted(field), cols)
	case index <= previous:
		return 0, 0, fmt.Errorf("%w: %s follows index %d: indices increase along a line", dataerr.ErrIndex, textvalue.Quoted(field), previous-shift)
	}
	if value, ok = textvalue.Number(field[colon+1:]); !ok {
		return 0, 0, fmt.Errorf("the value of %s is %w", textvalue.Quoted(field), dataerr.ErrNumber)
	}
	return index, value, nil
}

// add appends an entry. The matrix has no Values until the first value that is not 1.
func (p *LibsvmParser) add(column int32, value float64) {
	x := p.X
	if value != 1 && x.Values == nil {
		x.Values = make([]float64, len(x.Columns), cap(x.Columns)+1)
		for i := range x.Values {
			x.Values[i] = 1
		}
	}
	if x.Values != nil {
		x.Values = append(x.Values, value)
	}
	x.Columns = append(x.Columns, column)
}

// NextField splits off the text before the next blank. A line may end in \r\n: \r counts as a
// blank.
func NextField(line []byte) (field, rest []byte) {
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

// BadLabel is the error for a label that is not a number. A row of separated fields has no blanks.
func BadLabel(field []byte) error {
	if bytes.ContainsAny(field, ",;") {
		return fmt.Errorf("label %s is %w: want rows in LIBSVM's format (label index:value ...), and this file looks like CSV", textvalue.Quoted(field), dataerr.ErrNumber)
	}
	return fmt.Errorf("label %s is %w", textvalue.Quoted(field), dataerr.ErrNumber)
}
