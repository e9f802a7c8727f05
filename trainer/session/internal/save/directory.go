// Package save writes and reads the files of a run's directory: the records while the run trains,
// its checkpoints, and at the end the model, the plots and the summary. It continues a run from
// these files.
package save

import (
	"cmp"
	"fmt"
	"time"

	"ppal/internal/disk"
	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// Directory is the directory of a run while the run is open.
type Directory struct {
	Path rundir.Dir
	// Resumed is the checkpoint from which the run continues; nil: from the start.
	Resumed *rundir.Checkpoint

	options  Options
	metrics  *rundir.Metrics // nil after CloseRecords
	events   *EventRecorder  // nil without TensorBoard, and after CloseRecords
	lock     *disk.Lock
	config   string                 // SHA-256 of config.yaml
	rows     func() (string, error) // waits for rows.csv and returns its name; nil: not begun
	curves   func() error           // waits for the plots of the records; nil: not begun
	keeper   *keeper                // nil without checkpoints
	extended *results.Extended      // the last extension of the run; nil: none
}

// Options say how a run's directory is written.
type Options struct {
	TensorBoard bool             // write an event file for TensorBoard, too
	Constraints []string         // the names of g_1..g_m, for TensorBoard
	Clock       func() time.Time // for the directory's default name and for TensorBoard
	Warn        func(text string)
}

// Create makes the directory, or takes an empty one, and locks it. An empty dir means
// runs/<time>-<task>-<method>.
func Create(dir, task, method string, o Options) (*Directory, error) {
	made, err := rundir.Create(dir, o.Clock(), task, method)
	if err != nil {
		return nil, err
	}
	d := &Directory{Path: made, options: o}
	if d.lock, err = disk.LockFolder(string(made)); err != nil {
		return nil, Join(err, d.Discard())
	}
	return d, nil
}

// Beginning holds the contents of the files that a run has before the training.
type Beginning struct {
	Config      []byte
	Preparation *results.Preparation // nil: none
	Parameters  int                  // of the model
	Checkpoints bool                 // the run writes checkpoints
}

// The sizes of a run's files: its plots and small files, and its vectors of weights. The vectors
// are the two models and, with checkpoints, the state of the largest methods in two checkpoints.
const (
	spaceOfFiles      = 1 << 20
	bytesOfWeight     = 8
	checkpointVectors = 2 * 8
)

// space estimates the space for the files of a run in bytes.
func (b *Beginning) space() int64 {
	vectors := int64(2) // the output and the best feasible record
	if b.Checkpoints {
		vectors += checkpointVectors
	}
	return spaceOfFiles + vectors*bytesOfWeight*int64(b.Parameters)
}

// Begin writes the files that a run has before the training, and creates the files of the records.
func (d *Directory) Begin(b Beginning) error {
	if err := d.Path.CheckSpace(b.space()); err != nil {
		return err
	}
	// both files are synced at the same time
	preparation := relay.Go(func() error {
		if b.Preparation == nil {
			return nil
		}
		return d.Path.WritePreparation(*b.Preparation)
	})
	err := rundir.WriteFile(d.Path.Config(), b.Config)
	if failure := preparation(); err != nil || failure != nil {
		return cmp.Or(err, failure)
	}
	d.config = disk.Sum(b.Config)
	if d.metrics, err = d.Path.CreateMetrics(); err != nil {
		return err
	}
	return d.openEvents(b.Config, 0)
}

// Record writes a record.
func (d *Directory) Record(r *trainer.Record) error {
	if err := d.metrics.Record(r); err != nil {
		return err
	}
	d.recordEvent(r)
	return nil
}

// CloseRecords closes the files of the records if they are open.
func (d *Directory) CloseRecords() error {
	if d == nil || d.metrics == nil {
		return nil
	}
	err := d.metrics.Close()
	d.metrics = nil
	if d.events != nil {
		err = Join(err, d.events.Close())
		d.events = nil
	}
	return err
}

// Close waits for what is being written, closes the records and releases the lock. A second call
// does nothing, nor does a call on nil.
func (d *Directory) Close() error {
	if d == nil {
		return nil
	}
	if d.curves != nil {
		_ = d.curves() // Save returns the error
	}
	if d.rows != nil {
		_, _ = d.rows() // Save returns the error
	}
	return Join(d.CloseRecords(), d.lock.Release())
}

// Discard removes the files of the run, and closes the directory.
func (d *Directory) Discard() error {
	if d.events != nil {
		_ = d.events.Remove()
		d.events = nil
	}
	return Join(d.Close(), d.Path.Discard())
}

// BeginRows begins to write rows.csv, which depends on no result.
func (d *Directory) BeginRows(members []results.Members) {
	d.rows = relay.Start(func() (string, error) { return d.Path.WriteRows(members) })
}

// BeginCurves begins to draw the plots of the records, unless an earlier call began.
func (d *Directory) BeginCurves(draw func() error) {
	if d.curves == nil {
		d.curves = relay.Go(draw)
	}
}

// Join joins a failure and a later error into a single line; either error may be nil.
func Join(failure, err error) error {
	if failure == nil || err == nil {
		return cmp.Or(failure, err)
	}
	return fmt.Errorf("%w (and %w)", failure, err)
}
