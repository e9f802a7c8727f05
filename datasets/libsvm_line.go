package datasets

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"ppal/datasets/matrix"
)

// maxEntry is the largest size of a value. Training does not standardise sparse features, and its
// sums of squares are in float32.
const maxEntry = 1e18

// libsvmParser parses lines and collects their rows.
type libsvmParser struct {
	cols    int  // 0: any index is valid
	largest int  // largest index so far
	shift   int  // 1 if the file counts the features from 0, to count them from 1; otherwise 0
	limited bool // the rows are for training, and values beyond maxEntry are errors
	x       *matrix.CSR
	labels  []float64
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
func (p *libsvmParser) line(line []byte) error {
	if at := bytes.IndexByte(line, '#'); at >= 0 {
		line = line[:at]
	}
	field, rest := nextField(line)
	if len(field) == 0 {
		return nil
	}
	label, ok := number(field)
	switch {
	case bytes.IndexByte(field, ':') >= 0:
		return fmt.Errorf("%w: the row begins with %s instead of a label", ErrFormat, quoted(field))
	case !ok:
		return badLabel(field)
	}
	field, following := nextField(rest)
	query, isQuery := bytes.CutPrefix(field, []byte("qid:"))
	if err := p.query(query, isQuery); err != nil {
		return err
	}
	if isQuery {
		rest = following
	}
	p.labels = append(p.labels, label)
	from := len(p.x.Columns)
	if p.others != nil && p.others.has(p.rows+len(p.labels)-1) {
		p.x.Starts = append(p.x.Starts, from)
		return nil
	}
	for previous := 0; ; {
		if p.x.Values == nil {
			rest, previous = p.indicators(rest, previous)
		}
		if field, rest = nextField(rest); len(field) == 0 {
			break
		}
		var err error
		if previous, err = p.entry(field, previous); err != nil {
			return err
		}
	}
	if p.first != nil {
		p.first.row(p.x, from)
	}
	p.x.Starts = append(p.x.Starts, len(p.x.Columns))
	return nil
}

// query adds the row's query. Either all rows have a query or no row has one.
func (p *libsvmParser) query(digits []byte, given bool) error {
	row := p.rows + len(p.labels)
	if given != (p.queries != nil) && row > 0 {
		return fmt.Errorf("%w: some rows have a qid and some have none", ErrFormat)
	}
	if !given {
		return nil
	}
	q, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: qid %s is not a whole number", ErrFormat, quoted(digits))
	}
	p.queries = append(p.queries, q)
	return nil
}

// entry adds the entry "index:value" and returns its index, which must be larger than the previous
// index.
func (p *libsvmParser) entry(field []byte, previous int) (index int, err error) {
	index, value, err := parseEntry(field, previous, p.cols, p.shift)
	if err != nil {
		return 0, err
	}
	if p.limited && math.Abs(value) > maxEntry {
		return 0, fmt.Errorf("%w: %s is larger than %v, whose square float32 holds; rescale the feature", ErrColumn, quoted(field), float64(maxEntry))
	}
	p.largest = max(p.largest, index)
	if value != 0 {
		p.add(int32(index-1), value)
	}
	return index, nil
}

// indicators adds the valid entries "index:1" with at most 9 digits at the start of the text, the
// only form in files of indicators, while the matrix has no Values. It returns the text from the
// first other field on, which parseEntry parses or refuses, and the last index.
func (p *libsvmParser) indicators(text []byte, previous int) (rest []byte, last int) {
	const mostDigits = 9 // an integer below maxIndex
	most := p.cols
	if most == 0 {
		most = maxIndex
	}
	columns := p.x.Columns
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
			p.x.Columns, p.largest = columns, max(p.largest, previous)
			return text[from:], previous
		}
		columns, previous, at = append(columns, int32(index-1)), index, at+2
	}
}

// parseEntry parses an entry "index:value", and adds shift to the index. The sum must be larger
// than the previous one, and at most cols unless cols is 0.
func parseEntry(field []byte, previous, cols, shift int) (index int, value float64, err error) {
	colon := bytes.IndexByte(field, ':')
	if colon < 0 {
		return 0, 0, fmt.Errorf("%w: %s does not have the form index:value", ErrFormat, quoted(field))
	}
	index, ok := wholeNumber(field[:colon])
	index += shift
	switch {
	case !ok || index > maxIndex:
		return 0, 0, fmt.Errorf("%w: the index of %s is not a whole number up to %d", ErrIndex, quoted(field), maxIndex)
	case index == 0:
		return 0, 0, fmt.Errorf("%w: %s: indices start at 1; if the file counts from 0: --zero-based", ErrIndex, quoted(field))
	case cols > 0 && index > cols:
		return 0, 0, fmt.Errorf("%w: %s: there are %d features", ErrIndex, quoted(field), cols)
	case index <= previous:
		return 0, 0, fmt.Errorf("%w: %s follows index %d: indices increase along a line", ErrIndex, quoted(field), previous-shift)
	}
	if value, ok = number(field[colon+1:]); !ok {
		return 0, 0, fmt.Errorf("the value of %s is %w", quoted(field), ErrNumber)
	}
	return index, value, nil
}

// add appends an entry. The matrix has no Values until the first value that is not 1.
func (p *libsvmParser) add(column int32, value float64) {
	x := p.x
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
		return fmt.Errorf("label %s is %w: want rows in LIBSVM's format (label index:value ...), and this file looks like CSV", quoted(field), ErrNumber)
	}
	return fmt.Errorf("label %s is %w", quoted(field), ErrNumber)
}
