package columnar

import (
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/textvalue"
)

// ColumnSpec describes how to read a column.
type ColumnSpec struct {
	Name    string
	Numeric bool
	// name of the column in the file; "": the same as Name
	From string
	// function that parses a number; nil: textvalue.Number
	Value      func(text []byte) (float64, bool)
	Decimal    string    // how the numbers are written, as in Encoding
	Date       string    // as in Encoding
	Categories []string  // the allowed categories; nil: any, in alphabetical order
	Unknown    bool      // categories outside the list are allowed and count as no category
	Missing    bool      // a value may be missing
	Many       bool      // the column may have any number of categories
	Guess      bool      // the column becomes numbers if all values are numbers, otherwise categories
	Summary    bool      // keep the categories and whether values are missing, and no values
	Wide       bool      // the numbers may be in a Wide, because they are plain and the column is a feature alone
	Lacks      bool      // for Summary and Wide: an earlier reading found a missing value
	Stored     []float64 // the numbers of all rows, if an earlier reading has kept them; else nil
}

// Number parses a number. Without Value, it calls textvalue.Number directly, not through a
// function value.
func (s *ColumnSpec) Number(text []byte) (float64, bool) {
	if s.Value == nil {
		return textvalue.Number(text)
	}
	return s.Value(text)
}

// Schema describes which columns of a file to read, and how.
type Schema struct {
	Layout  tabular.Layout
	Absent  []string // texts that mark a missing value
	Columns []ColumnSpec
	// attributes to read in addition: names of columns, or conditions on columns
	Attributes []string
	// leave out rows that lack a value in a column with Missing = false
	Drop        bool
	Pages       *mapped.Dir              // receives the values; nil: memory
	CheckMemory func(bytes uint64) error // as in TableOptions; nil: no limit
	// read these rows of the file alone, by increasing numbers; nil: all rows
	Only   []int
	Begins []int // Sheet.Begins of an earlier reading, for Only
	// the numbers of blocks, by the first field, that an earlier reading of all rows has kept
	Wides map[int]*Wide
}

// RowCopies is the least number of copies of a table's rows that a run needs: one as read from the
// file, and one divided into the parts.
const RowCopies = 2

// MaxCategories is the largest number of features of one text column.
const MaxCategories = 1000
