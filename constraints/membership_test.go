package constraints

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
)

// overlapping draws groups that overlap, with or without weights of the given number of values.
// Some rows are in no group.
func overlapping(rows, count, weights int) []Group {
	rng := rand.New(rand.NewPCG(1, 2))
	groups := make([]Group, count)
	for i := range rows {
		for k := range groups {
			g := &groups[k]
			if i == k || rng.IntN(3) == 0 {
				g.Rows = append(g.Rows, i)
				if weights > 0 {
					g.Weights = append(g.Weights, float64(1+rng.IntN(weights))/8)
				}
			}
		}
	}
	return groups
}

// A matrix with a pattern for many rows has the products of one with a list for each row, to the
// bit, and the same entries. Its patterns are different, and numbered in the order of the rows.
func TestPatterns(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	for _, c := range []struct {
		name   string
		rows   int
		groups []Group
		short  bool // has patterns
	}{
		{"default weights", 500, overlapping(500, 4, 0), true},
		{"few weights", 2000, overlapping(2000, 3, 2), true},
		{"some groups with weights", 500, append(overlapping(500, 2, 0), overlapping(500, 1, 3)...), true},
		{"a weight for each row", 500, overlapping(500, 2, 1<<40), false},
		{"more patterns than numbers", 200_000, overlapping(200_000, 1, 1<<40), false},
		{"half as many patterns as rows", 4, []Group{{Rows: []int{0, 2}}}, true},
		{"more than half as many", 5, []Group{{Rows: []int{0, 2}}, {Rows: []int{2}}}, false},
		{"rows in another order", 500, []Group{{Rows: []int{300, 2, 40}}, {Rows: []int{2, 499}}}, true},
	} {
		m := must(NewMembership(c.rows, c.groups))
		if short := m.patterns != nil; short != c.short {
			t.Errorf("%s: patterns: %t", c.name, short)
		}
		list := &Membership{rows: m.rows, names: m.names, starts: m.starts, ordered: m.ordered}
		list.transpose(c.groups, m.rowWeights != nil)
		if !m.ordered {
			list.byGroups.Do(func() { list.listEntries(c.groups) })
		}
		l, w := make([]float32, c.rows), make([]float32, len(c.groups))
		rng := rand.New(rand.NewPCG(3, 4))
		for i := range l {
			l[i] = rng.Float32()
		}
		for k := range w {
			w[k] = rng.Float32()
		}
		offsets := make([]float64, len(c.groups))
		if !slices.Equal(groupMeans(m, offsets, l), groupMeans(list, offsets, l)) || !slices.Equal(transposeTimes(m, w), transposeTimes(list, w)) {
			t.Errorf("%s: other bits than with a list for each row", c.name)
		}
		_, rows, weights := m.CSR()
		_, wantRows, wantWeights := list.CSR()
		if cmp.Diff(wantRows, rows) != "" || cmp.Diff(wantWeights, weights) != "" {
			t.Errorf("%s: other entries than with a list for each row", c.name)
		}
		for k, got := range groupMeans(m, offsets, l) { // the additions of a group have the order of its rows
			var sum float64
			for e := m.starts[k]; e < m.starts[k+1]; e++ {
				weight := 1.0
				if weights != nil {
					weight = weights[e]
				}
				sum += weight * float64(l[rows[e]])
			}
			if weights == nil {
				sum /= m.size(k)
			}
			if got != float32(sum) {
				t.Errorf("%s: the mean of group %d is %v, want %v", c.name, k, got, sum)
			}
		}
		seen := map[string]bool{}
		for p := range len(m.rowStarts) - 1 {
			text := fmt.Sprint(m.rowGroups[m.rowStarts[p]:m.rowStarts[p+1]])
			if m.rowWeights != nil {
				text += fmt.Sprint(m.rowWeights[m.rowStarts[p]:m.rowStarts[p+1]])
			}
			if seen[text] && c.short {
				t.Errorf("%s: pattern %d repeats an earlier pattern", c.name, p)
			}
			seen[text] = true
		}
		next := uint16(0)
		for _, p := range m.patterns {
			if p > next {
				t.Fatalf("%s: pattern %d before pattern %d", c.name, p, next)
			}
			next = max(next, p+1)
		}
	}
}

// The digest covers the rows' patterns, also if the patterns themselves are equal.
func TestDigestOfPatterns(t *testing.T) {
	of := func(rows ...int) *Membership { return must(NewMembership(8, []Group{{Rows: rows}})) }
	a, b := of(0, 1, 3), of(0, 1, 4)
	if !slices.Equal(a.rowStarts, b.rowStarts) || !slices.Equal(a.rowGroups, b.rowGroups) || a.patterns == nil {
		t.Fatalf("%v and %v: want equal patterns", a.rowGroups, b.rowGroups)
	}
	if a.digest() == b.digest() || a.digest() != of(0, 1, 3).digest() {
		t.Error("the digest is not that of the matrix")
	}
}
