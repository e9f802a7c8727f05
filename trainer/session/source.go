package session

import (
	"context"
	"os"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/models"
	"ppal/trainer/graph"
)

// Source provides the rows of a run. The sources are Images, Table (also made by CSV and LIBSVM),
// ImagesAtHand, TablesAtHand and Matrices.
type Source interface {
	// load reads the rows for a device.
	load(ctx context.Context, on request) (*loaded, error)
	// settings adds the settings of the source to a run's configuration, or notes that no flag
	// expresses them. seed is the run's.
	settings(c *configuration, seed uint64)
}

// request holds the properties of a run on which the form of the rows depends.
type request struct {
	devices *devices
	dtype   tensor.Dtype
	seed    uint64
	needs   constraints.Needs // of the task
}

// packs reports whether the device multiplies data with cols columns as integers.
func (r request) packs(cols int) bool {
	return r.dtype == tensor.Float32 && r.devices.integerProducts(cols)
}

// loaded holds the rows of a run and their description.
type loaded struct {
	dataset       string    // name of the data set; "" for data at hand
	splits        []*split  // the training rows first
	center, scale []float64 // of the columns, applied in the first layer; nil: none
	normalization models.Normalization
	description   Description // files, preparation, normalisation, notes and warnings
	label         *datasets.Label
	shape         datasets.Shape      // of pictures; zero if not known
	files         []datasets.FileRows // that the rows' sources number one after the other; nil: one
}

// name returns the name of the data set, for messages.
func (l *loaded) name() string {
	if l.dataset == "" {
		return "data at hand"
	}
	return l.dataset
}

// split is one part of the rows. The problem scores the training rows; blocks score the other rows,
// which are only measured.
type split struct {
	name Split
	rows
	problem *graph.Problem // nil for other rows than the training rows
	blocks  *blocks        // nil for the training rows
	measure func(scores []float64) (Measures, error)
	last    Measures // of the last record
}

// builtIn reports whether a data set is drawn from a seed. Checksums of its rows then identify it.
func builtIn(name string) bool {
	d, err := datasets.Lookup(name)
	return err == nil && len(d.Files) == 0 && !d.Own
}

// dataDir returns the directory of the data sets' files.
func dataDir(explicit string) (string, error) { return datasets.Dir(explicit, os.Getenv) }

// verified calls load and at the same time compares the data set's files with the published
// checksums. own are the paths of the user's files if the data set is the user's.
func verified(ctx context.Context, dir, dataset string, own []string, load func() (*loaded, error)) (*loaded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	report := meanwhile(func() (*datasets.Report, error) { return datasets.Verify(ctx, dir, dataset, own...) })
	l, err := load()
	if err != nil {
		return nil, err
	}
	r, err := report()
	if err != nil {
		return nil, err
	}
	l.dataset = dataset
	l.description.Warnings = append(l.description.Warnings, r.Warnings...)
	for _, f := range r.Files {
		l.description.Data = append(l.description.Data, DataFile{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	if d, err := datasets.Lookup(dataset); err == nil && len(d.Files) > 0 {
		l.description.DataDir = dir
	}
	return l, nil
}

// meanwhile runs f in a goroutine. The returned function waits for f and returns its result.
func meanwhile[T any](f func() (T, error)) (wait func() (T, error)) {
	var result T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = f()
	}()
	return func() (T, error) {
		<-done
		return result, err
	}
}
