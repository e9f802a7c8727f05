package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	_ "ppal/datasets/parquet" // a run may read Parquet files
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/models"
)

// Table is a published table, a built-in table, or a file of the user. Each row has groups and a
// label: -1 or +1, or the index of one of three or more classes. The session splits the rows.
type Table struct {
	Dataset string // name in package datasets: "adult", "bank", "compas", "communities", ...
	Dir     string // directory of the files; "": $PPAL_DATA, else the user's cache directory
	// TableOptions say how to load the table. Seed 0 means the session's seed.
	tabular.TableOptions
}

// Settings implements Described.
func (s Table) Settings(seed uint64) (flags []*option.Option, beyond []string) {
	if s.Seed != 0 && s.Seed != seed {
		beyond = append(beyond, "the seed of the rows")
	}
	if s.Attributes != nil {
		beyond = append(beyond, "the attributes")
	}
	flags = append(DataOptions(&s.Dataset, &s.Dir), datasets.TableSettings(&s.TableOptions)...)
	return append(flags, datasets.ClassesSetting(&s.TableOptions)), beyond
}

// The names of the user's files in package datasets.
const (
	datasetCSV    = "csv"
	datasetLIBSVM = "libsvm"
)

// CSV returns a source that reads the user's file of separated text. label is "column" or
// "column=value", where value counts as +1. A column with three or more values gives as many
// classes. groups are conditions on columns, see tabular.TableOptions. The caller may set the
// other fields of TableOptions in the result.
func CSV(file, label string, groups ...string) Table {
	return Table{Dataset: datasetCSV, TableOptions: tabular.TableOptions{File: file, Label: label, Groups: groups}}
}

// LIBSVM returns a source that reads the user's file in the LIBSVM format. groups are numbers of
// features.
func LIBSVM(file string, groups ...string) Table {
	return Table{Dataset: datasetLIBSVM, TableOptions: tabular.TableOptions{File: file, Groups: groups}}
}

// TablesAtHand is a loaded and split table.
type TablesAtHand struct{ *tabular.Tables }

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
	Files []DataFile
}

// Matrix holds rows of features, a label for each row, and groups of rows.
type Matrix struct {
	Features matrix.Matrix
	Labels   []int
	Groups   []constraints.Group
	// Attributes and Earlier are for the constraints of a Decisions task: see Rows.
	Attributes []constraints.Attribute
	Earlier    map[string][]int
	// Numbers identify the rows in the caller's data, from 0, for rows.csv; nil: not known.
	Numbers []int
}

// inSplits yields the arguments that are not nil, each with its split.
func inSplits[T any](train, validation, test *T) iter.Seq2[Split, *T] {
	return func(yield func(Split, *T) bool) {
		for k, part := range []*T{train, validation, test} {
			if part != nil && !yield(rundir.Splits()[k], part) {
				return
			}
		}
	}
}

// inFiles reports whether the rows may lie in files, as the rows of the user's own file may.
func (s Table) inFiles() bool { return s.Dataset == datasetCSV || s.Dataset == datasetLIBSVM }

// Load implements Source. It reads and splits the table.
func (s Table) Load(ctx context.Context, on Request) (*Data, error) {
	dir, err := dataDir(s.Dataset, s.Dir)
	if err != nil {
		return nil, err
	}
	return verified(ctx, dir, s.Dataset, s.OwnFiles(), func(report func() (*datasets.Report, error)) (*Data, error) {
		options := s.TableOptions
		if options.Seed == 0 {
			options.Seed = on.seed
		}
		if options.Pages = on.devices.pages; options.Pages == nil && s.inFiles() {
			options.Room = on.devices.options.room()
		}
		if folder := on.devices.options.keptRows(); folder != "" {
			options.Keep = &tabular.Keep{Folder: folder, SHA256: func() (string, error) {
				r, err := report()
				if err != nil {
					return "", err
				}
				return r.Files[0].SHA256, nil // of options.File
			}}
		}
		if on.devices.team != nil && !on.batches {
			options.Share = tableShare{on.devices}
		}
		t, err := loadTable(ctx, dir, s.Dataset, options, on.needs)
		if err != nil {
			return nil, err
		}
		l, err := loadTables(t, on)
		if err != nil {
			return nil, err
		}
		if err := l.addEarlier(on.needs.Files); err != nil {
			return nil, err
		}
		if !s.inFiles() {
			l.warnBeyond(on.devices.options)
		}
		if builtIn(s.Dataset) {
			for _, p := range t.Parts() {
				l.description.Data = append(l.description.Data, DataFile{Name: s.Dataset + " " + p.Name, SHA256: p.SHA256()})
			}
		}
		return l, nil
	})
}

// Load implements Source.
func (s TablesAtHand) Load(_ context.Context, on Request) (*Data, error) {
	l, err := loadTables(s.Tables, on)
	if err != nil {
		return nil, err
	}
	return l, l.addEarlier(on.needs.Files)
}

// loadTables returns the rows of a table.
func loadTables(t *tabular.Tables, on Request) (*Data, error) {
	l := &Data{normalization: models.Normalization{Kind: models.NormalizeNone}, files: t.Files, reading: &t.Reading}
	if t.Label.Known() {
		l.label = &t.Label
	}
	l.description.Notes, l.description.Warnings = slices.Clone(t.Notes), slices.Clone(t.Warnings)
	l.description.Normalization = "the columns' own (see notes)"
	l.description.Columns = t.Uses
	l.description.Preparation, l.description.FeatureNames = t.Preparation, t.Train.Columns
	if t.Preparation != nil && t.Train.Columns == nil {
		l.description.FeatureNames = t.Preparation.Columns()
	}
	for name, part := range inSplits(t.Train, t.Validation, t.Test) {
		r := rows{data: part.Features, labels: part.Labels, source: part.Source, tabular: true, named: on.needs.Groups()}
		for k, class := range part.Classes {
			r.classes = append(r.classes, Class{Name: class, Label: part.Label(k), Number: k})
		}
		for _, g := range part.Groups {
			r.groups = append(r.groups, constraints.Group{Name: g.Name, Rows: g.Rows})
			r.levels, r.conditions = append(r.levels, g.Levels), append(r.conditions, g.Conditions)
		}
		for _, a := range part.Attributes {
			r.attributes = append(r.attributes, constraints.Attribute(a))
		}
		l.splits = append(l.splits, &split{name: name, rows: r})
	}
	return l, l.packIntegers(t, on)
}

// packIntegers replaces features that are small integers with bytes, if the device has integer
// products for bytes. The graph then reads the bytes, and the first layer applies the centres and
// deviations of the columns.
func (l *Data) packIntegers(t *tabular.Tables, on Request) error {
	_, cols := t.Train.Features.Dims()
	keep := cols < 2 || !on.packs(cols) || on.devices.pages != nil
	var share tabular.Share
	if _, part := t.Train.Features.(*matrix.Part); part {
		share = tableShare{on.devices}
		var err error
		if keep, err = share.Vote(keep); err != nil { // the machines may differ
			return err
		}
	}
	if keep {
		return nil
	}
	list, err := loader.Integers(t, share)
	if list == nil {
		return err
	}
	for k, x := range list {
		l.splits[k].data = x.Values
		if part, ok := t.Parts()[k].Features.(*matrix.Part); ok {
			l.splits[k].data = matrix.NewEightBitPart(part.Rows, part.From, x.Values)
		}
	}
	l.center, l.scale = make([]float64, cols), make([]float64, cols)
	for j := range cols {
		x := list[0]
		l.center[j], l.scale[j] = x.Stretch[j]*(x.Center[j]-x.First[j]), 1/(x.Stretch[j]*x.Deviation[j])
	}
	l.description.Notes = append(l.description.Notes, fmt.Sprintf("All %d features are small integers before they are standardised: they are kept as bytes.", cols))
	return nil
}

// Load implements Source. It checks the rows.
func (s Matrices) Load(_ context.Context, on Request) (*Data, error) {
	if s.Train == nil {
		return nil, fmt.Errorf("session: %w: Matrices without training rows", ErrOptions)
	}
	l := &Data{dataset: s.Name, normalization: models.Normalization{Kind: models.NormalizeNone}}
	l.description.Data = slices.Clone(s.Files)
	l.description.Normalization, l.description.FeatureNames = string(models.NormalizeNone), s.Columns
	for name, m := range inSplits(s.Train, s.Validation, s.Test) {
		r := rows{data: m.Features, labels: m.Labels, groups: m.Groups, classes: s.classes(), levels: make([][]float64, len(m.Groups)),
			attributes: m.Attributes, earlier: m.Earlier, source: m.Numbers, named: on.needs.Groups()}
		if err := m.check(s.Columns); err != nil {
			return nil, fmt.Errorf("session: the %s rows: %w: %w", name, ErrOptions, err)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("session: the %s rows: %w", name, err)
		}
		l.splits = append(l.splits, &split{name: name, rows: r})
	}
	return l, nil
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
func (s Matrices) classes() []Class {
	if s.Classes == nil {
		return []Class{{Name: "-1", Label: -1}, {Name: "+1", Label: 1}}
	}
	var list []Class
	for k, name := range s.Classes {
		list = append(list, Class{Name: name, Label: k, Number: k})
	}
	return list
}
