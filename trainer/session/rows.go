package session

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/trainer/session/internal/build"
)

// rows holds a split: the data matrix as trained, with labels and groups. The graph computes with
// pixels/s and the centre c/s.
type rows struct {
	data    matrix.Matrix
	labels  []int // two classes of a table: -1 or +1; else the index of the class in classes
	classes []Class
	groups  []constraints.Group
	// attributes and earlier have the same meaning as in Rows.
	attributes []constraints.Attribute
	earlier    map[string][]int
	tabular    bool        // the rows of a table
	levels     [][]float64 // quantiles that describe each intersectional group
	conditions [][]string  // conditions on columns that describe each group; nil: the group's name
	named      bool        // the task's constraints name the groups
	strata     [][]int     // see stratified; nil: by group and label
	source     []int       // each row's number in its files, from 0; nil: not known
}

// public returns the labels, classes and groups for a task.
func (r rows) public() Rows {
	return Rows{Labels: r.labels, Classes: r.classes, Groups: r.groups, Attributes: r.attributes, Earlier: r.earlier, Tabular: r.tabular}
}

// len returns the number of rows.
func (r rows) len() int { return len(r.labels) }

// features returns the number of columns.
func (r rows) features() int {
	_, cols := r.data.Dims()
	return cols
}

// check refuses labels and groups that do not fit the matrix.
func (r rows) check() error {
	if n, _ := r.data.Dims(); n != len(r.labels) || n == 0 {
		return fmt.Errorf("%w: %d rows and %d labels", ErrOptions, n, len(r.labels))
	}
	for i, y := range r.labels {
		if !slices.ContainsFunc(r.classes, func(c Class) bool { return c.Label == y }) {
			return fmt.Errorf("%w: row %d has label %d, which is not a class", ErrOptions, i, y)
		}
	}
	for _, a := range r.attributes {
		if len(a.Of) != len(r.labels) {
			return fmt.Errorf("%w: the attribute %s has %d rows of %d", ErrOptions, a.Name, len(a.Of), len(r.labels))
		}
	}
	if r.source != nil && len(r.source) != len(r.labels) {
		return fmt.Errorf("%w: %d numbers of %d rows", ErrOptions, len(r.source), len(r.labels))
	}
	for _, g := range r.groups {
		for _, i := range g.Rows {
			if i < 0 || i >= len(r.labels) {
				return fmt.Errorf("%w: the group %s has a row %d of %d", ErrOptions, g.Name, i, len(r.labels))
			}
		}
	}
	return nil
}

// ofLabel returns the number of rows with a label.
func (r rows) ofLabel(label int) int {
	n := 0
	for _, y := range r.labels {
		if y == label {
			n++
		}
	}
	return n
}

// stratified returns disjoint sets of all rows. A mini-batch keeps their shares.
func (r rows) stratified() [][]int {
	if r.strata != nil {
		return r.strata
	}
	return r.byGroupAndLabel()
}

// byGroupAndLabel returns the rows of each group and label, or of each label if groups overlap and
// no constraint names them.
// The result has no empty sets.
func (r rows) byGroupAndLabel() [][]int {
	if len(r.attributes)+len(r.earlier) > 0 || r.named {
		return r.byEveryProperty()
	}
	group := make([]int32, r.len()) // group of each row, from 1
	for k, g := range r.groups {
		for _, i := range g.Rows {
			if group[i] != 0 {
				clear(group)
				return r.strataOf(group)
			}
			group[i] = int32(k + 1)
		}
	}
	return r.strataOf(group)
}

// byEveryProperty returns the rows of each combination of label, attribute values, earlier
// decisions and groups, in the order of their first rows. If groups overlap and no constraint names
// them, the combination ignores the groups. The rates of a Decisions task then have the same
// weights in every mini-batch.
func (r rows) byEveryProperty() [][]int {
	properties := [][]int{r.labels}
	for _, a := range r.attributes {
		properties = append(properties, a.Of)
	}
	for _, file := range slices.Sorted(maps.Keys(r.earlier)) {
		properties = append(properties, r.earlier[file])
	}
	var member [][]int64 // of each row, the groups that overlap
	if a, ok := ofGroups(r.groups, r.len()); ok {
		properties = append(properties, a.Of)
	} else if r.named {
		member = make([][]int64, r.len())
		for k, g := range r.groups {
			for _, i := range g.Rows {
				member[i] = append(member[i], int64(k))
			}
		}
	}
	place := map[string]int32{}
	var key []byte
	of := make([]int32, r.len()) // the combination of each row
	for i := range r.labels {
		key = key[:0]
		for _, values := range properties {
			key = binary.AppendVarint(key, int64(values[i]))
		}
		if member != nil {
			for _, k := range member[i] {
				key = binary.AppendVarint(key, k)
			}
		}
		k, known := place[string(key)]
		if !known {
			k = int32(len(place))
			place[string(key)] = k
		}
		of[i] = k
	}
	return r.lists(of, len(place))
}

// lists returns the rows of each number in of, which are below n.
func (r rows) lists(of []int32, n int) [][]int {
	sizes := make([]int, n) // counted first: a slice that grows takes several times the memory
	for _, k := range of {
		sizes[k]++
	}
	all := make([][]int, n)
	for k, size := range sizes {
		all[k] = make([]int, 0, size)
	}
	for i, k := range of {
		all[k] = append(all[k], i)
	}
	return all
}

// strataOf returns the rows of each group and class. group[i] is the group of row i, from 1; 0: no
// group. strataOf overwrites group.
func (r rows) strataOf(group []int32) [][]int {
	place := map[int]int32{} // position of a label in classes
	for k, c := range r.classes {
		place[c.Label] = int32(k)
	}
	classes := len(r.classes)
	for i, y := range r.labels {
		group[i] = int32(classes)*group[i] + place[y]
	}
	all := r.lists(group, classes*(len(r.groups)+1))
	return slices.DeleteFunc(all, func(rows []int) bool { return len(rows) == 0 })
}

// pick returns the rows of the list with their labels and groups. A later change of the list also
// changes the returned data.
func (r rows) pick(list []int) rows {
	part := rows{data: build.PickData(r.data, list), classes: r.classes}
	place := make([]int, r.len()) // position of each row in list, from 1
	for at, i := range list {
		part.labels = append(part.labels, r.labels[i])
		place[i] = at + 1
	}
	for _, g := range r.groups {
		own := constraints.Group{Name: g.Name}
		for _, i := range g.Rows {
			if place[i] > 0 {
				own.Rows = append(own.Rows, place[i]-1)
			}
		}
		part.groups = append(part.groups, own)
	}
	pickOf := func(of []int) []int {
		own := make([]int, len(list))
		for at, i := range list {
			own[at] = of[i]
		}
		return own
	}
	for _, a := range r.attributes {
		part.attributes = append(part.attributes, constraints.Attribute{Name: a.Name, Values: a.Values, Of: pickOf(a.Of)})
	}
	for file, of := range r.earlier {
		if part.earlier == nil {
			part.earlier = map[string][]int{}
		}
		part.earlier[file] = pickOf(of)
	}
	return part
}
