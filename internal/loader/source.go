// Package loader makes tables for training from columns or sparse rows: the labels, features,
// groups and attributes of published tables and of the user's files.
package loader

import (
	"cmp"
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/relay"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// Source is a table after reading and before the split. Nothing in a source depends on the training
// rows.
type Source struct {
	Name    string
	Labels  []int
	Classes []string
	Label   tabular.Label
	reading tabular.Reading
	Files   []tabular.FileRows // nil: one file
	groups  []tabular.Group    // fixed groups over all rows; empty: groups by quantile
	by      *Intersections
	// attributes over all rows
	attributes []tabular.Attribute
	Features   features
	queries    *tabular.Queries    // of a ranking table; nil: the rows have no queries
	pairs      []int               // by query; set by checkQueries
	weights    []float64           // of each row; nil: 1 each
	rows       []int               // each row's number in the file; nil: row i is i
	assigned   []int8              // part of each row, or undecided; nil: all rows are undecided
	uses       []tabular.ColumnUse // of the columns of the file; nil for sparse tables
	leftOut    int                 // number of rows of the file that lack a value
	Notes      []string
	Warnings   []string
}

// features makes features. It fits them on the training rows and then makes the features of any
// rows.
type features interface {
	// fit computes what depends on the training rows.
	fit(train []int) (notes []string, err error)
	columns() []string
	Take(rows []int) (matrix.Matrix, error)
	Preparation() *tabular.Preparation
}

// sharedFeatures are features that processes may share: each process reads the features of its own
// rows.
type sharedFeatures interface {
	// readLocal reads the features of this process's rows, given the rows of each split. It does
	// nothing if this process has all rows.
	readLocal(splits [3][]int) error
}

// Split makes the training, validation and test tables.
func (s *Source) Split(opts tabular.TableOptions) (*tabular.Tables, error) {
	if err := s.checkQueries(opts.File); err != nil {
		return nil, err
	}
	rows, err := s.divide(opts)
	if err != nil {
		return nil, err
	}
	if len(rows[0]) == 0 {
		return nil, fmt.Errorf("datasets: %s: %w for training; want the value %s in the split column %q", s.Name, dataerr.ErrEmpty, splitNames[0][0], opts.SplitColumn)
	}
	if opts.Folds > 0 {
		rows = opts.Folded(rows[0], s.strata(), cmp.Or(opts.SplitSeed, opts.Seed))
	}
	if f, ok := s.Features.(sharedFeatures); ok {
		if err := f.readLocal(rows); err != nil {
			return nil, err
		}
	}
	notes, err := s.Features.fit(rows[0])
	if err != nil {
		return nil, err
	}
	p, _ := s.Features.(*pictured)
	t := &tabular.Tables{Pictures: p.pictures(), Preparation: s.Features.Preparation(), Label: s.Label, Reading: s.reading, Files: s.Files, Uses: s.uses, LeftOut: s.leftOut, Notes: append(s.Notes, notes...), Warnings: s.Warnings}
	groups := s.groups
	if s.by != nil {
		var note string
		if groups, note, err = s.by.Groups(rows[0]); err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, note)
	}
	if err := s.checkTraining(rows[0]); err != nil {
		return nil, err
	}
	shares := opts.Split.Shares()
	without := func(i int) bool {
		return len(rows[i]) == 0 && (shares[i] == 0 || s.assigned != nil || opts.Folds > 0)
	}
	parts := []**tabular.Table{&t.Train, &t.Validation, &t.Test}
	features := make([]matrix.Matrix, len(parts)) // taken beside the other columns
	taken := relay.Go(func() (err error) {
		for i := range parts {
			if without(i) {
				continue
			}
			if features[i], err = s.Features.Take(rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for i, part := range parts {
		if !without(i) {
			*part = s.part(rows[i], groups)
		}
	}
	if err := taken(); err != nil {
		return nil, err
	}
	for i, part := range parts {
		if *part == nil {
			continue
		}
		(*part).Features = features[i]
		if err := s.checkPart(tabular.PartNames[i], *part); err != nil {
			return nil, err
		}
	}
	t.Notes = append(t.Notes, s.weightNotes(rows[0])...)
	if n := countLabel(s.Labels, Outside) - s.weightless(); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("--classes leaves out %d rows of class %s.", n, textvalue.Listed(s.Label.Others, 10)))
	}
	if w := s.unseen(t); w != "" {
		t.Warnings = append(slices.Clip(t.Warnings), w)
	}
	return t, nil
}

// strata numbers the combinations of a row's class and, if groups do not overlap, its group.
func (s *Source) strata() []int {
	strata, ok := tabular.Exclusive(s.groups, len(s.Labels))
	if !ok {
		strata = make([]int, len(s.Labels))
	}
	for i, y := range s.Labels {
		strata[i] = len(s.Classes)*strata[i] + tabular.ClassOf(y, len(s.Classes))
	}
	return strata
}

// part returns the table of some rows, given in increasing order, without its features. The table
// keeps the list of the rows, as the features may do.
func (s *Source) part(rows []int, groups []tabular.Group) *tabular.Table {
	t := &tabular.Table{Columns: s.Features.columns(), Classes: s.Classes}
	t.Labels, t.Source = make([]int, len(rows)), rows
	if s.rows != nil {
		t.Source = slices.Clone(rows)
	}
	place := make([]int32, len(s.Labels)) // position of each row in this table, from 1
	for k, i := range rows {
		t.Labels[k] = s.Labels[i]
		if s.weights != nil {
			t.Weights = append(t.Weights, s.weights[i])
		}
		place[i] = int32(k + 1)
		if s.rows != nil {
			t.Source[k] = s.rows[i]
		}
	}
	for _, g := range groups {
		own := tabular.Group{Name: g.Name, Levels: g.Levels, Conditions: g.Conditions}
		n := 0
		for _, i := range g.Rows {
			n += vec.Indicator(place[i] > 0)
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
	if s.queries != nil {
		t.Queries = s.queries.Restrict(rows)
	}
	for _, a := range s.attributes {
		t.Attributes = append(t.Attributes, a.Restrict(rows))
	}
	return t
}

// checkTraining returns an error that names all classes without training rows, if the label has
// several values.
func (s *Source) checkTraining(train []int) error {
	if s.Label.Several == nil {
		return nil
	}
	all, own := make([]int, len(s.Classes)), make([]int, len(s.Classes))
	count := func(counts []int, label int) {
		if label != Outside {
			counts[tabular.ClassOf(label, len(s.Classes))]++
		}
	}
	for _, y := range s.Labels {
		count(all, y)
	}
	for _, i := range train {
		count(own, s.Labels[i])
	}
	var without, with []string
	for k, n := range own {
		if n == 0 {
			without = append(without, fmt.Sprintf("%s (%d in the file)", s.Classes[k], all[k]))
		} else {
			with = append(with, s.Classes[k])
		}
	}
	if without == nil {
		return nil
	}
	advice := "use another --split or --split-seed"
	if len(with) > 1 {
		advice = "leave out such classes (--classes " + textvalue.FlagNames(with...) + "), or " + advice
	}
	return fmt.Errorf("datasets: %s: %w of class %s among the training rows; %s", s.Name, dataerr.ErrEmpty, textvalue.Listed(without, 10), advice)
}

// countLabel returns the number of rows with the label.
func countLabel(labels []int, label int) (n int) {
	for _, y := range labels {
		n += vec.Indicator(y == label)
	}
	return n
}

// unseen returns a warning about classes without held-out rows, if the label has several values, or
// "".
func (s *Source) unseen(t *tabular.Tables) string {
	var list []string
	for _, p := range t.Parts() {
		if s.Label.Several == nil || p.Table == t.Train {
			continue
		}
		for k, n := range p.ClassCounts() {
			if n == 0 {
				list = append(list, fmt.Sprintf("%s (%s rows)", s.Classes[k], p.Name))
			}
		}
	}
	if list == nil {
		return ""
	}
	return "The split leaves no rows of class " + textvalue.Listed(list, 10) + ": the rates of these classes are not known there."
}

// checkPart returns an error if a table has no rows of a class or a group. Overlapping groups may
// be empty in held-out rows, and so may the classes of a label with several values. Held-out
// queries may lack any class and group.
func (s *Source) checkPart(name string, t *tabular.Table) error {
	train := name == tabular.PartNames[0]
	empty := func(what, place string) error {
		return fmt.Errorf("datasets: %s: %w of %s %s among the %s rows; use another --split or --seed, or other groups (--group)",
			s.Name, dataerr.ErrEmpty, what, place, name)
	}
	for k, n := range t.ClassCounts() {
		if n == 0 && s.Label.Several == nil && (s.queries == nil || train) {
			return empty("class", t.Classes[k])
		}
	}
	for _, g := range t.Groups {
		if len(g.Rows) > 0 {
			continue
		}
		if _, sharedOut := tabular.Exclusive(s.groups, len(s.Labels)); sharedOut && s.queries == nil || train {
			return empty("group", g.Name)
		}
	}
	return nil
}
