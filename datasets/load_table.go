package datasets

import (
	"context"
	"fmt"
)

// Tables is a table, split and prepared for training.
type Tables struct {
	Train, Validation, Test *Table       // nil if the split gives this set no rows
	Preparation             *Preparation // how the columns became features
	Uses                    []ColumnUse  // the use of each column of the file; nil for sparse tables
	Label                   Label        // how the label gives the class
	Reading                 Reading      // how new rows give groups and attributes
	// Files lists the files in the order in which Table.Source numbers their rows; nil: one file
	Files    []FileRows
	Notes    []string // sentences about automatic decisions
	Warnings []string // sentences about possible problems
}

// FileRows is a file with its number of rows.
type FileRows struct {
	Name string
	Rows int
}

// Part is a table with the name of its split: training, validation or test.
type Part struct {
	Name string
	*Table
}

// Parts returns the tables that are not nil.
func (t *Tables) Parts() []Part {
	var parts []Part
	for i, table := range []*Table{t.Train, t.Validation, t.Test} {
		if table != nil {
			parts = append(parts, Part{partNames[i], table})
		}
	}
	return parts
}

// LoadTable reads the named table from the data directory dir, splits it and prepares its features.
//
// The split is drawn from the seed within strata: rows of the same class and the same group, or of
// the same class if groups overlap. Each split gets its share of each stratum, and the same seed
// and groups give the same rows. Numbers are standardised with the mean and the standard deviation
// of the training rows, and groups by quantile use the quantiles of the training rows: held-out
// rows do not influence training.
//
// Errors are *FileError if a file is the cause, or wrap ErrKind, ErrOption, ErrSplit, ErrColumn,
// ErrGroup, or ErrEmpty if a class or a group has no rows in the training, validation or test rows
// (overlapping groups may be empty in held-out rows).
func LoadTable(dir, name string, opts TableOptions) (*Tables, error) {
	return LoadTableContext(context.Background(), dir, name, opts)
}

// LoadTableContext calls LoadTable. Reading the user's own files ends with the context's error once
// the context is cancelled.
func LoadTableContext(ctx context.Context, dir, name string, opts TableOptions) (*Tables, error) {
	opts.ctx = ctx
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if !d.Tabular() {
		return nil, fmt.Errorf("datasets: %w: %s is a set of images, want a table", ErrKind, name)
	}
	opts.Split = opts.split()
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
