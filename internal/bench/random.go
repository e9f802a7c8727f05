package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
)

// The random streams of generated tables and groups.
const (
	tableSeed = 0x7461626c65
	groupSeed = 0x67726f7570
)

// randomTable returns the labels of n rows; a quarter of them are +1.
func randomTable(rng *rand.Rand, n int) *tabular.Table {
	t := &tabular.Table{Classes: []string{"-1", "+1"}, Labels: make([]int, n), Source: make([]int, n)}
	for i := range t.Labels {
		t.Labels[i], t.Source[i] = -1, i
		if rng.IntN(4) == 0 {
			t.Labels[i] = 1
		}
	}
	return t
}

// randomCategories returns a table of Adult's shape: all attributes have the same number of
// columns, of which one is 1 in each row. Each row is in one of two groups.
func randomCategories(n int) *tabular.Table {
	rng := rand.New(rand.NewPCG(1, tableSeed))
	t := randomTable(rng, n)
	x := &matrix.CSR{Rows: n, Cols: adultFeatures, Starts: []int{0}}
	t.Groups = randomPair(n)
	for range n {
		for a := range adultAttributes {
			lo, hi := adultFeatures*a/adultAttributes, adultFeatures*(a+1)/adultAttributes
			x.Columns = append(x.Columns, int32(lo+rng.IntN(hi-lo)))
		}
		x.Starts = append(x.Starts, len(x.Columns))
	}
	t.Features = x
	return t
}

// randomPair assigns each of n rows to one of two groups.
func randomPair(n int) []tabular.Group {
	rng := rand.New(rand.NewPCG(4, groupSeed))
	pair := []tabular.Group{{Name: "protected"}, {Name: "rest"}}
	for i := range n {
		g := &pair[rng.IntN(2)]
		g.Rows = append(g.Rows, i)
	}
	return pair
}

// randomNumbers returns a table of numbers without groups.
func randomNumbers(n, cols int) *tabular.Table {
	rng := rand.New(rand.NewPCG(2, tableSeed))
	t := randomTable(rng, n)
	x := &matrix.Dense{Rows: n, Cols: cols, Data: make([]float64, n*cols)}
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	t.Features = x
	return t
}

// The range of the share of the rows that a random group holds.
const leastShare, mostShare = 0.01, 0.5

// randomGroups draws m groups of more than a hundredth of the n rows. The logarithms of their sizes
// are uniform, up to half of the rows.
func randomGroups(n, m int) []tabular.Group {
	rng := rand.New(rand.NewPCG(3, groupSeed))
	groups := make([]tabular.Group, m)
	for k := range groups {
		share := leastShare * math.Pow(mostShare/leastShare, rng.Float64())
		size := max(int(share*float64(n)), int(leastShare*float64(n))+1)
		groups[k] = tabular.Group{Name: fmt.Sprintf("group %d", k+1), Rows: rng.Perm(n)[:size]}
		slices.Sort(groups[k].Rows)
	}
	return groups
}
