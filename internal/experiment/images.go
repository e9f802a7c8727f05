package experiment

import (
	"context"
	"fmt"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/models"
)

// load reads the data set, and states the problem on it.
func (e *Experiment) load(ctx context.Context, dataDir string) error {
	load := e.loadTables
	if e.cfg.Data.Problem == "mnpc" {
		load = e.loadImages
	}
	if err := load(dataDir); err != nil {
		return err
	}
	report, err := datasets.Verify(ctx, dataDir, e.cfg.Dataset, e.cfg.File)
	if err != nil {
		return err
	}
	e.info.Warnings = append(e.info.Warnings, report.Warnings...)
	for _, f := range report.Files {
		e.info.DataFiles = append(e.info.DataFiles, FileSum{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	return nil
}

// loadImages reads pictures and selects the classes.
func (e *Experiment) loadImages(dataDir string) error {
	all, held, err := datasets.LoadImages(dataDir, e.cfg.Dataset, e.cfg.Seed)
	if err != nil {
		return err
	}
	if d, err := datasets.Lookup(e.cfg.Dataset); err == nil && len(d.Files) == 0 {
		e.info.DataFiles = []FileSum{rowsSum(e.cfg.Dataset+" train", all), rowsSum(e.cfg.Dataset+" test", held)}
	}
	train, err := datasets.Select(all, e.cfg.Classes, e.cfg.RowsPerClass)
	if err != nil {
		return err
	}
	test, err := datasets.Select(held, e.cfg.Classes, 0)
	if err != nil {
		return err
	}
	return e.takeImages(train, test)
}

// takeImages states the Neyman-Pearson problem.
func (e *Experiment) takeImages(train, test *datasets.Selection) (err error) {
	if e.normalization, err = normalization(models.NormalizationKind(e.cfg.Normalize), train); err != nil {
		return err
	}
	e.splits = []*split{{name: "train", rows: imageRows(train, e.normalization)}, {name: "test", rows: imageRows(test, e.normalization)}}
	if e.t.spec, err = e.spec(e.splits[0].features(), len(train.Names)); err != nil {
		return err
	}
	e.t.center = scaledCenter(e.normalization)
	phi, err := constraints.ParsePhi(e.cfg.Phi)
	if err != nil {
		return err
	}
	np, err := constraints.NewNeymanPearson(train.Names, e.cfg.Kappa, phi)
	if err != nil {
		return err
	}
	e.t.goal = neymanPearson{np, e.cfg.Classes}
	e.info.Objective = train.Names[0]
	for k, name := range train.Names {
		e.info.Classes = append(e.info.Classes, e.part(name, func(r rows) int { return len(r.strata[k]) }))
	}
	if e.normalization.Kind == models.NormalizeStandardize {
		e.info.Normalization = fmt.Sprintf("%s (one deviation: %.6g)", e.cfg.Normalize, e.normalization.Deviation)
	}
	e.t.regularizer, err = e.regularizer()
	return err
}

// rowsSum identifies rows that come from no file.
func rowsSum(name string, set *datasets.Images) FileSum {
	return FileSum{Name: name, Bytes: int64(len(set.Pixels.Data) + len(set.Labels)), SHA256: set.SHA256()}
}

// imageRows takes the rows of a selection under their normalisation.
func imageRows(s *datasets.Selection, n models.Normalization) rows {
	scaled := *s.Pixels // shares the pixels
	if n.Kind == models.NormalizeStandardize {
		scaled.Scale /= n.Deviation
	}
	r := rows{data: &scaled}
	for k := range len(s.Offsets) - 1 {
		var class []int
		for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
			r.labels = append(r.labels, k)
			class = append(class, i)
		}
		r.strata = append(r.strata, class)
	}
	return r
}

// normalization measures what kind asks for on the training rows.
func normalization(kind models.NormalizationKind, train *datasets.Selection) (models.Normalization, error) {
	n := models.Normalization{Kind: kind}
	if kind == models.NormalizeNone {
		return n, nil
	}
	center, deviation := datasets.Moments(train.Pixels)
	n.Center = center
	if kind == models.NormalizeStandardize {
		if deviation == 0 {
			return n, fmt.Errorf("experiment: all training rows are equal, so they cannot be standardised: use --normalize none")
		}
		n.Deviation = deviation
	}
	return n, nil
}

// scaledCenter is c/s, nil without centring.
func scaledCenter(n models.Normalization) []float64 {
	if n.Kind == models.NormalizeNone {
		return nil
	}
	c := append([]float64{}, n.Center...)
	if n.Kind == models.NormalizeStandardize {
		for i := range c {
			c[i] /= n.Deviation
		}
	}
	return c
}
