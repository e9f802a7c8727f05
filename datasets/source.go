package datasets

import (
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// source is a table after reading and before the split. Nothing in a source depends on the training
// rows.
type source struct {
	name    string
	labels  []int
	classes []string
	label   Label
	reading Reading
	files   []FileRows // nil: one file
	groups  []Group    // fixed groups over all rows; empty: groups by quantile
	by      *intersections
	// attributes over all rows
	attributes []Attribute
	features   features
	rows       []int       // each row's number in the file; nil: row i is i
	assigned   []int8      // part of each row, or undecided; nil: all rows are undecided
	uses       []ColumnUse // of the columns of the file; nil for sparse tables
	notes      []string
	warnings   []string
}

// features makes features. It fits them on the training rows and then makes the features of any
// rows.
type features interface {
	// fit computes what depends on the training rows.
	fit(train []int) (notes []string, err error)
	columns() []string
	take(rows []int) (matrix.Matrix, error)
	preparation() *Preparation
}

// sharedFeatures are features that processes may share: each process reads those of its own rows.
type sharedFeatures interface {
	// readOwn reads the features of this process's rows, given the rows of each split. It does nothing
	// if this process has all rows.
	readOwn(splits [3][]int) error
}

// split makes the training, validation and test tables.
func (s *source) split(opts TableOptions) (*Tables, error) {
	rows := s.divide(opts)
	if len(rows[0]) == 0 {
		return nil, fmt.Errorf("datasets: %s: %w for training; want the value %s in the split column %q", s.name, ErrEmpty, splitNames[0][0], opts.SplitColumn)
	}
	if f, ok := s.features.(sharedFeatures); ok {
		if err := f.readOwn(rows); err != nil {
			return nil, err
		}
	}
	notes, err := s.features.fit(rows[0])
	if err != nil {
		return nil, err
	}
	t := &Tables{Preparation: s.features.preparation(), Label: s.label, Reading: s.reading, Files: s.files, Uses: s.uses, Notes: append(s.notes, notes...), Warnings: s.warnings}
	groups := s.groups
	if s.by != nil {
		var note string
		if groups, note, err = s.by.groups(rows[0]); err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, note)
	}
	if err := s.checkTraining(rows[0]); err != nil {
		return nil, err
	}
	shares := opts.Split.shares()
	for i, part := range []**Table{&t.Train, &t.Validation, &t.Test} {
		if len(rows[i]) == 0 && (shares[i] == 0 || s.assigned != nil) {
			continue
		}
		if *part, err = s.part(partNames[i], rows[i], groups); err != nil {
			return nil, err
		}
	}
	if n := countLabel(s.labels, outside); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("--classes leaves out %d rows of class %s.", n, listed(s.label.Others, 10)))
	}
	if w := s.unseen(t); w != "" {
		t.Warnings = append(slices.Clip(t.Warnings), w)
	}
	return t, nil
}

// strata numbers the combinations of a row's class and, if groups do not overlap, its group.
func (s *source) strata() []int {
	strata, ok := exclusive(s.groups, len(s.labels))
	if !ok {
		strata = make([]int, len(s.labels))
	}
	for i, y := range s.labels {
		strata[i] = len(s.classes)*strata[i] + classOf(y, len(s.classes))
	}
	return strata
}

// part returns the table of some rows, given in increasing order.
func (s *source) part(name string, rows []int, groups []Group) (*Table, error) {
	t := &Table{Columns: s.features.columns(), Classes: s.classes}
	t.Labels, t.Source = make([]int, len(rows)), slices.Clone(rows)
	var err error
	if s.rows == nil {
		rows = t.Source // the features may keep the list
	}
	if t.Features, err = s.features.take(rows); err != nil {
		return nil, err
	}
	place := make([]int32, len(s.labels)) // position of each row in this table, from 1
	for k, i := range rows {
		t.Labels[k] = s.labels[i]
		place[i] = int32(k + 1)
		if s.rows != nil {
			t.Source[k] = s.rows[i]
		}
	}
	for _, g := range groups {
		own := Group{Name: g.Name, Levels: g.Levels, Conditions: g.Conditions}
		n := 0
		for _, i := range g.Rows {
			n += indicator(place[i] > 0)
		}
		if n > 0 {
			own.Rows = make([]int, 0, n)
		}
		for _, i := range g.Rows {
			if place[i] > 0 {
				own.Rows = append(own.Rows, int(place[i]-1))
			}
		}
		t.Groups = append(t.Groups, own)
	}
	for _, a := range s.attributes {
		t.Attributes = append(t.Attributes, a.of(rows))
	}
	return t, s.checkPart(name, t)
}

// checkTraining returns an error that names all classes without training rows, if the label has
// several values.
func (s *source) checkTraining(train []int) error {
	if s.label.Several == nil {
		return nil
	}
	all, own := make([]int, len(s.classes)), make([]int, len(s.classes))
	count := func(counts []int, label int) {
		if label != outside {
			counts[classOf(label, len(s.classes))]++
		}
	}
	for _, y := range s.labels {
		count(all, y)
	}
	for _, i := range train {
		count(own, s.labels[i])
	}
	var without, with []string
	for k, n := range own {
		if n == 0 {
			without = append(without, fmt.Sprintf("%s (%d in the file)", s.classes[k], all[k]))
		} else {
			with = append(with, s.classes[k])
		}
	}
	if without == nil {
		return nil
	}
	advice := "use another --split or --split-seed"
	if len(with) > 1 {
		advice = "leave out such classes (--classes " + flagNames(with...) + "), or " + advice
	}
	return fmt.Errorf("datasets: %s: %w of class %s among the training rows; %s", s.name, ErrEmpty, listed(without, 10), advice)
}

// countLabel returns the number of rows with the label.
func countLabel(labels []int, label int) (n int) {
	for _, y := range labels {
		n += indicator(y == label)
	}
	return n
}

// unseen returns a warning about classes without held-out rows, if the label has several values, or
// "".
func (s *source) unseen(t *Tables) string {
	var list []string
	for _, p := range t.Parts() {
		if s.label.Several == nil || p.Table == t.Train {
			continue
		}
		for k, n := range p.ClassCounts() {
			if n == 0 {
				list = append(list, fmt.Sprintf("%s (%s rows)", s.classes[k], p.Name))
			}
		}
	}
	if list == nil {
		return ""
	}
	return "The split leaves no rows of class " + listed(list, 10) + ": the rates of these classes are not known there."
}

// checkPart returns an error if a table has no rows of a class or a group. Overlapping groups may
// be empty in held-out rows, and so may the classes of a label with several values.
func (s *source) checkPart(name string, t *Table) error {
	empty := func(what, of string) error {
		return fmt.Errorf("datasets: %s: %w of %s %s among the %s rows; use another --split or --seed, or other groups (--group)",
			s.name, ErrEmpty, what, of, name)
	}
	for k, n := range t.ClassCounts() {
		if n == 0 && s.label.Several == nil {
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
