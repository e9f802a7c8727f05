package session

import (
	"fmt"
	"strings"

	"ppal/constraints"
	"ppal/datasets/tabular"
)

// pair returns an error unless the rows have two groups and every row is in exactly one group.
func (r Rows) pair() error {
	t := tabular.Table{Labels: r.Labels}
	for _, g := range r.Groups {
		t.Groups = append(t.Groups, tabular.Group{Name: g.Name, Rows: g.Rows})
	}
	_, _, err := t.Partition()
	return err
}

// twoClasses returns an error for a task about two classes if the rows have more.
func (r Rows) twoClasses(task string) error {
	if len(r.Classes) == 2 {
		return nil
	}
	return &OptionError{Option: "label", Problem: fmt.Sprintf("gives %d classes, and --problem %s is about two: name the positive class, as in "+
		"--label COLUMN=%s, or bound rates of classes, as in --subject-to \"gap(tpr[%[3]s], COLUMN) <= 0.05\"", len(r.Classes), task, r.Classes[0].Name)}
}

// groupNames returns the names of the groups.
func (r Rows) groupNames() []string {
	var names []string
	for _, g := range r.Groups {
		names = append(names, g.Name)
	}
	return names
}

// attribute returns the attribute whose values are the groups, and these values. Groups that
// overlap have the attribute constraints.GroupsName.
func (r Rows) attribute() (name string, values []string) {
	if a, ok := ofGroups(r.Groups, len(r.Labels)); ok {
		return a.Quoted(), a.Values
	}
	return constraints.GroupsName, r.groupNames()
}

// groupAttribute returns the name of the attribute whose values are the disjoint groups: "sex" for
// the groups "sex=Female" and "sex=Male". Other groups give the name of the first group.
func groupAttribute(groups []string) string {
	column, _, equation := strings.Cut(groups[0], "=")
	for _, g := range groups {
		if !equation || !strings.HasPrefix(g, column+"=") {
			return groups[0]
		}
	}
	if len(groups) == 1 {
		return groups[0]
	}
	return column
}

// ofGroups returns the groups as an attribute. ok is false for fewer than two groups and for
// groups that overlap.
func ofGroups(groups []constraints.Group, rows int) (a constraints.Attribute, ok bool) {
	if len(groups) < 2 {
		return a, false
	}
	names := make([]string, len(groups))
	for k, g := range groups {
		names[k] = g.Name
	}
	a.Name, a.Of = groupAttribute(names), make([]int, rows)
	for _, name := range names {
		a.Values = append(a.Values, strings.TrimPrefix(name, a.Name+"="))
	}
	for i := range a.Of {
		a.Of[i] = -1
	}
	for k, g := range groups {
		for _, i := range g.Rows {
			if i < 0 || i >= rows || a.Of[i] >= 0 {
				return a, false
			}
			a.Of[i] = k
		}
	}
	return a, true
}
