package datasets

import "fmt"

// TableOptions says how to load a table. The zero value loads the sets that
// have files of their own.
type TableOptions struct {
	Seed  uint64 // of the split, and of a synthetic table's rows
	Split Split  // zero: DefaultSplit

	// Groups are conditions on columns (race=Caucasian, 25<=age<60), or
	// features' numbers or names for sparse tables; none: the set's own groups.
	// One makes two groups: the rows that meet it, and the rest. Several make
	// one each. A column's name alone makes one for each of its values.
	Groups []string
	// DropSensitive leaves the columns that determine the groups out of the
	// features: those of the conditions; of sparse tables also features that tell
	// a group by themselves, and of Adult those that share a question with one.
	DropSensitive bool
	// Ignore names columns that are to be no features.
	Ignore []string

	// For the user's own files, sets csv and libsvm.

	File        string   // its path
	Label       string   // csv: the label's column, or column=value with the value that is +1
	Categorical []string // csv: columns of categories that look like numbers
	Impute      bool     // csv: missing values become 0 once standardised, with a flag beside; else they are errors
	Separator   rune     // csv: between fields; 0: told from the file's beginning
}

// errNoGroups refuses to drop the columns of no groups.
var errNoGroups = fmt.Errorf("datasets: %w: there are no groups whose columns could be dropped; name some", ErrOption)

// check refuses options that the set has no use for.
func (o *TableOptions) check(d Dataset) error {
	if err := o.Split.check(); err != nil {
		return err
	}
	for _, option := range []struct {
		name  string
		given bool
		has   bool
	}{
		{"a file of yours", o.File != "", d.Own},
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

// checkFile wants a file for sets that have none of their own.
func (o *TableOptions) checkFile(d Dataset) error {
	if d.Own && o.File == "" {
		return fmt.Errorf("datasets: %w: %s needs the path of a file", ErrOption, d.Name)
	}
	return nil
}
