package session

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/rundir"
	"ppal/models"
)

// Table is a published or built-in table, or a file of the user's: rows with a label of -1 or +1 and
// groups, which the session splits.
type Table struct {
	Dataset string // its name in package datasets: "adult", "bank", "compas", "communities", ...
	Dir     string // of the data sets' files; "": $PPAL_DATA, else the user's cache directory
	// TableOptions say how to load the table. A Seed of 0 is the session's.
	datasets.TableOptions
}

// The names under which package datasets knows the user's files.
const (
	datasetCSV    = "csv"
	datasetLIBSVM = "libsvm"
)

// CSV is the user's file of separated text. label is "column" or "column=value", with the value that
// counts as +1; groups are conditions on columns (see datasets.TableOptions). The table's other
// options may be set afterwards.
func CSV(file, label string, groups ...string) Table {
	return Table{Dataset: datasetCSV, TableOptions: datasets.TableOptions{File: file, Label: label, Groups: groups}}
}

// LIBSVM is the user's file in LIBSVM's format. groups are features' numbers.
func LIBSVM(file string, groups ...string) Table {
	return Table{Dataset: datasetLIBSVM, TableOptions: datasets.TableOptions{File: file, Groups: groups}}
}

// TablesAtHand are tables that have been loaded and split.
type TablesAtHand struct{ *datasets.Tables }

// Matrices are the caller's own rows: features, labels and groups of each split. Train is needed.
type Matrices struct {
	Train, Validation, Test *Matrix
	// Classes are the names of the labels. nil: the labels are -1 and +1, and named so. Otherwise
	// a label is the place of its class here.
	Classes []string
	// Columns are the names of the features; nil: none.
	Columns []string
}

// Matrix is rows of features, with a label each, and groups of rows.
type Matrix struct {
	Features matrix.Matrix
	Labels   []int
	Groups   []constraints.Group
}

// inSplits yields the parts that there are, with the names of their splits.
func inSplits[T any](train, validation, test *T) iter.Seq2[Split, *T] {
	return func(yield func(Split, *T) bool) {
		for k, part := range []*T{train, validation, test} {
			if part != nil && !yield(rundir.Splits()[k], part) {
				return
			}
		}
	}
}

func (s Table) load(ctx context.Context, on request) (*loaded, error) {
	dir, err := dataDir(s.Dir)
	if err != nil {
		return nil, err
	}
	return verified(ctx, dir, s.Dataset, s.File, func() (*loaded, error) {
		options := s.TableOptions
		if options.Seed == 0 {
			options.Seed = on.seed
		}
		t, err := datasets.LoadTable(dir, s.Dataset, options)
		if err != nil {
			return nil, err
		}
		l := loadTables(t, on)
		if builtIn(s.Dataset) {
			for _, p := range t.Parts() {
				l.told.Data = append(l.told.Data, DataFile{Name: s.Dataset + " " + p.Name, SHA256: p.SHA256()})
			}
		}
		return l, nil
	})
}

func (s TablesAtHand) load(_ context.Context, on request) (*loaded, error) {
	return loadTables(s.Tables, on), nil
}

// loadTables takes the rows of a table.
func loadTables(t *datasets.Tables, on request) *loaded {
	l := &loaded{normalization: models.Normalization{Kind: models.NormalizeNone}}
	l.told.Notes, l.told.Warnings = slices.Clone(t.Notes), slices.Clone(t.Warnings)
	l.told.Normalization = "the columns' own (see notes)"
	l.told.Preparation, l.told.FeatureNames = t.Preparation, t.Train.Columns
	if t.Preparation != nil && t.Train.Columns == nil {
		l.told.FeatureNames = t.Preparation.Columns()
	}
	for name, part := range inSplits(t.Train, t.Validation, t.Test) {
		r := rows{data: part.Features, labels: part.Labels}
		for k, class := range part.Classes {
			r.classes = append(r.classes, Class{Name: class, Label: 2*k - 1})
		}
		for _, g := range part.Groups {
			r.groups = append(r.groups, constraints.Group{Name: g.Name, Rows: g.Rows})
			r.levels = append(r.levels, g.Levels)
		}
		r.strata = r.byGroupAndLabel()
		l.splits = append(l.splits, &split{name: name, rows: r})
	}
	l.packIntegers(t, on)
	return l
}

// packIntegers keeps features that are small integers as bytes, where the device has integer products
// for them: the graph then sees the bytes, and the first layer applies the columns' centres and
// deviations.
func (l *loaded) packIntegers(t *datasets.Tables, on request) {
	_, cols := t.Train.Features.Dims()
	if cols < 2 || !on.packs(cols) {
		return
	}
	list := t.Integers()
	if list == nil {
		return
	}
	for k, x := range list {
		l.splits[k].data = x.Values
	}
	l.center, l.scale = make([]float64, cols), make([]float64, cols)
	for j := range cols {
		x := list[0]
		l.center[j], l.scale[j] = x.Stretch[j]*(x.Center[j]-x.First[j]), 1/(x.Stretch[j]*x.Deviation[j])
	}
	l.told.Notes = append(l.told.Notes, fmt.Sprintf("All %d features are small integers before they are standardised: they are kept as bytes.", cols))
}

func (s Matrices) load(context.Context, request) (*loaded, error) {
	if s.Train == nil {
		return nil, fmt.Errorf("session: %w: Matrices without training rows", ErrOptions)
	}
	l := &loaded{normalization: models.Normalization{Kind: models.NormalizeNone}}
	l.told.Normalization, l.told.FeatureNames = string(models.NormalizeNone), s.Columns
	for name, m := range inSplits(s.Train, s.Validation, s.Test) {
		r := rows{data: m.Features, labels: m.Labels, groups: m.Groups, classes: s.classes()}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("session: the %s rows: %w", name, err)
		}
		r.strata = r.byGroupAndLabel()
		l.splits = append(l.splits, &split{name: name, rows: r})
	}
	return l, nil
}

// classes are the labels' meanings.
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

// check refuses labels and groups that do not fit the matrix.
func (r rows) check() error {
	if n, _ := r.data.Dims(); n != len(r.labels) || n == 0 {
		return fmt.Errorf("%w: %d rows and %d labels", ErrOptions, n, len(r.labels))
	}
	for i, y := range r.labels {
		if !slices.ContainsFunc(r.classes, func(c Class) bool { return c.Label == y }) {
			return fmt.Errorf("%w: the label %d of row %d is no class", ErrOptions, y, i)
		}
	}
	for _, g := range r.groups {
		for _, i := range g.Rows {
			if i < 0 || i >= len(r.labels) {
				return fmt.Errorf("%w: the group %s has a row %d of %d", ErrOptions, g.Name, i, len(r.labels))
			}
		}
	}
	return nil
}

// ofLabel counts the rows of a label.
func (r rows) ofLabel(label int) int {
	n := 0
	for _, y := range r.labels {
		if y == label {
			n++
		}
	}
	return n
}

// byGroupAndLabel are the rows of each group and label, or of each label where groups overlap; none is
// empty.
func (r rows) byGroupAndLabel() [][]int {
	group := make([]int, r.len()) // of each row, from 1
	for k, g := range r.groups {
		for _, i := range g.Rows {
			if group[i] != 0 {
				return r.strataOf(make([]int, r.len()))
			}
			group[i] = k + 1
		}
	}
	return r.strataOf(group)
}

// strataOf are the rows of each group and class.
func (r rows) strataOf(group []int) [][]int {
	place := map[int]int{} // of a label in classes
	for k, c := range r.classes {
		place[c.Label] = k
	}
	classes := len(r.classes)
	all := make([][]int, classes*(len(r.groups)+1))
	for i, y := range r.labels {
		k := classes*group[i] + place[y]
		all[k] = append(all[k], i)
	}
	return slices.DeleteFunc(all, func(rows []int) bool { return len(rows) == 0 })
}
