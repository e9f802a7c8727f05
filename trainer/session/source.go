package session

import (
	"context"
	"os"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/option"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/trainer/graph"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/device"
	"ppal/trainer/session/internal/load"
)

// Source provides the rows of a run. The sources are Images, Table (CSV and LIBSVM also return a
// Table), and those that a program fills: Pictures, ImagesAtHand, TablesAtHand and Matrices.
// A program implements Source for rows that it reads when a run needs them.
type Source interface {
	// Load reads the rows for a run. A source of a program's own returns what the Load of a source
	// that the program fills returns; this Load puts the rows into the device's layout, into files
	// and into the processes of the run. A session that falls back from the GPU to the CPU calls Load
	// again.
	Load(ctx context.Context, on Request) (*Data, error)
}

// Request holds the properties of a run that determine the form of the rows.
type Request struct{ on load.Request }

// request returns the request of a run whose needs of the rows are needs.
func request(d *device.Devices, dtype tensor.Dtype, seed uint64, needs constraints.Needs, batches bool) load.Request {
	return load.Request{Seed: seed, Dtype: dtype, Needs: needs, Batches: batches, CPU: d.CPU, Integers: d.IntegerProducts, Pages: d.Pages,
		Room: d.Options.Room(), Kept: d.Options.KeptRows(), Memory: d.Options.Memory, Share: d.TableShare()}
}

// Seed returns the seed of the run, for sources that split or draw rows.
func (r Request) Seed() uint64 { return r.on.Seed }

// Needs returns the properties of the rows that the run's constraints name.
func (r Request) Needs() constraints.Needs { return r.on.Needs }

// Data are the rows of a run and their description.
type Data struct{ *load.Data }

// NewDataFile describes a file, or another part of the data, with the checksum of its content.
func NewDataFile(name string, content []byte) DataFile {
	sum := rundir.NewSum()
	sum.Write(content)
	return sum.File(name)
}

// split is a part of the rows. The problem computes the scores of the training rows, blocks the
// scores of all other rows.
type split struct {
	*load.Split
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

// divide sets the split's fetch if other processes have the features of some rows.
func (s *split) divide(d *device.Devices) {
	part, ok := s.Data.(interface {
		matrix.Matrix
		Has(i int) bool
	})
	if !ok {
		return
	}
	s.fetch = d.Team.Register(func(message []byte) error {
		i := int(ranks.Numbers[float64](message)[0])
		if d.Team.Rank() > 0 {
			s.room = make([]float64, s.Features())
		}
		if clear(s.room); part.Has(i) {
			part.Float64(s.room, i, i+1)
		}
		return d.Team.Sum(s.room)
	})
}

// readRow writes the features of row i.
func (s *split) readRow(features []float64, i int) error {
	if s.fetch == nil {
		s.Data.Float64(features, i, i+1)
		return nil
	}
	s.room = features
	return s.fetch(ranks.Bytes([]float64{float64(i)}))
}

// DataOptions returns the choice of the data set and of the directory of its files: flags of ppal
// train.
func DataOptions(name, dir *string) []*option.Option {
	return []*option.Option{
		option.Choice(option.NameDataset, name, "choose the data set; ppal data list describes them", datasets.Names(nil)...).As("NAME").
			Reserve(datasets.Reserved()...),
		option.Text("data-dir", dir, "DIR", "find the data sets' files here").
			OrRule("$PPAL_DATA, else the user's cache directory", func() string { return "" }),
	}
}

// dataDir returns the directory of a data set's files.
func dataDir(name, explicit string) (string, error) { return datasets.DirOf(name, explicit, os.Getenv) }

// startIf is relay.Start if concurrently is true. Otherwise startIf calls f before it returns.
func startIf[T any](concurrently bool, f func() (T, error)) (wait func() (T, error)) {
	if concurrently {
		return relay.Start(f)
	}
	result, err := f()
	return func() (T, error) { return result, err }
}
