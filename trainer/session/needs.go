package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
)

// needs returns the properties of the rows that the task's constraints use.
func (o *Options) needs() constraints.Needs {
	if t, ok := o.Task.(interface{ needs() constraints.Needs }); ok {
		return t.needs()
	}
	return constraints.Needs{}
}

// loadTable reads the table with the attributes that constraints name. A constraint may name a
// value without an attribute, such as Female. loadTable then finds the column that has the value
// as a category, and reads the table again. The name "groups" is the name of a column only if the
// table has no groups that overlap.
func loadTable(dir, dataset string, options datasets.TableOptions, needs constraints.Needs) (*datasets.Tables, error) {
	options.Attributes = slices.Clone(options.Attributes)
	add := func(name string) bool {
		if slices.Contains(options.Attributes, name) {
			return false
		}
		options.Attributes = append(options.Attributes, name)
		return true
	}
	for _, name := range needs.Attributes {
		if name != constraints.GroupsName {
			add(name)
		}
	}
	t, err := datasets.LoadTable(dir, dataset, options)
	if err != nil {
		return nil, namesAttribute(err, needs)
	}
	again := needs.Groups() && !overlap(t.Train) && add(constraints.GroupsName)
	for _, value := range needs.Values {
		if slices.Contains(t.Train.Classes[:], value) || slices.ContainsFunc(t.Train.Attributes, func(a datasets.Attribute) bool { return slices.Contains(a.Values, value) }) {
			continue
		}
		for _, name := range columnsWith(t, value) {
			again = add(name) || again
		}
	}
	if again {
		t, err = datasets.LoadTable(dir, dataset, options)
	}
	return t, namesAttribute(err, needs)
}

// overlap reports whether the table has groups that the constraint language names "groups".
func overlap(t *datasets.Table) bool {
	groups := make([]constraints.Group, len(t.Groups))
	for k, g := range t.Groups {
		groups[k] = constraints.Group{Name: g.Name, Rows: g.Rows}
	}
	_, disjoint := ofGroups(groups, t.Rows())
	return len(groups) > 0 && !disjoint
}

// columnsWith returns the columns that have the category.
func columnsWith(t *datasets.Tables, category string) (columns []string) {
	if t.Preparation != nil {
		for _, e := range t.Preparation.Encodings {
			if slices.ContainsFunc(e.Categories, func(c string) bool { return strings.EqualFold(c, category) }) {
				columns = append(columns, e.Column)
			}
		}
	}
	for _, feature := range t.Train.Columns {
		name, value, found := strings.Cut(feature, "=")
		if found && strings.EqualFold(value, category) && !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// namesAttribute extends an error about an attribute that the table lacks. The new error also
// names the constraint.
func namesAttribute(err error, needs constraints.Needs) error {
	if err == nil || !errors.Is(err, datasets.ErrGroup) && !errors.Is(err, datasets.ErrColumn) {
		return err
	}
	for k, name := range needs.Attributes {
		if _, hint, found := strings.Cut(err.Error(), "no column "+strconv.Quote(name)+"; "); found {
			return needs.UnknownAttribute(k, hint)
		}
	}
	return err
}

// addEarlier adds earlier decisions to the splits, from the files that churn constraints name. The
// files number the rows of a table through all files of the table. Of pictures, the files number
// the rows of the training set: test pictures have no earlier decisions.
func (l *loaded) addEarlier(files []string) error {
	for _, file := range files {
		decisions, err := datasets.ReadDecisions(file, l.classTexts()...)
		if err != nil {
			return fmt.Errorf("session: earlier decisions: %w", err)
		}
		for _, split := range l.splits {
			r := &split.rows
			pictures := l.label == nil && split.name == Test
			of := make([]int, r.len())
			found := 0
			for i := range of {
				of[i] = -1
				if i >= len(r.source) || pictures {
					continue
				}
				if d, ok := decisions[r.source[i]]; ok {
					of[i] = d
					found++
				}
			}
			if found == 0 && !pictures {
				return fmt.Errorf("session: %w: %s: no decision is of a %s row; want the rows' numbers in the data file, from 1, in the column row",
					ErrOptions, file, split.name.Word())
			}
			if r.earlier == nil {
				r.earlier = map[string][]int{}
			}
			r.earlier[file] = of
			r.strata = r.byGroupAndLabel()
		}
	}
	return nil
}

// classTexts returns the texts that stand for each class in files of decisions.
func (l *loaded) classTexts() (texts [][]string) {
	for k, c := range l.splits[0].classes {
		of := []string{c.Name}
		if l.label != nil {
			of = append(of, l.label.Values()[k])
		}
		texts = append(texts, of)
	}
	return texts
}
