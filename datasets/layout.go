package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"
)

// Layout says how a text of separated fields is laid out. The zero value is a text whose first line
// has the columns' names. A Parquet file has its own layout, and none of the fields applies to it.
type Layout struct {
	// names of the file's columns, if no line has the columns' names; nil: the first line has them;
	// empty: the names are column 1, column 2, ...
	Header []string `json:"header,omitempty" yaml:"header,omitempty"`
	// names that several columns of the file have, with the same values; the first of them counts
	Repeated []string `json:"repeated,omitempty" yaml:"repeated,omitempty"`
	// number of lines before the first line of the table
	Skip int `json:"skip,omitempty" yaml:"skip,omitempty"`
	// the character between fields; a blank stands for one or more blanks; "": detect it
	Separator string `json:"separator,omitempty" yaml:"separator,omitempty"`
	// QuoteNone, or QuoteDouble (also "")
	Quote string `json:"quote,omitempty" yaml:"quote,omitempty"`
}

// The choices of TableOptions.Header.
const (
	HeaderFirst = "first" // the first line has the columns' names
	HeaderNone  = "none"  // no line has the columns' names
)

// The choices of TableOptions.Quote.
const (
	QuoteDouble = "double" // double quotes may surround a field
	QuoteNone   = "none"   // a double quote is an ordinary character
)

// check returns an error if the layout, which may come from a file, is not valid.
func (l *Layout) check() error {
	switch {
	case l.Skip < 0:
		return fmt.Errorf("%w: %d lines to skip", ErrFormat, l.Skip)
	case l.Quote != "" && l.Quote != QuoteDouble && l.Quote != QuoteNone:
		return fmt.Errorf("%w: the quote is %q, want %s or %s", ErrFormat, l.Quote, QuoteDouble, QuoteNone)
	case l.Separator == "":
		return nil
	}
	switch r, size := utf8.DecodeRuneInString(l.Separator); {
	case size < len(l.Separator):
		return fmt.Errorf("%w: the separator is %q, want one character", ErrFormat, l.Separator)
	case r == '"' || r == '\n' || r == '\r' || r == utf8.RuneError:
		return fmt.Errorf("%w: the separator cannot be %q", ErrFormat, r)
	}
	return nil
}

// separator returns the character between fields; 0: detect it.
func (l *Layout) separator() rune {
	if l.Separator == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(l.Separator)
	return r
}

// separatorLine is the line by which Excel tells the separator, before the columns' names.
var separatorLine = regexp.MustCompile(`^(?i)"?sep=([^\r\n])"?\r?\n`)

// separatorBytes is more than the length of such a line.
const separatorBytes = 16

// begin reads the lines before the table: those that Skip counts, and a line such as "sep=;", which
// sets the separator if it is not known. It returns their number. peek returns the next line of r,
// or its first bytes.
func (l *Layout) begin(r *bufio.Reader, name string, peek func() ([]byte, error)) (lines int, err error) {
	for lines < l.Skip {
		_, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			lines++
		case err == io.EOF:
			return 0, &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file has no line after the %d lines to skip", ErrTruncated, l.Skip)}
		case !errors.Is(err, bufio.ErrBufferFull): // a long line continues
			return 0, err
		}
	}
	head, err := peek()
	if err != nil && err != io.EOF {
		return 0, err
	}
	if found := separatorLine.FindSubmatch(head); found != nil {
		_, _ = r.Discard(len(found[0])) // Discard cannot fail: Peek has filled the buffer
		lines++
		if l.Separator == "" {
			l.Separator = string(found[1])
		}
	}
	return lines, nil
}

// comments returns the number of lines at the beginning of a text that are comments, as the first
// line shows.
func comments(text []byte) (n int) {
	for _, mark := range []string{"#", "%", "//"} {
		for rest := text; bytes.HasPrefix(rest, []byte(mark)); n++ {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			rest = rest[end+1:]
		}
	}
	return n
}
