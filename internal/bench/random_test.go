package bench

import (
	"slices"
	"testing"

	"ppal/datasets/matrix"
)

func TestRandomGroups(t *testing.T) {
	const n, m = 1994, 800
	groups := randomGroups(n, m)
	if len(groups) != m {
		t.Fatalf("%d groups, want %d", len(groups), m)
	}
	for _, g := range groups {
		if 100*len(g.Rows) <= n || 2*len(g.Rows) > n {
			t.Errorf("%s has %d rows of %d, want more than a hundredth and at most a half", g.Name, len(g.Rows), n)
		}
		if !slices.IsSorted(g.Rows) || len(slices.Compact(slices.Clone(g.Rows))) != len(g.Rows) || g.Rows[0] < 0 || g.Rows[len(g.Rows)-1] >= n {
			t.Errorf("%s: rows %v", g.Name, g.Rows)
		}
	}
}

// Each row has one active column of each attribute and belongs to one group.
func TestRandomCategories(t *testing.T) {
	const n = 300
	table := randomCategories(n)
	x := table.Features.(*matrix.CSR)
	for i := range n {
		columns := x.Columns[x.Starts[i]:x.Starts[i+1]]
		if len(columns) != adultAttributes {
			t.Fatalf("row %d has %d entries, want %d", i, len(columns), adultAttributes)
		}
		for a, c := range columns {
			if int(c) < adultFeatures*a/adultAttributes || int(c) >= adultFeatures*(a+1)/adultAttributes {
				t.Errorf("row %d: column %d is not of attribute %d", i, c, a)
			}
		}
	}
	if _, _, err := table.Partition(); err != nil {
		t.Error(err)
	}
}
