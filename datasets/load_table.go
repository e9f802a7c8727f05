package datasets

import (
	"fmt"
	"slices"
)

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
	// features.
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

// Tables is a table, split and prepared for training.
type Tables struct {
	Train, Validation, Test *Table       // nil where the split gives a part nothing
	Preparation             *Preparation // how columns became features; nil for sparse tables, whose features are the file's
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

// source is a table as read, before training rows decide on anything.
type source struct {
	name     string
	labels   []int
	classes  [2]string
	groups   []Group // fixed, over all rows; none: by threshold
	by       *intersections
	features features
	rows     []int // where each came from; nil: row i is i
	notes    []string
	warnings []string
}

// features makes a part's features.
type features interface {
	// fit takes what it needs from the training rows.
	fit(train []int) (notes []string, err error)
	columns() []string
	take(rows []int) (Matrix, error)
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

// split makes the parts.
func (s *source) split(opts TableOptions) (*Tables, error) {
	parts := opts.Split.rows(s.strata(), opts.Seed)
	t := &Tables{Notes: s.notes, Warnings: s.warnings}
	notes, err := s.features.fit(parts[0])
	if err != nil {
		return nil, err
	}
	t.Notes = append(t.Notes, notes...)
	groups := s.groups
	if s.by != nil {
		var note string
		if groups, note, err = s.by.groups(parts[0]); err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, note)
	}
	if e, ok := s.features.(*encoded); ok {
		t.Preparation = e.preparation
	}
	for i, part := range []**Table{&t.Train, &t.Validation, &t.Test} {
		if [3]int{opts.Split.Train, opts.Split.Validation, opts.Split.Test}[i] == 0 {
			continue
		}
		if *part, err = s.part(partNames[i], parts[i], groups); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// strata numbers the classes, within the one group of each row where there is
// one.
func (s *source) strata() []int {
	strata := make([]int, len(s.labels))
	if of, ok := exclusive(s.groups, len(s.labels)); ok {
		copy(strata, of)
	}
	for i, y := range s.labels {
		strata[i] = 2*strata[i] + class(y)
	}
	return strata
}

// part is the table of some rows, which increase.
func (s *source) part(name string, rows []int, groups []Group) (*Table, error) {
	matrix, err := s.features.take(rows)
	if err != nil {
		return nil, err
	}
	t := &Table{Features: matrix, Columns: s.features.columns(), Classes: s.classes,
		Labels: make([]int, len(rows)), Source: slices.Clone(rows)}
	place := make([]int, len(s.labels)) // of each row in this part, from 1
	for k, i := range rows {
		t.Labels[k] = s.labels[i]
		place[i] = k + 1
		if s.rows != nil {
			t.Source[k] = s.rows[i]
		}
	}
	for _, g := range groups {
		own := Group{Name: g.Name}
		for _, i := range g.Rows {
			if place[i] > 0 {
				own.Rows = append(own.Rows, place[i]-1)
			}
		}
		t.Groups = append(t.Groups, own)
	}
	return t, s.checkPart(name, t)
}

// checkPart refuses a part without rows of some class or group. Groups that
// overlap may be small: held-out parts need not have rows of each.
func (s *source) checkPart(name string, t *Table) error {
	empty := func(what, of string) error {
		return fmt.Errorf("datasets: %s: %w of %s %s among the %s rows; choose another split or seed, or other groups",
			s.name, ErrEmpty, what, of, name)
	}
	for k, n := range t.ClassCounts() {
		if n == 0 {
			return empty("class", t.Classes[k])
		}
	}
	_, sharedOut := exclusive(s.groups, len(s.labels))
	for _, g := range t.Groups {
		if len(g.Rows) == 0 && (sharedOut || name == partNames[0]) {
			return empty("group", g.Name)
		}
	}
	return nil
}

// encoded are the features of a sheet.
type encoded struct {
	sheet       *sheet
	preparation *Preparation
	names       []string
}

var _ features = (*encoded)(nil)

func (e *encoded) fit(train []int) ([]string, error) {
	e.names = e.preparation.Columns()
	constant, err := e.preparation.fit(e.sheet, train)
	if err != nil || len(constant) == 0 {
		return nil, err
	}
	return []string{"Constant in the training rows, so 0 as features: " + listed(constant, 10) + "."}, nil
}

func (e *encoded) columns() []string { return e.names }

func (e *encoded) take(rows []int) (Matrix, error) { return e.preparation.features(e.sheet, rows) }
