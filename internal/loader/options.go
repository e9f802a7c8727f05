package loader

import (
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/vec"
)

// layoutOf returns the layout of the user's csv files.
func layoutOf(o *tabular.TableOptions) tabular.Layout {
	l := tabular.Layout{Header: o.Columns, Skip: o.Skip, JoinFile: o.JoinFile, Key: o.Key}
	if l.Header == nil && o.Header == tabular.HeaderNone {
		l.Header = []string{}
	}
	if o.Separator != 0 {
		l.Separator = string(o.Separator)
	}
	if o.Quote == tabular.QuoteNone {
		l.Quote = o.Quote
	}
	return l
}

// layoutFlag returns a flag that the user has given for the layout of text; "": there is none.
func layoutFlag(o *tabular.TableOptions) string {
	switch {
	case o.Columns != nil:
		return "--columns"
	case o.Header == tabular.HeaderNone:
		return "--header"
	case o.Skip > 0:
		return "--skip"
	case o.Separator != 0:
		return "--separator"
	case o.Quote == tabular.QuoteNone:
		return "--quote"
	}
	return ""
}

// shiftOf returns the number that the reader adds to the indices of the user's LIBSVM file, so that
// they count from 1.
func shiftOf(o *tabular.TableOptions) int { return vec.Indicator(o.ZeroBased) }

// maxEntry is the largest size of a value. Training does not standardise sparse features, and its
// sums of squares are in float32.
const maxEntry = 1e18

// sparseRows says how to read the user's LIBSVM file into memory.
func sparseRows(o *tabular.TableOptions) *SparseRows {
	return &SparseRows{Shift: shiftOf(o), Most: maxEntry, CheckMemory: o.CheckMemory}
}

// absentOf returns the texts that mark a missing value in the user's csv files.
func absentOf(o *tabular.TableOptions) []string {
	if o.MissingValues == nil {
		return AbsentTexts
	}
	if slices.Contains(o.MissingValues, "") {
		return o.MissingValues
	}
	return append([]string{""}, o.MissingValues...)
}

// errNoGroups is the error for DropSensitive without groups.
var errNoGroups = fmt.Errorf("datasets: %w: --drop-sensitive needs groups; specify them (--group)", dataerr.ErrOption)

// pagesOf returns the files of the option Pages; nil: memory.
func pagesOf(o *tabular.TableOptions) *mapped.Dir {
	pages, _ := o.Pages.(*mapped.Dir)
	return pages
}
