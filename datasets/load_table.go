package datasets

import "fmt"

// Tables is a table, split and prepared for training.
type Tables struct {
	Train, Validation, Test *Table       // nil where the split gives a part nothing
	Preparation             *Preparation // how columns became features
	Notes                   []string     // what was decided on the way, in sentences
	Warnings                []string     // what the user should mind
}

// Part is a table by its name: training, validation or test.
type Part struct {
	Name string
	*Table
}

// Parts lists the parts that there are.
func (t *Tables) Parts() []Part {
	var parts []Part
	for i, table := range []*Table{t.Train, t.Validation, t.Test} {
		if table != nil {
			parts = append(parts, Part{partNames[i], table})
		}
	}
	return parts
}

// LoadTable reads the named table from the data directory dir, splits it and
// prepares its features.
//
// The split is drawn from the seed within strata: rows of one class and one
// group, or of one class where groups overlap. So every part has its share of
// each; the same seed and groups give the same rows. Numbers are standardised
// by the mean and the deviation of the training rows, and groups by quantile
// use the training rows' quantiles: nothing of held-out rows reaches training.
//
// Errors are *FileError where a file is at fault; or ErrKind, ErrOption,
// ErrSplit, ErrColumn, ErrGroup; or ErrEmpty, where a class or a group has no
// rows in some part (overlapping groups may be empty in held-out parts).
func LoadTable(dir, name string, opts TableOptions) (*Tables, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if !d.Tabular() {
		return nil, fmt.Errorf("datasets: %w: %s is a set of images, want a table", ErrKind, name)
	}
	if opts.Split == (Split{}) {
		opts.Split = DefaultSplit
	}
	if err := opts.check(d); err != nil {
		return nil, err
	}
	s, err := d.table(dir, opts)
	if err != nil {
		return nil, d.advise(err)
	}
	s.name = name
	return s.split(opts)
}
