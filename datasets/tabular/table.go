// Package tabular holds tables that are ready for training: features, labels, groups and attributes
// of rows. It also has the options of loading, and describes how columns became features.
package tabular

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/internal/vec"
)

// Table holds rows of features, a label for each row, and groups of rows for constraints.
type Table struct {
	// *matrix.CSR for Adult and LIBSVM files, else *matrix.Dense; numbers are standardised (see
	// Preparation)
	Features matrix.Matrix
	Columns  []string // names of the features
	// Labels has the label of each row: -1 or +1 for two classes, else an index into Classes
	Labels  []int
	Classes []string // names of the classes; with two classes of -1 and +1
	// two disjoint groups that cover all rows, or any number of groups that may overlap
	Groups []Group
	// the attributes that TableOptions.Attributes names, in the order of the option
	Attributes []Attribute
	// Weights has the weight of each row, above 0; nil: 1 each. Any sum of weights is exact: see
	// TableOptions.Weight.
	Weights []float64
	Queries *Queries // of a ranking table; nil: the rows have no queries
	Source  []int    // each row's number in the file, or in the concatenated files, from 0
}

// Group is a named set of rows, in increasing order.
type Group struct {
	Name string
	Rows []int
	// Levels describes an intersectional group: the quantile, in (0, 1), that each of its columns
	// exceeds. It is nil for other groups.
	Levels []float64
	// Conditions are conditions on columns; the rows that meet all of them are the group. Without
	// conditions, the group has the rows of no other group.
	Conditions []string
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.Labels) }

// ClassCounts returns the number of rows of each class.
func (t *Table) ClassCounts() []int {
	counts := make([]int, len(t.Classes))
	for _, y := range t.Labels {
		counts[ClassOf(y, len(t.Classes))]++
	}
	return counts
}

// CountPairs returns the number of pairs of documents of a query of which one is more relevant; 0
// without queries.
func (t *Table) CountPairs() (pairs int) {
	if t.Queries == nil {
		return 0
	}
	for _, n := range t.Queries.CountPairs(func(row int) int { return ClassOf(t.Labels[row], len(t.Classes)) }) {
		pairs += n
	}
	return pairs
}

// Label returns the label of class k, an index into Classes.
func (t *Table) Label(k int) int { return LabelOf(k, len(t.Classes)) }

// LabelOf returns the label of class k: -1 or +1 of two classes, else k.
func LabelOf(k, classes int) int {
	if classes == 2 {
		return 2*k - 1
	}
	return k
}

// ClassOf returns the class of a label, the inverse of LabelOf.
func ClassOf(label, classes int) int {
	if classes == 2 {
		return vec.Indicator(label > 0)
	}
	return label
}

// Partition returns two disjoint groups that cover all rows: the group whose condition was given,
// or the first group, and the rest. It returns ErrGroup if the number of groups is not two, or if
// the groups overlap or leave rows out.
func (t *Table) Partition() (protected, rest Group, err error) {
	if len(t.Groups) != 2 {
		return Group{}, Group{}, fmt.Errorf("datasets: %w: the table has %d groups, want one group and the rest; give one group, as in column=value, "+
			"or bound the gap between all groups, as in --subject-to \"gap(positive_rate, COLUMN) <= 0.01\"",
			dataerr.ErrGroup, len(t.Groups))
	}
	if _, ok := Exclusive(t.Groups, t.Rows()); !ok {
		return Group{}, Group{}, fmt.Errorf("datasets: %w: %s and %s overlap or leave rows out; give only one of them",
			dataerr.ErrGroup, t.Groups[0].Name, t.Groups[1].Name)
	}
	return t.Groups[0], t.Groups[1], nil
}

// Exclusive returns the group of each row. ok is false if a row is in no group or in several
// groups.
func Exclusive(groups []Group, rows int) (groupOf []int, ok bool) {
	total := 0
	for _, g := range groups {
		total += len(g.Rows)
	}
	if total != rows {
		return nil, false
	}
	groupOf = make([]int, rows)
	for k, g := range groups {
		for _, r := range g.Rows {
			if groupOf[r] != 0 {
				return nil, false
			}
			groupOf[r] = k + 1
		}
	}
	return groupOf, true
}

// SHA256 returns the checksum of the features, labels, queries and groups, in hexadecimal. For
// standardised features it may differ between machines that round differently.
func (t *Table) SHA256() string {
	h := sha256.New()
	word := func(v uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	rows, cols := t.Features.Dims()
	word(uint64(rows))
	word(uint64(cols))
	row := make([]float64, cols)
	for i := range rows {
		t.Features.Float64(row, i, i+1)
		for j, x := range row {
			if x != 0 {
				word(uint64(j))
				word(math.Float64bits(x))
			}
		}
		word(uint64(int64(t.Labels[i])))
	}
	for _, w := range t.Weights {
		word(math.Float64bits(w))
	}
	if q := t.Queries; q != nil {
		for i, k := range q.Of {
			word(uint64(k))
			word(uint64(q.Grades[i]))
		}
	}
	for _, g := range t.Groups {
		word(uint64(len(g.Rows)))
		for _, r := range g.Rows {
			word(uint64(r))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
