package datasets

import "ppal/internal/paged"

// columnSpec describes how to read a column.
type columnSpec struct {
	name    string
	numeric bool
	// name of the column in the file; "": the same as name
	from string
	// function that parses a number; nil: the function number
	value      func(text []byte) (float64, bool)
	decimal    string   // how the numbers are written, as in Encoding
	date       string   // as in Encoding
	categories []string // the allowed categories; nil: any, in alphabetical order
	unknown    bool     // categories outside the list are allowed and count as no category
	missing    bool     // a value may be missing
	many       bool     // the column may have any number of categories
	guess      bool     // the column becomes numbers if all values are numbers, otherwise categories
	summary    bool     // keep the categories and whether values are missing, and no values
}

// number parses a number. It calls the usual parser directly.
func (s *columnSpec) number(text []byte) (float64, bool) {
	if s.value == nil {
		return number(text)
	}
	return s.value(text)
}

// schema describes which columns of a file to read, and how.
type schema struct {
	layout  Layout
	absent  []string // texts that mark a missing value
	columns []columnSpec
	// attributes to read in addition: names of columns, or conditions on columns
	attributes []string
	// leave out rows that lack a value in a column with missing = false
	drop  bool
	pages *paged.Dir               // receives the values; nil: memory
	room  func(bytes uint64) error // as in TableOptions; nil: no limit
	// read these rows of the file alone, by increasing numbers; nil: all rows
	only   []int
	begins []int // sheet.begins of an earlier reading, for only
	// the processes that read the file together, each a part of its bytes; nil: this process alone
	share Share
	size  int64 // bytes of the file
}

// rowCopies is the least number of copies of a table's rows that a run needs: those of the file,
// and those of the parts.
const rowCopies = 2

// maxCategories is the largest number of features of one text column.
const maxCategories = 1000
