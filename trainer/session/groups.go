package session

import (
	"fmt"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/trainer/session/internal/load"
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
	if a, ok := load.OfGroups(r.Groups, len(r.Labels)); ok {
		return a.Quoted(), a.Values
	}
	return constraints.GroupsName, r.groupNames()
}
