package tabular

import (
	"fmt"
	"unicode/utf8"

	"ppal/datasets/dataerr"
)

// Layout says how a text of separated fields is laid out. The zero value is a text whose first line
// has the columns' names. A Parquet file has its own layout, and none of the fields applies to it.
// Beside a file of arrays, the fields apply to the table beside it.
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
	// number of columns of each array of two dimensions or more of the training file, by its name
	Arrays map[string]int `json:"arrays,omitempty" yaml:"arrays,omitempty,flow"`
	// path of the table beside a file of arrays; "": none
	JoinFile string `json:"-" yaml:"-"`
	// column of the table beside a file of arrays that joins each row to a row of the arrays: by
	// the values of the array with the same name, or by the number of the row from 0; "": row i
	// belongs to row i
	Key string `json:"key,omitempty" yaml:"key,omitempty"`
	// the table also has the rows of another file: Key must be an array, and not row numbers
	Shared bool `json:"-" yaml:"-"`
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

// Check returns an error if the layout, which may come from a file, is not valid.
func (l *Layout) Check() error {
	switch {
	case l.Skip < 0:
		return fmt.Errorf("%w: %d lines to skip", dataerr.ErrFormat, l.Skip)
	case l.Quote != "" && l.Quote != QuoteDouble && l.Quote != QuoteNone:
		return fmt.Errorf("%w: the quote is %q, want %s or %s", dataerr.ErrFormat, l.Quote, QuoteDouble, QuoteNone)
	case l.Separator == "":
		return nil
	}
	switch r, size := utf8.DecodeRuneInString(l.Separator); {
	case size < len(l.Separator):
		return fmt.Errorf("%w: the separator is %q, want one character", dataerr.ErrFormat, l.Separator)
	case r == '"' || r == '\n' || r == '\r' || r == utf8.RuneError:
		return fmt.Errorf("%w: the separator cannot be %q", dataerr.ErrFormat, r)
	}
	return nil
}
