package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
)

// needs returns the properties of the rows that the task's constraints use.
func (o *Options) needs() constraints.Needs {
	if t, ok := o.Task.(Needing); ok {
		return t.Needs()
	}
	return constraints.Needs{}
}

// loadTable reads the table with the attributes that constraints name. The name "groups" is the
// name of a column only if the table has no groups that overlap.
func loadTable(ctx context.Context, dir, dataset string, options tabular.TableOptions, needs constraints.Needs) (*tabular.Tables, error) {
	options.Attributes, options.Values = slices.Clone(options.Attributes), needs.Values
	for _, name := range needs.Attributes {
		if name != constraints.GroupsName && !slices.Contains(options.Attributes, name) {
			options.Attributes = append(options.Attributes, name)
		}
	}
	for _, value := range needs.Values { // fpr[age<45] is about the rows that meet the comparison
		if value != options.Label && columnar.Comparison(value) && !slices.Contains(options.Attributes, value) {
			options.Attributes = append(options.Attributes, value)
		}
	}
	t, err := datasets.LoadTableContext(ctx, dir, dataset, options)
	// a published problem, which has no text, means the groups alone
	if err == nil && needs.Groups() && needs.Texts != nil && !overlap(t.Train) && !slices.Contains(options.Attributes, constraints.GroupsName) {
		options.Attributes = append(options.Attributes, constraints.GroupsName)
		t, err = datasets.LoadTableContext(ctx, dir, dataset, options)
	}
	return t, namesAttribute(err, needs)
}

// overlap reports whether the table has groups that the constraint language names "groups".
func overlap(t *tabular.Table) bool {
	groups := make([]constraints.Group, len(t.Groups))
	for k, g := range t.Groups {
		groups[k] = constraints.Group{Name: g.Name, Rows: g.Rows}
	}
	_, disjoint := ofGroups(groups, t.Rows())
	return len(groups) > 0 && !disjoint
}

// namesAttribute extends an error about an attribute that the table lacks. The new error also
// names the constraint.
func namesAttribute(err error, needs constraints.Needs) error {
	if err == nil || !errors.Is(err, dataerr.ErrGroup) && !errors.Is(err, dataerr.ErrColumn) {
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
func (l *Data) addEarlier(files []string) error {
	for _, file := range files {
		decisions, err := loader.ReadDecisions(file, l.classTexts()...)
		if err != nil {
			return fmt.Errorf("session: earlier decisions: %w", err)
		}
		for _, split := range l.splits {
			r := &split.rows
			pictures := !r.tabular && split.name == Test
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
			r.strata = nil // the pictures' classes
		}
	}
	return nil
}

// classTexts returns the texts that stand for each class in files of decisions.
func (l *Data) classTexts() (texts [][]string) {
	for k, c := range l.splits[0].classes {
		of := []string{c.Name}
		if l.label != nil {
			of = append(of, l.label.Values()[k])
		}
		texts = append(texts, of)
	}
	return texts
}
