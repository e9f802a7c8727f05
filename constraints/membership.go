package constraints

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
)

// ErrEmptyGroup is returned for a group without rows, whose mean does not
// exist; the error's text names the group.
var ErrEmptyGroup = errors.New("constraints: group has no rows")

// Group is a named set of rows, one row of a Membership.
type Group struct {
	Name string
	Rows []int // rows from 0, in any order, none twice

	// Weights of the rows in the group's mean, any finite numbers, negative
	// ones too (a difference of two means is one group). Nil: 1/len(Rows).
	Weights []float64
}

// Membership is the sparse matrix M [G, n] whose row k holds the weights of
// group k's rows, stored by groups (CSR) and, for M^T w, by rows (CSC).
// Groups may overlap. Groups of consecutive rows that follow one another, with
// default weights, are stored as offsets alone. It never changes once made.
type Membership struct {
	rows    int
	names   []string
	starts  []int     // G+1; entries starts[k]..starts[k+1]-1 are group k's
	indices []int32   // entries' rows; nil: entry e is row e
	weights []float64 // entries' weights; nil: 1/(size of the group)

	// The transpose; absent when indices are: then it is read off starts.
	rowStarts  []int
	rowGroups  []int32
	rowWeights []float64

	digest [sha256.Size]byte // of M, not of the names
}

// NewMembership makes the membership matrix of the groups over n = rows rows,
// copying what it keeps. A group without rows is ErrEmptyGroup; rows out of
// range or repeated within a group and weights that are not finite or not as
// many as the rows are errors too.
func NewMembership(rows int, groups []Group) (*Membership, error) {
	if rows <= 0 || rows > math.MaxInt32 {
		return nil, fmt.Errorf("constraints: %d rows, want 1..%d", rows, math.MaxInt32)
	}
	if len(groups) == 0 {
		return nil, errors.New("constraints: no groups")
	}
	m := &Membership{rows: rows, names: make([]string, len(groups)), starts: make([]int, 1, len(groups)+1)}
	last := make([]int, rows) // the group, from 1, that a row was last seen in
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

// check checks group k and notes its rows in last.
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

// entryWeights spells out every weight, the defaults too.
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

// compact drops the indices when all groups' rows, in order, are consecutive.
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

// transpose lists every row's groups, in the groups' order.
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

// Rows is n, the number of columns of M.
func (m *Membership) Rows() int { return m.rows }

// Groups is G, the number of rows of M.
func (m *Membership) Groups() int { return len(m.names) }

// Names are the groups' names, in order: the matrix's own slice, not to be modified.
func (m *Membership) Names() []string { return m.names }

// CSR is M by groups: entries starts[k]..starts[k+1]-1 are group k's, with
// their rows and weights. Nil indices: entry e is row e. Nil weights: every
// entry of group k weighs 1/(starts[k+1]-starts[k]). The slices are the
// matrix's own and are not to be modified.
func (m *Membership) CSR() (starts []int, indices []int32, weights []float64) {
	return m.starts, m.indices, m.weights
}

// size is the number of rows of group k, as the divisor of its mean.
func (m *Membership) size(k int) float64 { return float64(m.starts[k+1] - m.starts[k]) }
