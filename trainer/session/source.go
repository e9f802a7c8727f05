package session

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
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

// Seed returns the seed of the run, for sources that split or draw rows.
func (r Request) Seed() uint64 { return r.on.Seed }

// Needs returns the properties of the rows that the run's constraints name.
func (r Request) Needs() constraints.Needs { return r.on.Needs }

// request returns the request of the run.
func (o *Options) request(d *build.Devices, dtype tensor.Dtype) load.Request {
	on := request(d, dtype, o.Settings.Seed, o.needs(), o.BatchSize > 0)
	if m, ok := o.Model.(models.Scores); ok {
		on.Scores, on.ByGroup = m.Columns, m.Thresholds == models.ByGroup
	}
	if _, ok := o.Model.(models.OfPictures); ok {
		on.Integers = nil // convolutions read the rows, and no product
	}
	return on
}

// request returns the request of a run that trains a model and whose needs of the rows are needs.
func request(d *build.Devices, dtype tensor.Dtype, seed uint64, needs constraints.Needs, batches bool) load.Request {
	return load.Request{Seed: seed, Dtype: dtype, Needs: needs, Batches: batches, CPU: d.CPU, Integers: d.IntegerProducts, Pages: d.Pages,
		CheckMemory: d.Options.CheckRows(), Kept: d.Options.KeptRows(), Memory: d.Options.Memory, Share: d.TableShare()}
}

// Data are the rows of a run in the form of its device, as a Source of this package returns them.
type Data struct{ rows *load.Data }

// loadRows returns the rows of a source for the request.
func loadRows(ctx context.Context, s Source, on load.Request) (*load.Data, error) {
	d, err := s.Load(ctx, Request{on})
	switch {
	case err != nil:
		return nil, err
	case d == nil || d.rows == nil:
		return nil, fmt.Errorf("session: %w: the source %T returned no rows; return what the Load of Matrices, TablesAtHand, Pictures or ImagesAtHand returns", ErrOptions, s)
	}
	return d.rows, nil
}

// NewDataFile describes a file, or another part of the data, with the checksum of its content.
func NewDataFile(name string, content []byte) results.DataFile {
	sum := rundir.NewSum()
	sum.Write(content)
	return sum.File(name)
}

// dataDir returns the directory of a data set's files.
func dataDir(name, explicit string) (string, error) { return datasets.DirOf(name, explicit, os.Getenv) }

// Cached returns a source that reads the rows of s once and serves several sessions with the same
// Options.Device, such as the runs of a sweep. The source reads the rows again for a session with
// another seed, or with constraints that need other attributes, and with several processes, which
// read the rows of a table together. The source is not safe for concurrent use.
func Cached(s Source) Source { return &cachedSource{Source: s} }

// cachedSource keeps the rows of a source.
type cachedSource struct {
	Source
	kept *Data
	on   Request // the request for which the rows were read
}

// readFrom returns the source that reads the rows of s.
func readFrom(s Source) Source {
	if c, ok := s.(*cachedSource); ok {
		return c.Source
	}
	return s
}

// Load implements Source.
func (c *cachedSource) Load(ctx context.Context, on Request) (*Data, error) {
	if c.kept == nil || !c.on.same(on) || on.on.Share != nil {
		l, err := c.Source.Load(ctx, on)
		if err != nil {
			return nil, err
		}
		c.kept, c.on = l, Request{load.Request{Dtype: on.on.Dtype, Seed: on.on.Seed, Needs: on.on.Needs, Scores: on.on.Scores, ByGroup: on.on.ByGroup}}
	}
	own := *c.kept.rows
	own.Splits = make([]*load.Split, len(c.kept.rows.Splits))
	for k, s := range c.kept.rows.Splits {
		part := *s // without data that a session builds
		own.Splits[k] = &part
	}
	own.Description.Data = slices.Clone(c.kept.rows.Description.Data)
	return &Data{rows: &own}, nil
}

// same reports whether rows that were read for request r are also valid for the other Request.
func (r Request) same(other Request) bool {
	return r.on.Dtype == other.on.Dtype && r.on.Seed == other.on.Seed && reflect.DeepEqual(r.on.Needs, other.on.Needs) &&
		slices.Equal(r.on.Scores, other.on.Scores) && r.on.ByGroup == other.on.ByGroup
}
