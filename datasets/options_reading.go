package datasets

import (
	"fmt"
	"slices"
)

// layout returns the layout of the user's csv files.
func (o *TableOptions) layout() Layout {
	l := Layout{Header: o.Columns, Skip: o.Skip}
	if l.Header == nil && o.Header == HeaderNone {
		l.Header = []string{}
	}
	if o.Separator != 0 {
		l.Separator = string(o.Separator)
	}
	if o.Quote == QuoteNone {
		l.Quote = o.Quote
	}
	return l
}

// shift is what the reader adds to the indices of the user's LIBSVM file, which then count from 1.
func (o *TableOptions) shift() int { return indicator(o.ZeroBased) }

// parser sets the parser of the user's LIBSVM file.
func (o *TableOptions) parser(p *libsvmParser) {
	p.shift, p.limited, p.room = o.shift(), true, o.Room
}

// absent returns the texts that mark a missing value in the user's csv files.
func (o *TableOptions) absent() []string {
	if o.MissingValues == nil {
		return absentTexts
	}
	if slices.Contains(o.MissingValues, "") {
		return o.MissingValues
	}
	return append([]string{""}, o.MissingValues...)
}

// errNoGroups is the error for DropSensitive without groups.
var errNoGroups = fmt.Errorf("datasets: %w: --drop-sensitive needs groups; specify them (--group)", ErrOption)
