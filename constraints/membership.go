package constraints

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
)

// ErrEmptyGroup says that a group has no rows, so its mean does not exist. The error's text names
// the group.
var ErrEmptyGroup = errors.New("constraints: group has no rows")

// Group is a named set of rows and becomes one row of a Membership.
type Group struct {
	Name string
	Rows []int // row indices from 0, in any order, without duplicates

	// Weights are the rows' weights in the group's mean: any finite numbers, also negative numbers
	// (a difference of two means is one group). Nil means 1/len(Rows) each.
	Weights []float64
}

// Membership is the sparse matrix M [G, n] whose row k holds the weights of group k's rows. It is
// stored by groups (CSR) and, for M^T w, by rows (CSC). Groups may overlap. If all groups have
// default weights and their rows, in order, are consecutive, the matrix stores offsets only. A
// Membership is immutable.
type Membership struct {
	rows    int
	names   []string
	starts  []int     // length G+1; group k has the entries starts[k]..starts[k+1]-1
	indices []int32   // the entries' rows; nil: entry e is row e
	weights []float64 // the entries' weights; nil: 1/(size of the group)

	// The transpose; nil if indices is nil, because starts then describes the transpose too.
	rowStarts  []int
	rowGroups  []int32
	rowWeights []float64

	digest [sha256.Size]byte // of M, without the names
}

// NewMembership makes the membership matrix of the groups over n = rows rows and copies what it
// keeps. It returns ErrEmptyGroup if a group has no rows, and an error if a row is out of range or
// repeated within a group, if a weight is not finite, or if the numbers of weights and rows differ.
func NewMembership(rows int, groups []Group) (*Membership, error) {
	if rows <= 0 || rows > math.MaxInt32 {
		return nil, fmt.Errorf("constraints: %d rows, want 1..%d", rows, math.MaxInt32)
	}
	if len(groups) == 0 {
		return nil, errors.New("constraints: no groups")
	}
	m := &Membership{rows: rows, names: make([]string, len(groups)), starts: make([]int, 1, len(groups)+1)}
	last := make([]int, rows) // the last group, counted from 1, that contains each row
	weighted := false
	for k, g := range groups {
		if err := g.check(rows, k, last); err != nil {
			return nil, err
		}
		m.names[k] = g.Name
		m.starts = append(m.starts, m.starts[k]+len(g.Rows))
		for _, i := range g.Rows {
			m.indices = append(m.indices, int32(i))
		}
		weighted = weighted || g.Weights != nil
	}
	if weighted {
		m.weights = entryWeights(groups)
	}
	m.compact()
	m.transpose()
	d := newDigester()
	d.ints(rows)
	d.ints(m.starts...)
	d.int32s(m.indices)
	d.floats(m.weights)
	m.digest = d.sum()
	return m, nil
}

// check checks group k and records its rows in last.
func (g Group) check(rows, k int, last []int) error {
	if len(g.Rows) == 0 {
		return fmt.Errorf("%w: %q", ErrEmptyGroup, g.Name)
	}
	for _, i := range g.Rows {
		if i < 0 || i >= rows {
			return fmt.Errorf("constraints: group %q: row %d, want 0..%d", g.Name, i, rows-1)
		}
		if last[i] == k+1 {
			return fmt.Errorf("constraints: group %q: row %d is given twice", g.Name, i)
		}
		last[i] = k + 1
	}
	if g.Weights == nil {
		return nil
	}
	if len(g.Weights) != len(g.Rows) {
		return fmt.Errorf("constraints: group %q: %d weights for %d rows", g.Name, len(g.Weights), len(g.Rows))
	}
	for e, w := range g.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return fmt.Errorf("constraints: group %q: weight of row %d is %v", g.Name, g.Rows[e], w)
		}
	}
	return nil
}

// entryWeights returns the weights of all entries, default weights included.
func entryWeights(groups []Group) []float64 {
	var w []float64
	for _, g := range groups {
		if g.Weights != nil {
			w = append(w, g.Weights...)
			continue
		}
		for range g.Rows {
			w = append(w, 1/float64(len(g.Rows)))
		}
	}
	return w
}

// compact drops the indices if the rows of all groups, in order, are consecutive.
func (m *Membership) compact() {
	if m.weights != nil {
		return
	}
	first := m.indices[0]
	for e, i := range m.indices {
		if int(i) != int(first)+e {
			return
		}
	}
	for k := range m.starts {
		m.starts[k] += int(first)
	}
	m.indices = nil
}

// transpose lists the groups of every row, in the groups' order.
func (m *Membership) transpose() {
	if m.indices == nil {
		return
	}
	m.rowStarts = make([]int, m.rows+1)
	for _, i := range m.indices {
		m.rowStarts[i+1]++
	}
	for i := range m.rows {
		m.rowStarts[i+1] += m.rowStarts[i]
	}
	next := append([]int(nil), m.rowStarts[:m.rows]...)
	m.rowGroups = make([]int32, len(m.indices))
	if m.weights != nil {
		m.rowWeights = make([]float64, len(m.indices))
	}
	for k := range m.Groups() {
		for e := m.starts[k]; e < m.starts[k+1]; e++ {
			at := next[m.indices[e]]
			next[m.indices[e]]++
			m.rowGroups[at] = int32(k)
			if m.weights != nil {
				m.rowWeights[at] = m.weights[e]
			}
		}
	}
}

// Rows returns n, the number of columns of M.
func (m *Membership) Rows() int { return m.rows }

// Groups returns G, the number of rows of M.
func (m *Membership) Groups() int { return len(m.names) }

// Names returns the groups' names in order: the matrix's own slice, which must not be modified.
func (m *Membership) Names() []string { return m.names }

// CSR returns M by groups: group k has the entries starts[k]..starts[k+1]-1 with their rows and
// weights. If indices is nil, entry e is row e. If weights is nil, every entry of group k weighs
// 1/(starts[k+1]-starts[k]). The slices belong to the matrix and must not be modified.
func (m *Membership) CSR() (starts []int, indices []int32, weights []float64) {
	return m.starts, m.indices, m.weights
}

// size returns the number of rows of group k, the divisor of its mean.
func (m *Membership) size(k int) float64 { return float64(m.starts[k+1] - m.starts[k]) }
