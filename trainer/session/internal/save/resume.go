package save

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"ppal/internal/disk"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/session/results"
)

// ErrResume marks a run that cannot continue. The text has the reason.
var ErrResume = errors.New("cannot resume")

// Reopen opens and locks the directory of a run that continues.
func Reopen(dir string, o Options) (*Directory, error) {
	d := &Directory{Path: rundir.Dir(dir), options: o}
	var err error
	if d.lock, err = disk.LockFolder(dir); err != nil {
		return nil, Join(err, d.Close())
	}
	return d, nil
}

// Continuing is a program that continues a run.
type Continuing struct {
	Version string
	Device  string                // in words
	Data    []results.DataFile    // the files that it has read
	Init    *results.DataFile     // the file of the initial weights; nil: none
	Note    func(notes ...string) // adds notes to the run
	// From makes the run continue as if it had begun with the limit first on iterations. The error
	// says why the run cannot. Resume calls From for an extended run.
	From func(first int) error
	// Extension extends a finished run by longer limits; nil: the run was interrupted.
	Extension *Extension
}

// Continued is the part of a run before it continues.
type Continued struct {
	Notes    []string        // where the run continues, and what differs
	Fresh    bool            // there is no checkpoint: the run begins at the first iteration
	Progress Progress        // before the checkpoint
	Last     *trainer.Record // the last record that the run keeps; nil: none
}

// Resume reads and checks the files of the run, removes the records after the checkpoint, and opens
// the files of the records. The error wraps ErrResume if the checkpoint is damaged or belongs to
// another version, to other settings or to other data, or comes from the file system.
func (d *Directory) Resume(now Continuing) (r Continued, err error) {
	before, sum, err := d.Path.ReadProvenance()
	if err != nil {
		return r, err
	}
	refuse := func(format string, args ...any) (Continued, error) {
		return Continued{}, fmt.Errorf("session: %w %s: "+format, slices.Concat([]any{ErrResume, d.Path}, args)...)
	}
	if name := changedData(before.Data, now.Data); name != "" {
		return refuse("%s is not the file that the run read: restore the file, or start a new run", name)
	}
	if !sameInit(before.Init, now.Init) {
		return refuse("%s is not the file of initial weights that the run read: restore the file, or start a new run", now.Init.Name)
	}
	c, err := rundir.ReadCheckpoint(string(d.Path))
	r.Fresh = errors.Is(err, rundir.ErrNoCheckpoint)
	switch {
	case r.Fresh && now.Extension != nil:
		return refuse("the run has no checkpoint at its end: start a new run with --config and --init")
	case r.Fresh && before.Version != now.Version:
		return refuse("the version %s of ppal wrote the run, and this is %s: use that version, or start a new run", before.Version, now.Version)
	case r.Fresh:
		c, err = &rundir.Checkpoint{Config: sum}, nil
		r.Notes = append(r.Notes, fmt.Sprintf("%s has no checkpoint: the run begins at the first iteration", d.Path))
	case errors.Is(err, rundir.ErrCheckpointVersion):
		return refuse("%w: use the version %s of ppal, which wrote the run, or start a new run with --config", err, before.Version)
	case errors.Is(err, rundir.ErrDamagedCheckpoint):
		return refuse("%w: start a new run with --config", err)
	case err != nil:
		return r, err
	case c.Program != now.Version:
		return refuse("the version %s of ppal wrote the checkpoint, and this is %s: use that version, or start a new run", c.Program, now.Version)
	case c.Config != sum && (before.Extended == nil || c.Config != before.Extended.Config):
		return refuse("config.yaml has changed since the checkpoint: restore the file, or start a new run with --config")
	default:
		note := fmt.Sprintf("the run continues after %d iterations", c.At.Iteration)
		if c.Damaged {
			note += ", from checkpoint.previous, because the last checkpoint is damaged or missing"
		}
		r.Notes = append(r.Notes, note)
		d.Resumed = c
	}
	d.config, d.extended = sum, before.Extended
	if withoutThreads(before.Device) != withoutThreads(now.Device) {
		other := fmt.Sprintf("The run began on %s and continued after %d iterations on %s: the result may differ by rounding errors.",
			before.Device, c.At.Iteration, now.Device)
		now.Note(other)
		r.Notes = append(r.Notes, other)
	}
	if d.metrics, err = d.Path.ResumeMetrics(c.Records.Bytes, c.Records.SHA256); err != nil {
		if errors.Is(err, rundir.ErrRecords) {
			return refuse("%w", err)
		}
		return r, err
	}
	if now.Extension != nil {
		if err := d.extend(c, now.Extension, now.From); err != nil {
			return r, err
		}
	} else if d.extended != nil {
		if err := d.continueFrom(now.From, d.extended.Iterations); err != nil {
			return r, err
		}
	}
	if d.extended != nil {
		now.Note(d.extended.Notes...)
	}
	if err := d.metrics.Cut(); err != nil {
		return r, err
	}
	r.Progress = Progress{Program: c.Program, Warnings: trainer.DecodeWarnings(c.Warnings), Spent: c.Spent}
	if r.Last, err = d.lastRecord(); err != nil {
		return r, err
	}
	return r, d.resumeEvents(r.Last)
}

// continueFrom calls from with the limit of iterations with which the run began.
func (d *Directory) continueFrom(from func(first int) error, first int) error {
	if err := from(first); err != nil {
		return fmt.Errorf("session: %w %s: %w", ErrResume, d.Path, err)
	}
	return nil
}

// threadsOf matches the number of threads in the description of a device. The number does not
// change results.
var threadsOf = regexp.MustCompile(`\b\d+ threads, `)

func withoutThreads(device string) string { return threadsOf.ReplaceAllString(device, "") }

// lastRecord returns the last record, for the summary of a run that fails before its next record;
// nil: there is none.
func (d *Directory) lastRecord() (*trainer.Record, error) {
	r, err := rundir.LastRecord(d.Path.Metrics())
	if err != nil || r == nil {
		return nil, err
	}
	r.Certificate = certify.Certificate{Stationarity: r.Stationarity, Infeasibility: r.Infeasibility, Complementarity: r.Complementarity,
		Epsilon: max(r.Stationarity, r.Infeasibility, r.Complementarity)}
	return r, nil
}

// changedData returns the name of the first data file that differs between two runs; "" if the data
// are equal.
func changedData(before, now []results.DataFile) string {
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(now):
			return before[i].Name
		case i >= len(before) || before[i].Name != now[i].Name || before[i].Bytes != now[i].Bytes || before[i].SHA256 != now[i].SHA256:
			return now[i].Name
		}
	}
	return ""
}

// sameInit reports whether two runs start from equal files of weights. A run of an earlier version
// of ppal has no checksum of the file: it counts as equal, and the version is refused.
func sameInit(before, now *results.DataFile) bool {
	return before == nil || now == nil || before.Bytes == now.Bytes && before.SHA256 == now.SHA256
}
