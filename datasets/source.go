package datasets

import (
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// source is a table as read, before training rows decide on anything.
type source struct {
	name     string
	labels   []int
	classes  [2]string
	groups   []Group // fixed, over all rows; none: by threshold
	by       *intersections
	features features
	rows     []int // where each came from; nil: row i is i
	warnings []string
}

// features makes a part's features.
type features interface {
	// fit takes what it needs from the training rows.
	fit(train []int) (notes []string, err error)
	columns() []string
	take(rows []int) (matrix.Matrix, error)
	preparation() *Preparation
}

// split makes the parts.
func (s *source) split(opts TableOptions) (*Tables, error) {
	rows := opts.Split.rows(s.strata(), opts.Seed)
	notes, err := s.features.fit(rows[0])
	if err != nil {
		return nil, err
	}
	t := &Tables{Preparation: s.features.preparation(), Notes: notes, Warnings: s.warnings}
	groups := s.groups
	if s.by != nil {
		var note string
		if groups, note, err = s.by.groups(rows[0]); err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, note)
	}
	shares := opts.Split.shares()
	for i, part := range []**Table{&t.Train, &t.Validation, &t.Test} {
		if shares[i] == 0 {
			continue
		}
		if *part, err = s.part(partNames[i], rows[i], groups); err != nil {
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
	features, err := s.features.take(rows)
	if err != nil {
		return nil, err
	}
	t := &Table{Features: features, Columns: s.features.columns(), Classes: s.classes,
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
		own := Group{Name: g.Name, Levels: g.Levels}
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
