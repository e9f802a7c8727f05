package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	_ "ppal/datasets/parquet" // a run may read Parquet files
	"ppal/datasets/tabular"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
)

// Table is a published table, a built-in table, or a file of the user. Each row has groups and a
// label: -1 or +1, or the index of one of three or more classes. The session splits the rows.
type Table struct {
	Dataset string // name in package datasets: "adult", "bank", "compas", "communities", ...
	Dir     string // directory of the files; "": $PPAL_DATA, else the user's cache directory
	// TableOptions say how to load the table. Seed 0 means the session's seed.
	tabular.TableOptions
}

// flagSettings implements withFlags.
func (s Table) flagSettings() []*option.Option {
	return append(option.DataSet(datasets.Names(nil), &s.Dataset, &s.Dir), option.Of(&s.TableOptions)...)
}

// beyond implements beyondFlags.
func (s Table) beyond(seed uint64) (fields []string) {
	if s.Seed != 0 && s.Seed != seed {
		fields = append(fields, "the seed of the rows")
	}
	if s.Attributes != nil {
		fields = append(fields, "the attributes")
	}
	if s.Folds != 0 || s.Held != 0 {
		fields = append(fields, "the folds of the training rows")
	}
	if s.Raw != nil {
		fields = append(fields, "the columns that are not standardised")
	}
	return fields
}

// CSV returns a source that reads the user's file of separated text. label is "column" or
// "column=value", where value counts as +1. A column with three or more values gives as many
// classes. groups are conditions on columns, see tabular.TableOptions. The caller may set the
// other fields of TableOptions in the result.
func CSV(file, label string, groups ...string) Table {
	return Table{Dataset: datasets.CSV, TableOptions: tabular.TableOptions{File: file, Label: label, Groups: groups}}
}

// LIBSVM returns a source that reads the user's file in the LIBSVM format. groups are numbers of
// features.
func LIBSVM(file string, groups ...string) Table {
	return Table{Dataset: datasets.LIBSVM, TableOptions: tabular.TableOptions{File: file, Groups: groups}}
}

// TablesAtHand is a loaded and split table. Name and Files are those of Matrices.
type TablesAtHand struct {
	*tabular.Tables
	Name  string
	Files []results.DataFile
}

// Matrices holds the caller's own rows: features, labels and groups of each split. Train is
// required.
type Matrices struct {
	Train, Validation, Test *Matrix
	// Classes names the labels: label k belongs to Classes[k]. nil: the labels are -1 and +1.
	Classes []string
	// Columns names the features; nil: no names.
	Columns []string
	// Name is the name of the data set in the run's files and messages; "": data at hand.
	Name string
	// Files are the files or other parts from which the rows come. A run is resumed only with the same
	// checksums.
	Files []results.DataFile
}

// Matrix holds rows of features, a label for each row, and groups of rows.
type Matrix struct {
	Features matrix.Matrix
	Labels   []int
	Groups   []constraints.Group
	// Attributes and Earlier are for the constraints of a Decisions task: see Rows.
	Attributes []constraints.Attribute
	Earlier    map[string][]int
	Weights    []float64 // of the rows, above 0; nil: 1 each: see constraints.Population.Weights
	// Queries are the queries whose documents the rows are; nil: the rows have no queries.
	Queries *tabular.Queries
	// Numbers identify the rows in the caller's data, from 0, for rows.csv; nil: not known.
	Numbers []int
}

// Load implements Source. It reads and splits the table.
func (s Table) Load(ctx context.Context, on Request) (*Data, error) {
	dir, err := dataDir(s.Dataset, s.Dir)
	if err != nil {
		return nil, err
	}
	l, err := load.ReadTable(ctx, dir, s.Dataset, s.TableOptions, on.on)
	if err != nil {
		return nil, err
	}
	return &Data{rows: l}, nil
}

// Load implements Source.
func (s TablesAtHand) Load(_ context.Context, on Request) (*Data, error) {
	l, err := load.FromTables(s.Tables, on.on)
	if err != nil {
		return nil, err
	}
	return named(&Data{rows: l}, s.Name, s.Files), nil
}

// named returns the rows with the name of the data set and its files; nil for nil.
func named(d *Data, name string, files []results.DataFile) *Data {
	if d != nil {
		d.rows.Dataset, d.rows.Description.Data = name, append(d.rows.Description.Data, files...)
	}
	return d
}

// Load implements Source. It checks the rows.
func (s Matrices) Load(_ context.Context, on Request) (*Data, error) {
	if s.Train == nil {
		return nil, fmt.Errorf("session: %w: Matrices without training rows", ErrOptions)
	}
	l := &load.Data{Dataset: s.Name, Normalization: models.Normalization{Kind: models.NormalizeNone}}
	l.Description.Data = slices.Clone(s.Files)
	l.Description.Normalization, l.Description.FeatureNames = string(models.NormalizeNone), s.Columns
	for name, m := range load.InSplits(s.Train, s.Validation, s.Test) {
		r := load.Rows{Data: m.Features, Labels: m.Labels, Groups: m.Groups, Classes: s.classes(), Levels: make([][]float64, len(m.Groups)),
			Attributes: m.Attributes, Earlier: m.Earlier, Weights: m.Weights, Queries: m.Queries, Source: m.Numbers, Named: on.on.Needs.Groups()}
		if err := m.check(s.Columns); err != nil {
			return nil, fmt.Errorf("session: the %s rows: %w: %w", name, ErrOptions, err)
		}
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("session: the %s rows: %w: %w", name, ErrOptions, err)
		}
		l.Splits = append(l.Splits, &load.Split{Name: name, Rows: r})
	}
	return &Data{rows: l}, nil
}

// check returns an error if there are no features, or too few numbers, or a number that is not
// finite. columns names the features, if they have names.
func (m *Matrix) check(columns []string) error {
	if m.Features == nil {
		return errors.New("the matrix has no features")
	}
	if err := matrix.Check(m.Features); err != nil {
		return fmt.Errorf("the features: %w", err)
	}
	if i, j, v, found := matrix.FirstNonFinite(m.Features); found {
		name := ""
		if j < len(columns) {
			name = " (" + columns[j] + ")"
		}
		return fmt.Errorf("the feature in row %d, column %d%s, counted from 0, is %v: leave the row out, or replace the number", i, j, name, v)
	}
	return nil
}

// classes returns the classes of the labels.
func (s Matrices) classes() []load.Class {
	if s.Classes == nil {
		return []load.Class{{Name: "-1", Label: -1}, {Name: "+1", Label: 1}}
	}
	var list []load.Class
	for k, name := range s.Classes {
		list = append(list, load.Class{Name: name, Label: k, Number: k})
	}
	return list
}
