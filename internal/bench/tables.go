package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/trainer/session"
)

// Sizes of the prepared tables.
const (
	adultRows, adultFeatures, adultAttributes = 48842, 123, 14
	bankRows, bankFeatures                    = 41188, 63
	communitiesRows, communitiesFeatures      = 1994, 145
	manyGroups                                = 800
)

// tableCases returns demographic parity on sparse and on dense rows, and intersectional fairness on
// dense rows with many groups and with one group.
func tableCases(shrink int) []Case {
	adult := Case{Name: "dp-adult", products: "auto",
		About:    "Adult, linear, demographic parity between two groups as two smooth constraints",
		settings: config.Values{"problem": "dp", "dataset": "adult", "split": allTraining}}
	adult.open = func(ctx context.Context, s setting) (*workload, error) { return openAdult(ctx, s, adultRows/shrink) }
	bank := Case{Name: "dp-bank", products: "auto",
		About:    "Bank, linear, demographic parity between two groups, dense rows",
		settings: config.Values{"problem": "dp", "dataset": "bank", "split": allTraining}}
	bank.open = func(ctx context.Context, s setting) (*workload, error) { return openBank(ctx, s, bankRows/shrink) }
	groups := func(name string, m int) Case {
		c := Case{Name: name, products: "auto",
			About:    fmt.Sprintf("Communities and Crime, a network, intersectional fairness over random groups, m = %d", m),
			settings: config.Values{"problem": "if", "dataset": "communities", "if-form": "each", "split": allTraining}}
		c.open = func(ctx context.Context, s setting) (*workload, error) {
			return openCommunities(ctx, s, communitiesRows/shrink, m)
		}
		return c
	}
	return []Case{adult, bank, groups("if-communities", manyGroups), groups("if-communities-1", 1)}
}

// allTraining is a split that uses every row for training.
const allTraining = "100/0/0"

// openAdult builds demographic parity on Adult, or on n random rows of Adult's shape if the files
// are absent.
func openAdult(ctx context.Context, s setting, n int) (*workload, error) {
	t, data, err := loadTable(s, func() *tabular.Table { return randomCategories(n) })
	if err != nil {
		return nil, err
	}
	w, err := onTable(ctx, s, t, data)
	if err != nil {
		return nil, err
	}
	x := t.Features.(*matrix.CSR)
	w.shape.NonZeros = len(x.Columns)
	w.references = func() ([]reference, error) {
		sparse, err := bareSparse(s, x, w.shape.Width)
		if err != nil {
			return nil, err
		}
		dense, err := bareProducts(s, w.shape.Rows, w.shape.Features, w.shape.Width)
		dense.name = "a dense pass over the same rows in " + s.Session.Device.Dtype.String()
		return []reference{sparse, dense}, err
	}
	return w, nil
}

// openBank builds demographic parity on Bank, or on n random rows of Bank's shape if the file is
// absent.
func openBank(ctx context.Context, s setting, n int) (*workload, error) {
	t, data, err := loadTable(s, func() *tabular.Table {
		t := randomNumbers(n, bankFeatures)
		t.Groups = randomPair(n)
		return t
	})
	if err != nil {
		return nil, err
	}
	return onTable(ctx, s, t, data)
}

// openCommunities builds intersectional fairness over m random groups on Communities and Crime, or
// on n random rows of its shape if the file is absent.
func openCommunities(ctx context.Context, s setting, n, m int) (*workload, error) {
	t, data, err := loadTable(s, func() *tabular.Table { return randomNumbers(n, communitiesFeatures) })
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

// loadTable reads the setting's table, or generates a random table.
func loadTable(s setting, random func() *tabular.Table) (t *tabular.Table, data string, err error) {
	tables, err := datasets.LoadTable(s.dataDir, s.Dataset, s.TableOptions())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return random(), synthetic, nil
	case err != nil:
		return nil, "", err
	}
	return tables.Train, fromFiles, nil
}

// onTable builds the training run of the setting's configuration on the table.
func onTable(ctx context.Context, s setting, t *tabular.Table, data string) (*workload, error) {
	o, err := s.options()
	if err != nil {
		return nil, err
	}
	o.Data = session.TablesAtHand{Tables: &tabular.Tables{Train: t}}
	run, err := session.New(ctx, o)
	if err != nil {
		return nil, err
	}
	info := run.Describe()
	w := &workload{shape: Shape{Rows: t.Rows(), Features: info.Features, Width: width(s.Train), Data: data}, products: info.Products,
		setting: s, keep: run}
	w.problem, w.method = run.Problem(), run.Method()
	w.references = w.dense
	return w, nil
}
