package session

import (
	"context"
	"os"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/inputfile"
	"ppal/internal/option"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/session/internal/build"
)

// Source provides the rows of a run. The sources are Images, Table (CSV and LIBSVM also return a
// Table), ImagesAtHand, TablesAtHand and Matrices. A program implements Source for rows of its own.
type Source interface {
	// Load reads the rows for a run. A source of a program's own returns what Matrices.Load returns,
	// with its name and files. A session that falls back from the GPU to the CPU calls Load again.
	Load(ctx context.Context, on Request) (*Data, error)
}

// Request holds the properties of a run that determine the form of the rows.
type Request struct {
	devices *devices
	dtype   tensor.Dtype
	seed    uint64
	needs   constraints.Needs // properties of the rows that the task uses
	batches bool              // the training draws mini-batches from all rows
}

// Seed returns the seed of the run, for sources that split or draw rows.
func (r Request) Seed() uint64 { return r.seed }

// Needs returns the properties of the rows that the run's constraints name.
func (r Request) Needs() constraints.Needs { return r.needs }

// packs reports whether the device multiplies data with cols columns as integers.
func (r Request) packs(cols int) bool {
	return r.dtype == tensor.Float32 && r.devices.integerProducts(cols)
}

// Data are the rows of a run and their description.
type Data struct {
	dataset       string    // name of the data set; "" for data at hand
	splits        []*split  // the training rows first
	center, scale []float64 // center and scale of the columns for the first layer; nil: none
	normalization models.Normalization
	description   Description // files, preparation, normalisation, notes and warnings
	label         *tabular.Label
	reading       *tabular.Reading
	pictures      bool               // the rows are pictures of 8 bits
	shape         picture.Shape      // shape of pictures; zero if not known
	files         []tabular.FileRows // files in the order of the row numbers; nil: a single file
}

// NewDataFile describes a file, or another part of the data, with the checksum of its content.
func NewDataFile(name string, content []byte) DataFile {
	sum := rundir.NewSum()
	sum.Write(content)
	return sum.File(name)
}

// name returns the name of the data set, for messages.
func (l *Data) name() string {
	if l.dataset == "" {
		return "data at hand"
	}
	return l.dataset
}

// split is a part of the rows. The problem computes the scores of the training rows, blocks the
// scores of all other rows.
type split struct {
	name Split
	rows
	problem *graph.Problem      // nil except for the training rows
	blocks  *build.Blocks       // nil for the training rows
	exact   *build.Blocks       // blocks in float64; nil before exactBlocks
	head    *graph.Problem      // the task on the scores in float64; nil before exact
	sample  *constraints.Sample // the constraints of a Decisions task; nil before sampleOf
	measure func(scores []float64) (Measures, error)
	last    Measures        // measures of the last record
	scores  []float64       // scores of the last record
	fetch   ranks.Procedure // writes the features of a row of any process to room; nil: all rows are here
	room    []float64
}

// DataOptions returns the choice of the data set and of the directory of its files: flags of ppal
// train.
func DataOptions(name, dir *string) []*option.Option {
	return []*option.Option{
		option.Choice(option.NameDataset, name, "choose the data set; ppal data list describes them", datasets.Names(nil)...).As("NAME").
			Reserve("mslr", "mq2008"),
		option.Text("data-dir", dir, "DIR", "find the data sets' files here").
			OrRule("$PPAL_DATA, else the user's cache directory", func() string { return "" }),
	}
}

// builtIn reports whether a seed generates the data set. Checksums of the rows then identify the
// data set.
func builtIn(name string) bool {
	d, err := datasets.Lookup(name)
	return err == nil && len(d.Files) == 0 && !d.Own
}

// dataDir returns the directory of a data set's files.
func dataDir(name, explicit string) (string, error) { return datasets.DirOf(name, explicit, os.Getenv) }

// verified calls load. At the same time verified compares the data set's files with the published
// checksums. own lists the paths of the user's files if the data set belongs to the user. report
// waits for the comparison.
func verified(ctx context.Context, dir, dataset string, own []string,
	load func(report func() (*datasets.Report, error)) (*Data, error)) (*Data, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unchanged := inputfile.Unchanged(own...)
	report := relay.Start(func() (*datasets.Report, error) { return datasets.Verify(ctx, dir, dataset, own...) })
	l, err := load(report)
	if err != nil {
		return nil, err
	}
	r, err := report()
	if err != nil {
		return nil, err
	}
	if err := unchanged(); err != nil {
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

// startIf is relay.Start if concurrently is true. Otherwise startIf calls f before it returns.
func startIf[T any](concurrently bool, f func() (T, error)) (wait func() (T, error)) {
	if concurrently {
		return relay.Start(f)
	}
	result, err := f()
	return func() (T, error) { return result, err }
}
