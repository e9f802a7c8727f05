package datasets

import "fmt"

// TableOptions configures the loading of a table. The zero value loads data sets that have their
// own files.
type TableOptions struct {
	Seed  uint64 // seed of the split, and of the rows of a synthetic table
	Split Split  // zero: DefaultSplit

	// Groups are conditions on columns (race=Caucasian, 25<=age<60), or features' numbers or names
	// for sparse tables; empty: the data set's own groups. One condition makes two groups: the rows
	// that meet it, and the rest. Several conditions make one group each. A column's name makes one
	// group for each of its values.
	Groups []string
	// Attributes are columns, or conditions on columns, to keep beside the features; see
	// Table.Attributes. The columns may be features or not, and may have missing values. They do
	// not influence the split, so runs with different constraints have the same rows. In Adult the
	// columns are those of the census (sex, race, ...); in LIBSVM files they are features' numbers.
	Attributes []string
	// DropSensitive leaves the columns that determine the groups and the attributes out of the
	// features: the columns of the conditions; for sparse tables also features that determine a
	// group, and for Adult all features of the same block. With Attributes and without Groups, the
	// data set's own groups do not count.
	DropSensitive bool
	// Ignore names columns to exclude from the features.
	Ignore []string

	// For the user's own files, the data sets csv and libsvm.

	File        string   // its path
	Label       string   // csv: the label's column, or column=value with the value of class +1
	Categorical []string // csv: categorical columns whose values look like numbers
	// csv: set missing values to 0 after standardising and add a flag; otherwise they are errors
	Impute    bool
	Separator rune // csv: field separator; 0: detect it
}

// errNoGroups refuses to drop the columns of groups if there are no groups.
var errNoGroups = fmt.Errorf("datasets: %w: --drop-sensitive needs groups; specify them (--group)", ErrOption)

// check returns an error for options that do not apply to the data set.
func (o *TableOptions) check(d Dataset) error {
	if err := o.Split.check(); err != nil {
		return err
	}
	for _, option := range []struct {
		name  string
		given bool
		has   bool
	}{
		{"your own file", o.File != "", d.Own},
		{"a label", o.Label != "", d.Own && !d.Sparse},
		{"categorical columns", len(o.Categorical) > 0, d.Own && !d.Sparse},
		{"imputed values", o.Impute, d.Own && !d.Sparse},
		{"a separator", o.Separator != 0, d.Own && !d.Sparse},
	} {
		if option.given && !option.has {
			return fmt.Errorf("datasets: %w: %s does not take %s", ErrOption, d.Name, option.name)
		}
	}
	if d.Own && !d.Sparse && o.Label == "" {
		return fmt.Errorf("datasets: %w: %s needs the label's column", ErrOption, d.Name)
	}
	return o.checkFile(d)
}

// checkFile returns an error if a data set of the user has no file.
func (o *TableOptions) checkFile(d Dataset) error {
	if d.Own && o.File == "" {
		return fmt.Errorf("datasets: %w: %s needs the path of a file", ErrOption, d.Name)
	}
	return nil
}
