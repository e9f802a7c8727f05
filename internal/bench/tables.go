package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/experiment"
)

// Sizes of the prepared tables.
const (
	adultRows, adultFeatures, adultAttributes = 48842, 123, 14
	communitiesRows, communitiesFeatures      = 1994, 145
	manyGroups                                = 800
)

// The random streams of what is drawn.
const (
	tableSeed = 0x7461626c65
	groupSeed = 0x67726f7570
)

// tableCases are demographic parity on sparse rows, and intersectional fairness on dense ones with many groups and with one.
func tableCases(shrink int) []Case {
	adult := Case{Name: "dp-adult", About: "Adult, linear, demographic parity between two groups as two smooth constraints", products: "auto",
		settings: config.Values{"problem": "dp", "dataset": "adult", "split": allTraining}}
	adult.open = func(ctx context.Context, s setting) (*workload, error) { return openAdult(ctx, s, adultRows/shrink) }
	groups := func(name string, m int) Case {
		c := Case{Name: name, About: fmt.Sprintf("Communities and Crime, a network, intersectional fairness over random groups, m = %d", m), products: "auto",
			settings: config.Values{"problem": "if", "dataset": "communities", "if-form": "each", "split": allTraining}}
		c.open = func(ctx context.Context, s setting) (*workload, error) {
			return openCommunities(ctx, s, communitiesRows/shrink, m)
		}
		return c
	}
	return []Case{adult, groups("if-communities", manyGroups), groups("if-communities-1", 1)}
}

// allTraining is a split that trains on every row.
const allTraining = "100/0/0"

// openAdult builds demographic parity on Adult, on n random rows of its shape where the files are absent.
func openAdult(ctx context.Context, s setting, n int) (*workload, error) {
	t, data, err := loadTable(s, func() *datasets.Table { return randomCategories(n) })
	if err != nil {
		return nil, err
	}
	w, err := onTable(ctx, s, t, data)
	if err != nil {
		return nil, err
	}
	x := t.Features.(*datasets.CSR)
	w.shape.NonZeros = len(x.Columns)
	w.references = func() ([]reference, error) {
		sparse, err := bareSparse(s, x, w.shape.Width)
		if err != nil {
			return nil, err
		}
		pass := newDensePass[float32]
		if s.Dtype == "float64" {
			pass = newDensePass[float64]
		}
		dense, err := pass(s, w.shape.Rows, w.shape.Features)
		return []reference{sparse, dense}, err
	}
	return w, nil
}

// openCommunities builds intersectional fairness over m random groups on Communities and Crime, on n random rows of its shape where the
// file is absent.
func openCommunities(ctx context.Context, s setting, n, m int) (*workload, error) {
	t, data, err := loadTable(s, func() *datasets.Table { return randomNumbers(n) })
	if err != nil {
		return nil, err
	}
	t.Groups = randomGroups(t.Rows(), m)
	w, err := onTable(ctx, s, t, data)
	if err != nil || m == 1 {
		return w, err
	}
	w.references = func() ([]reference, error) {
		floor, err := w.dense()
		if err != nil {
			return nil, err
		}
		t.Groups = t.Groups[:1]
		single, err := onTable(ctx, s, t, data)
		if err != nil {
			return nil, err
		}
		return append(floor, reference{name: "an iteration with one group", run: single.iterate}), single.begin()
	}
	return w, nil
}

// loadTable reads the setting's table, or draws one.
func loadTable(s setting, random func() *datasets.Table) (t *datasets.Table, data string, err error) {
	split, err := datasets.ParseSplit(s.Split)
	if err != nil {
		return nil, "", err
	}
	tables, err := datasets.LoadTable(s.dataDir, s.Dataset, datasets.TableOptions{Seed: s.Seed, Split: split})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return random(), Synthetic, nil
	case err != nil:
		return nil, "", err
	}
	return tables.Train, FromFiles, nil
}

// onTable builds the training run of the setting's configuration on the table.
func onTable(ctx context.Context, s setting, t *datasets.Table, data string) (*workload, error) {
	e, err := experiment.NewOnTables(ctx, s.Train, &datasets.Tables{Train: t})
	if err != nil {
		return nil, err
	}
	w := &workload{shape: Shape{Rows: t.Rows(), Features: e.Info().Features, Width: width(s.Train), Data: data}, setting: s, keep: e}
	w.problem, w.method = e.Optimization()
	w.references = w.dense
	return w, nil
}

// randomTable has n rows' labels, a quarter of them +1.
func randomTable(rng *rand.Rand, n int) *datasets.Table {
	t := &datasets.Table{Classes: [2]string{"-1", "+1"}, Labels: make([]int, n), Source: make([]int, n)}
	for i := range t.Labels {
		t.Labels[i], t.Source[i] = -1, i
		if rng.IntN(4) == 0 {
			t.Labels[i] = 1
		}
	}
	return t
}

// randomCategories is a table of Adult's shape: each attribute has as many columns as the others, of which one is 1. Each row is in one
// of two groups.
func randomCategories(n int) *datasets.Table {
	rng := rand.New(rand.NewPCG(1, tableSeed))
	t := randomTable(rng, n)
	x := &datasets.CSR{Rows: n, Cols: adultFeatures, Starts: []int{0}}
	t.Groups = []datasets.Group{{Name: "protected"}, {Name: "rest"}}
	for i := range n {
		for a := range adultAttributes {
			lo, hi := adultFeatures*a/adultAttributes, adultFeatures*(a+1)/adultAttributes
			x.Columns = append(x.Columns, int32(lo+rng.IntN(hi-lo)))
		}
		x.Starts = append(x.Starts, len(x.Columns))
		g := &t.Groups[rng.IntN(2)]
		g.Rows = append(g.Rows, i)
	}
	t.Features = x
	return t
}

// randomNumbers is a table of Communities and Crime's shape.
func randomNumbers(n int) *datasets.Table {
	rng := rand.New(rand.NewPCG(2, tableSeed))
	t := randomTable(rng, n)
	x := &datasets.Dense{Rows: n, Cols: communitiesFeatures, Data: make([]float64, n*communitiesFeatures)}
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	t.Features = x
	return t
}

// The shares of the rows that random groups have.
const leastShare, mostShare = 0.01, 0.5

// randomGroups draws m groups of more than a hundredth of the n rows, their sizes' logarithms uniform up to a half.
func randomGroups(n, m int) []datasets.Group {
	rng := rand.New(rand.NewPCG(3, groupSeed))
	groups := make([]datasets.Group, m)
	for k := range groups {
		share := leastShare * math.Pow(mostShare/leastShare, rng.Float64())
		size := max(int(share*float64(n)), int(leastShare*float64(n))+1)
		groups[k] = datasets.Group{Name: fmt.Sprintf("group %d", k+1), Rows: rng.Perm(n)[:size]}
		slices.Sort(groups[k].Rows)
	}
	return groups
}
