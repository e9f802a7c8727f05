package tabular

import (
	"slices"
)

// Follow sets the attribute's values to the values of the training, followed by the values that
// only the attribute has.
func (a *Attribute) Follow(values []string) {
	all, place := slices.Clone(values), make([]int, len(a.Values))
	for k, v := range a.Values {
		if place[k] = slices.Index(all, v); place[k] < 0 {
			place[k] = len(all)
			all = append(all, v)
		}
	}
	for i, k := range a.Of {
		if k >= 0 {
			a.Of[i] = place[k]
		}
	}
	a.Values = all
}

// Attribute is a property of the rows, for constraints on groups of rows: a column with its values,
// or a condition with the two values "it holds" (the condition's text) and "the rest".
type Attribute struct {
	Name   string   // the column's name, or the condition's text
	Values []string // in order: categories alphabetically or as published, numbers increasing
	Of     []int    // index of each row's value in Values; -1: the value is missing
}

// Restrict returns the attribute restricted to the given rows.
func (a *Attribute) Restrict(rows []int) Attribute {
	out := Attribute{Name: a.Name, Values: a.Values, Of: make([]int, len(rows))}
	for k, i := range rows {
		out.Of[k] = a.Of[i]
	}
	return out
}

// Groups returns one group of rows for each value of the attribute.
func (a *Attribute) Groups() []Group {
	groups, sizes := make([]Group, len(a.Values)), make([]int, len(a.Values))
	for _, k := range a.Of {
		if k >= 0 {
			sizes[k]++
		}
	}
	for k, n := range sizes {
		groups[k].Rows = slices.Grow(groups[k].Rows, n)
	}
	for i, k := range a.Of {
		if k >= 0 {
			groups[k].Rows = append(groups[k].Rows, i)
		}
	}
	return groups
}
