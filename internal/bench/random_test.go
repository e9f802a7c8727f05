package bench

import (
	"math"
	"slices"
	"testing"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
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

// A row has one column of each attribute, and is in one group.
func TestRandomCategories(t *testing.T) {
	const n = 300
	table := randomCategories(n)
	x := table.Features.(*datasets.CSR)
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

// The dense pass does both products, at every level.
func TestDensePass(t *testing.T) {
	const rows, cols = 101, 13
	for _, level := range kernel.Levels() {
		d, err := cpu.New(level, 3)
		if err != nil {
			t.Fatal(err)
		}
		p, err := densePassOf[float64](setting{Train: config.Train{}, device: d}, rows, cols)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.run(); err != nil {
			t.Fatal(err)
		}
		g := make([]float64, cols)
		for i := range rows {
			z := 0.0
			for j := range cols {
				z += p.x[i*cols+j] * p.w[j]
				g[j] += p.x[i*cols+j] * p.d[i]
			}
			if math.Abs(z-p.z[i]) > 1e-12 {
				t.Fatalf("%v: z[%d] = %v, want %v", level, i, p.z[i], z)
			}
		}
		for j := range cols {
			if math.Abs(g[j]-p.sums[0][j]) > 1e-12 {
				t.Fatalf("%v: g[%d] = %v, want %v", level, j, p.sums[0][j], g[j])
			}
		}
	}
}
