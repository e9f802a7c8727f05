package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
)

// Class is a class of the rows.
type Class struct {
	Name   string
	Label  int // value in Rows.Labels
	Number int // number of the class in the data set, for pictures
}

// Rows has the rows of a split: the data matrix for the training, labels and groups. For pictures,
// the graph computes with pixels/s and the centre c/s, where s is the deviation and c the mean.
type Rows struct {
	Data       matrix.Matrix
	Labels     []int // two classes of a table: -1 or +1; else the index of the class in Classes
	Classes    []Class
	Groups     []constraints.Group
	Attributes []constraints.Attribute
	Weights    []float64        // of the rows, above 0; nil: 1 each
	Earlier    map[string][]int // earlier decision on each row, by the file's name; -1: none
	Tabular    bool             // the rows of a table
	Levels     [][]float64      // quantiles that describe each intersectional group
	conditions [][]string       // conditions on columns that describe each group; nil: the group's name
	Named      bool             // the task's constraints name the groups
	strata     [][]int          // see Stratified; nil: by group and label
	Queries    *tabular.Queries
	Source     []int // number of each row in its files, from 0; nil: not known
	Copies     int   // of each row of the files, as consecutive rows; 0: one row for each
}

// Len returns the number of rows.
func (r Rows) Len() int { return len(r.Labels) }

// Features returns the number of columns.
func (r Rows) Features() int {
	_, cols := r.Data.Dims()
	return cols
}

// Check returns an error if the labels, groups or other properties do not fit the matrix.
func (r Rows) Check() error {
	if n, _ := r.Data.Dims(); n != len(r.Labels) || n == 0 {
		return fmt.Errorf("%d rows and %d labels", n, len(r.Labels))
	}
	for i, y := range r.Labels {
		if !slices.ContainsFunc(r.Classes, func(c Class) bool { return c.Label == y }) {
			return fmt.Errorf("row %d has label %d, which is the label of no class", i, y)
		}
	}
	for _, a := range r.Attributes {
		if len(a.Of) != len(r.Labels) {
			return fmt.Errorf("the attribute %s has %d rows of %d", a.Name, len(a.Of), len(r.Labels))
		}
	}
	if q := r.Queries; q != nil {
		if len(q.Of) != len(r.Labels) || len(q.Grades) != len(r.Labels) {
			return fmt.Errorf("%d queries and %d grades of %d rows", len(q.Of), len(q.Grades), len(r.Labels))
		}
		for i, k := range q.Of {
			if k < 0 || int(k) >= len(q.Names) {
				return fmt.Errorf("row %d has query %d of %d", i, k, len(q.Names))
			}
		}
	}
	if r.Weights != nil && len(r.Weights) != len(r.Labels) {
		return fmt.Errorf("%d weights of %d rows", len(r.Weights), len(r.Labels))
	}
	for i, w := range r.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("row %d has the weight %v, want a finite number above 0: leave out rows of weight 0", i, w)
		}
	}
	if r.Weights != nil && r.Queries != nil {
		return errors.New("rows with queries have no weights: rates of pairs of documents count pairs")
	}
	if r.Source != nil && len(r.Source) != len(r.Labels) {
		return fmt.Errorf("%d numbers of %d rows", len(r.Source), len(r.Labels))
	}
	for _, g := range r.Groups {
		for _, i := range g.Rows {
			if i < 0 || i >= len(r.Labels) {
				return fmt.Errorf("the group %s has a row %d of %d", g.Name, i, len(r.Labels))
			}
		}
	}
	return nil
}

// OfLabel returns the number of rows with a label.
func (r Rows) OfLabel(label int) int {
	n := 0
	for _, y := range r.Labels {
		if y == label {
			n++
		}
	}
	return n
}

// Pick returns the listed rows with their labels and groups. data has the features of these rows.
// If data refers to the list, a later change of the list also changes the features.
func (r Rows) Pick(list []int, data matrix.Matrix) Rows {
	part := Rows{Data: data, Classes: r.Classes}
	place := make([]int, r.Len()) // position of each row in list, from 1
	next := map[int]int{}         // of a row that the list has twice: the position before, from 1
	for at, i := range list {
		part.Labels = append(part.Labels, r.Labels[i])
		if place[i] > 0 {
			next[at+1] = place[i]
		}
		place[i] = at + 1
	}
	for _, g := range r.Groups {
		own := constraints.Group{Name: g.Name}
		for _, i := range g.Rows {
			for at := place[i]; at > 0; at = next[at] {
				own.Rows = append(own.Rows, at-1)
			}
		}
		part.Groups = append(part.Groups, own)
	}
	pickOf := func(indices []int) []int {
		own := make([]int, len(list))
		for at, i := range list {
			own[at] = indices[i]
		}
		return own
	}
	for _, a := range r.Attributes {
		part.Attributes = append(part.Attributes, constraints.Attribute{Name: a.Name, Values: a.Values, Of: pickOf(a.Of)})
	}
	if r.Weights != nil {
		for _, i := range list {
			part.Weights = append(part.Weights, r.Weights[i])
		}
	}
	if r.Queries != nil {
		part.Queries = r.Queries.Restrict(list)
	}
	for file, indices := range r.Earlier {
		if part.Earlier == nil {
			part.Earlier = map[string][]int{}
		}
		part.Earlier[file] = pickOf(indices)
	}
	return part
}

// repeated returns rows of which each row of r is k consecutive ones. data has their features. The
// rows of r have no queries.
func (r Rows) repeated(k int, data matrix.Matrix) Rows {
	each := func(list []int) []int {
		out := make([]int, 0, k*len(list))
		for _, v := range list {
			for range k {
				out = append(out, v)
			}
		}
		return out
	}
	places := func(rows []int) []int { // of the rows of a list
		out := each(rows)
		for at, i := range out {
			out[at] = k*i + at%k
		}
		return out
	}
	own := r
	own.Data, own.Labels, own.Copies = data, each(r.Labels), k
	if r.Source != nil {
		own.Source = each(r.Source)
	}
	own.Weights = nil
	for _, w := range r.Weights {
		own.Weights = append(own.Weights, slices.Repeat([]float64{w}, k)...)
	}
	own.Groups = slices.Clone(r.Groups)
	for j := range own.Groups {
		own.Groups[j].Rows = places(r.Groups[j].Rows)
	}
	own.Attributes = slices.Clone(r.Attributes)
	for j := range own.Attributes {
		own.Attributes[j].Of = each(r.Attributes[j].Of)
	}
	own.Earlier = maps.Clone(r.Earlier)
	for file, classes := range r.Earlier {
		own.Earlier[file] = each(classes)
	}
	own.strata = slices.Clone(r.strata)
	for j, rows := range r.strata {
		own.strata[j] = places(rows)
	}
	return own
}

// ByQuery returns the rows of each query: paired for the queries with documents of different
// classes, and others for the other queries. The rows must have queries.
func (r Rows) ByQuery() (paired, others [][]int) {
	for _, rows := range r.Queries.Lists() {
		if slices.ContainsFunc(rows, func(i int) bool { return r.Labels[i] != r.Labels[rows[0]] }) {
			paired = append(paired, rows)
		} else {
			others = append(others, rows)
		}
	}
	return paired, others
}

// Stratified returns the strata: disjoint sets that cover all rows. A mini-batch keeps the shares
// of the strata.
func (r Rows) Stratified() [][]int {
	if r.strata != nil {
		return r.strata
	}
	return r.byGroupAndLabel()
}

// byGroupAndLabel returns the rows of each group and label, or of each label if groups overlap and
// no constraint names them. The result has no empty sets.
func (r Rows) byGroupAndLabel() [][]int {
	if len(r.Attributes)+len(r.Earlier) > 0 || r.Named {
		return r.byEveryProperty()
	}
	group := make([]int32, r.Len()) // group of each row, from 1
	for k, g := range r.Groups {
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
func (r Rows) byEveryProperty() [][]int {
	properties := [][]int{r.Labels}
	for _, a := range r.Attributes {
		properties = append(properties, a.Of)
	}
	for _, file := range slices.Sorted(maps.Keys(r.Earlier)) {
		properties = append(properties, r.Earlier[file])
	}
	var member [][]int64 // of each row, the groups that overlap
	if a, ok := OfGroups(r.Groups, r.Len()); ok {
		properties = append(properties, a.Of)
	} else if r.Named {
		member = make([][]int64, r.Len())
		for k, g := range r.Groups {
			for _, i := range g.Rows {
				member[i] = append(member[i], int64(k))
			}
		}
	}
	place := map[string]int32{}
	var key []byte
	combination := make([]int32, r.Len()) // the combination of each row
	for i := range r.Labels {
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
		combination[i] = k
	}
	return r.lists(combination, len(place))
}

// lists returns the rows of each of the numbers 0..n-1, where of[i] is the number of row i.
func (r Rows) lists(combination []int32, n int) [][]int {
	sizes := make([]int, n) // counted first: a slice that grows takes several times the memory
	for _, k := range combination {
		sizes[k]++
	}
	all := make([][]int, n)
	for k, size := range sizes {
		all[k] = make([]int, 0, size)
	}
	for i, k := range combination {
		all[k] = append(all[k], i)
	}
	return all
}

// strataOf returns the rows of each group and class. group[i] is the group of row i, from 1; 0: no
// group. strataOf overwrites group.
func (r Rows) strataOf(group []int32) [][]int {
	place := map[int]int32{} // position of a label in classes
	for k, c := range r.Classes {
		place[c.Label] = int32(k)
	}
	classes := len(r.Classes)
	for i, y := range r.Labels {
		group[i] = int32(classes)*group[i] + place[y]
	}
	all := r.lists(group, classes*(len(r.Groups)+1))
	return slices.DeleteFunc(all, func(rows []int) bool { return len(rows) == 0 })
}
