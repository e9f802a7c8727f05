package session

import (
	"context"
	"os"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/models"
	"ppal/trainer/graph"
)

// Source is where the rows of a run come from: Images, Table, CSV, LIBSVM, ImagesAtHand,
// TablesAtHand or Matrices.
type Source interface {
	// load reads the rows for a device.
	load(ctx context.Context, on request) (*loaded, error)
}

// request is what loading depends on beside the source.
type request struct {
	devices *devices
	dtype   tensor.Dtype
	seed    uint64
}

// packs says whether float32 data of so many columns go to the device as integers.
func (r request) packs(cols int) bool {
	return r.dtype == tensor.Float32 && r.devices.integerProducts(cols)
}

// loaded are the rows of a run, with what is told of them.
type loaded struct {
	dataset       string // its name, for messages; "" of data at hand
	splits        []*split
	center, scale []float64 // that the first layer applies to the columns; nil: none
	normalization models.Normalization
	told          Description // files, preparation, normalisation, notes and warnings
}

// name is the data set's, or says that there is none.
func (l *loaded) name() string {
	if l.dataset == "" {
		return "data at hand"
	}
	return l.dataset
}

// split is one part of the rows, with what gives its scores: the problem on the training rows, blocks
// of the others, which are only measured.
type split struct {
	name Split
	rows
	problem *graph.Problem
	blocks  *blocks
	measure func(scores []float64) (Measures, error)
}

// builtIn says whether a data set is drawn from a seed, so that its rows are identified rather than
// its files.
func builtIn(name string) bool {
	d, err := datasets.Lookup(name)
	return err == nil && len(d.Files) == 0 && !d.Own
}

// dataDir is the directory of the data sets' files.
func dataDir(explicit string) (string, error) { return datasets.Dir(explicit, os.Getenv) }

// verified loads a data set, and meanwhile compares its files with the published ones. own is the
// path of a user's file.
func verified(ctx context.Context, dir, dataset, own string, load func() (*loaded, error)) (*loaded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	report := meanwhile(func() (*datasets.Report, error) { return datasets.Verify(ctx, dir, dataset, own) })
	l, err := load()
	if err != nil {
		return nil, err
	}
	r, err := report()
	if err != nil {
		return nil, err
	}
	l.dataset = dataset
	l.told.Warnings = append(l.told.Warnings, r.Warnings...)
	for _, f := range r.Files {
		l.told.Data = append(l.told.Data, DataFile{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	if d, err := datasets.Lookup(dataset); err == nil && len(d.Files) > 0 {
		l.told.DataDir = dir
	}
	return l, nil
}

// meanwhile runs f in a goroutine; wait returns its result.
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
