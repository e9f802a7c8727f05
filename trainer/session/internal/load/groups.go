package load

import (
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/trainer/session/results"
)

// OfGroups returns the groups as an attribute. ok is false for fewer than two groups and for
// groups that overlap.
func OfGroups(groups []constraints.Group, rows int) (a constraints.Attribute, ok bool) {
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

// ModelGroups describes the groups of a table's rows for model.json. attribute is the name of the
// attribute whose values are the groups; "" if the groups overlap.
func (r Rows) ModelGroups() (list []results.ModelGroup, attribute string) {
	if len(r.conditions) != len(r.Groups) { // data at hand
		return nil, ""
	}
	for k, g := range r.Groups {
		list = append(list, results.ModelGroup{Name: g.Name, Conditions: r.conditions[k]})
	}
	if a, disjoint := OfGroups(r.Groups, r.Len()); disjoint {
		attribute = a.Name
	}
	return list, attribute
}

// RateGroups returns the groups for the reported rates: the groups of the task, each value of the
// attributes, such as "sex=Female", and the intersections on which the task has a bound. sample is
// the task's system on the rows, or nil.
func (r Rows) RateGroups(sample *constraints.Sample) (list []results.Group, err error) {
	for _, g := range r.Groups {
		list = append(list, results.Group{Name: g.Name, Rows: g.Rows})
	}
	for _, a := range r.Attributes {
		first := len(list)
		sizes := make([]int, len(a.Values))
		for _, v := range a.Of {
			if v >= 0 {
				sizes[v]++
			}
		}
		for k, value := range a.Values {
			list = append(list, results.Group{Name: constraints.GroupName(a.Name, value), Rows: make([]int, 0, sizes[k])})
		}
		for i, v := range a.Of {
			if v >= 0 {
				list[first+v].Rows = append(list[first+v].Rows, i)
			}
		}
		// the list already has the groups of the task
		known := func(g results.Group) bool {
			return slices.ContainsFunc(list[:first], func(other results.Group) bool { return other.Name == g.Name })
		}
		list = append(list[:first:first], slices.DeleteFunc(slices.Clone(list[first:]), known)...)
	}
	if sample == nil {
		return list, nil
	}
	intersections, err := sample.Intersections()
	for _, g := range intersections {
		if !slices.ContainsFunc(list, func(other results.Group) bool { return other.Name == g.Name }) {
			list = append(list, results.Group{Name: g.Name, Rows: g.Rows})
		}
	}
	return list, err
}
