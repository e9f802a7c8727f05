package constraints

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"ppal/trainer/graph/describe"
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

// Membership is the sparse matrix M [G, n] whose row k holds the weights of group k's rows. Groups
// may overlap. The matrix stores the groups of each row (CSC): rows with the same groups and
// weights, usually almost all, share a pattern, and cost 2 bytes each. If the rows of a group do
// not increase, the matrix also stores the entries by groups (CSR), because a mean adds them up in
// this order. If all groups have default weights and their rows, in order, are consecutive, the
// matrix stores offsets only. A Membership is immutable.
type Membership struct {
	rows   int
	names  []string
	starts []int // length G+1; group k has the entries starts[k]..starts[k+1]-1

	byGroups sync.Once
	indices  []int32   // the entries' rows; nil: entry e is row e, or byGroups has not run
	weights  []float64 // the entries' weights; nil: 1/(size of the group), or byGroups has not run

	// The transpose; nil if the rows are consecutive, because starts then describes the transpose
	// too. Pattern p is a list of groups: the entries rowStarts[p]..rowStarts[p+1]-1. Row i has the
	// pattern patterns[i], or pattern i if patterns is nil. rowWeights is nil if all groups have
	// default weights.
	patterns   []uint16
	rowStarts  []int
	rowGroups  []int32
	rowWeights []float64
	ordered    bool // the rows of each group increase

	digest lazyDigest // of M, without the names
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
	last := make([]int32, rows) // the last group, counted from 1, that contains each row
	for k, g := range groups {
		if err := g.check(rows, k, last); err != nil {
			return nil, err
		}
		m.names[k] = g.Name
		m.starts = append(m.starts, m.starts[k]+len(g.Rows))
	}
	m.ordered = !slices.ContainsFunc(groups, func(g Group) bool { return !slices.IsSorted(g.Rows) })
	weighted := slices.ContainsFunc(groups, func(g Group) bool { return g.Weights != nil })
	if first, ok := consecutive(groups); ok && !weighted {
		for k := range m.starts {
			m.starts[k] += first
		}
	} else {
		if !m.findPatterns(groups, weighted) {
			m.transpose(groups, weighted)
		}
		if !m.ordered {
			m.byGroups.Do(func() { m.listEntries(groups) })
		}
	}
	m.digest = digestLater(m.write)
	return m, nil
}

// check checks group k and records its rows in last.
func (g Group) check(rows, k int, last []int32) error {
	if len(g.Rows) == 0 {
		return fmt.Errorf("%w: %q", ErrEmptyGroup, g.Name)
	}
	for _, i := range g.Rows {
		if i < 0 || i >= rows {
			return fmt.Errorf("constraints: group %q: row %d, want 0..%d", g.Name, i, rows-1)
		}
		if last[i] == int32(k+1) {
			return fmt.Errorf("constraints: group %q: row %d is given twice", g.Name, i)
		}
		last[i] = int32(k + 1)
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

// weight returns the weight of entry e, the default weight included.
func (g Group) weight(e int) float64 {
	if g.Weights == nil {
		return 1 / float64(len(g.Rows))
	}
	return g.Weights[e]
}

// consecutive reports whether the rows of all groups, in order, are consecutive, and returns the
// first row.
func consecutive(groups []Group) (first int, ok bool) {
	first = groups[0].Rows[0]
	next := first
	for _, g := range groups {
		for _, i := range g.Rows {
			if i != next {
				return first, false
			}
			next++
		}
	}
	return first, true
}

// mostPatterns is the largest number of patterns, because a pattern's number has 16 bits.
const mostPatterns = 1 << 16

// findPatterns gives every row its pattern. It returns false, and changes nothing, if there are too
// many patterns, or more than half as many as rows.
//
// Each group refines the patterns: a row of the group with pattern p gets the pattern of p with the
// group and the row's weight appended. At the end, the patterns that rows have are numbered in the
// order of their first rows.
func (m *Membership) findPatterns(groups []Group, weighted bool) bool {
	type key struct {
		before uint16
		weight uint64
	}
	type pattern struct {
		before uint16
		group  int32
		weight float64
	}
	list := []pattern{{group: -1}} // pattern 0 has no group
	combination := make([]uint16, m.rows)
	for k, g := range groups {
		known := map[key]uint16{}
		var last key
		var lastIs uint16 // known[last], if last is in known
		for e, i := range g.Rows {
			p := pattern{before: combination[i], group: int32(k)}
			if weighted {
				p.weight = g.weight(e)
			}
			at := key{p.before, math.Float64bits(p.weight)}
			if e == 0 || at != last {
				is, ok := known[at]
				if !ok {
					if len(list) == mostPatterns {
						return false
					}
					is = uint16(len(list))
					list = append(list, p)
					known[at] = is
				}
				last, lastIs = at, is
			}
			combination[i] = lastIs
		}
	}
	number := make([]int, len(list)) // from 1; 0: no row has the pattern
	var used []uint16
	for i, p := range combination {
		if number[p] == 0 {
			used = append(used, p)
			number[p] = len(used)
		}
		combination[i] = uint16(number[p] - 1)
	}
	if 2*len(used) > m.rows {
		return false
	}
	m.patterns, m.rowStarts = combination, []int{0}
	for _, p := range used {
		from := len(m.rowGroups)
		for ; p > 0; p = list[p].before {
			m.rowGroups = append(m.rowGroups, list[p].group)
			if weighted {
				m.rowWeights = append(m.rowWeights, list[p].weight)
			}
		}
		slices.Reverse(m.rowGroups[from:])
		if weighted {
			slices.Reverse(m.rowWeights[from:])
		}
		m.rowStarts = append(m.rowStarts, len(m.rowGroups))
	}
	return true
}

// of returns the range of the entries of row i.
func (m *Membership) groupsOf(i int) (from, to int) {
	if m.patterns != nil {
		i = int(m.patterns[i])
	}
	return m.rowStarts[i], m.rowStarts[i+1]
}

// transpose lists the groups of every row, in the groups' order.
func (m *Membership) transpose(groups []Group, weighted bool) {
	m.rowStarts = make([]int, m.rows+1)
	for _, g := range groups {
		for _, i := range g.Rows {
			m.rowStarts[i+1]++
		}
	}
	for i := range m.rows {
		m.rowStarts[i+1] += m.rowStarts[i]
	}
	m.rowGroups = make([]int32, m.entries())
	if weighted {
		m.rowWeights = make([]float64, m.entries())
	}
	// rowStarts[i] moves to the end of row i, which is the start of row i+1.
	for k, g := range groups {
		for e, i := range g.Rows {
			at := m.rowStarts[i]
			m.rowStarts[i]++
			m.rowGroups[at] = int32(k)
			if weighted {
				m.rowWeights[at] = g.weight(e)
			}
		}
	}
	copy(m.rowStarts[1:], m.rowStarts[:m.rows])
	m.rowStarts[0] = 0
}

// entries returns the number of entries.
func (m *Membership) entries() int { return m.starts[m.Groups()] - m.starts[0] }

// listEntries lists the entries by groups.
func (m *Membership) listEntries(groups []Group) {
	m.indices = make([]int32, 0, m.entries())
	if m.rowWeights != nil {
		m.weights = make([]float64, 0, m.entries())
	}
	for _, g := range groups {
		for e, i := range g.Rows {
			m.indices = append(m.indices, int32(i))
			if m.rowWeights != nil {
				m.weights = append(m.weights, g.weight(e))
			}
		}
	}
}

// write writes the matrix by groups if their rows do not increase, because a mean adds them up in
// the groups' order; otherwise write writes the matrix by rows.
func (m *Membership) write(d digester) {
	d.ints(m.rows)
	d.ints(m.starts...)
	if !m.ordered {
		d.int32s(m.indices)
		d.floats(m.weights)
		return
	}
	d.uint16s(m.patterns)
	d.ints(m.rowStarts...)
	d.int32s(m.rowGroups)
	d.floats(m.rowWeights)
}

// Rows returns n, the number of columns of M.
func (m *Membership) Rows() int { return m.rows }

// Groups returns G, the number of rows of M.
func (m *Membership) Groups() int { return len(m.names) }

// CSR returns M by groups: group k has the entries starts[k]..starts[k+1]-1 with their rows and
// weights. If indices is nil, entry e is row e. If weights is nil, every entry of group k weighs
// 1/(starts[k+1]-starts[k]). The slices belong to the matrix and must not be modified.
func (m *Membership) CSR() (starts []int, indices []int32, weights []float64) {
	m.byGroups.Do(func() {
		if m.rowStarts == nil {
			return
		}
		m.indices = make([]int32, m.entries())
		if m.rowWeights != nil {
			m.weights = make([]float64, m.entries())
		}
		next := slices.Clone(m.starts) // next entry of each group
		for i := range m.rows {
			for e, end := m.groupsOf(i); e < end; e++ {
				k := m.rowGroups[e]
				m.indices[next[k]] = int32(i)
				if m.weights != nil {
					m.weights[next[k]] = m.rowWeights[e]
				}
				next[k]++
			}
		}
	})
	return m.starts, m.indices, m.weights
}

// size returns the number of rows of group k, the divisor of its mean.
func (m *Membership) size(k int) float64 { return float64(m.starts[k+1] - m.starts[k]) }

// groups returns the matrix in the form of the devices.
func (m *Membership) groups() describe.Groups {
	return describe.Groups{Rows: m.rows, Count: m.Groups(), Starts: m.starts, Patterns: m.patterns,
		RowStarts: m.rowStarts, RowGroups: m.rowGroups, RowWeights: m.rowWeights}
}
