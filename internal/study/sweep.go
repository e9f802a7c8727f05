package study

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ppal/constraints"
	"ppal/internal/chart"
	"ppal/internal/decide"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
)

// Sweep trains a model for bounds of one constraint, from the loosest to the tightest, and collects
// the trade-off curve: each run starts from the weights and multipliers of the run before. The data
// are read once.
type Sweep struct {
	Title string // title of the picture
	// Over is the constraint whose bound varies.
	Over constraints.Constraint
	// Values are the bounds, in any order.
	Values []float64
	// Options returns the options of the run with the given bound. Its Task is a session.Decisions
	// without Over. Do calls Options for each run, because each run needs a separate Method and
	// states its own bound in config.yaml.
	Options func(bound float64) (session.Options, error)
	// Settings is the content of sweep.yaml. It identifies the problem: Do refuses a directory with
	// other contents.
	Settings []byte
	// Origin is the last part of sweep.yaml: the version of the program and the checksums of the
	// data. A sweep with points continues only with the same origin.
	Origin []byte
	// Open opens a run.
	Open func(ctx context.Context, o session.Options) (*session.Session, error)
	// Progress, if not nil, is called after each run with the numbers of finished and of all runs.
	Progress func(done, total int, p *SweepPoint)
}

// SweepDir names the files of a sweep's directory. Each run has its own directory in it.
type SweepDir string

// Settings returns the path of the description of the sweep.
func (d SweepDir) Settings() string { return filepath.Join(string(d), "sweep.yaml") }

// points returns the path of the points, one JSON object for each line.
func (d SweepDir) points() string { return filepath.Join(string(d), "sweep.jsonl") }

// Plots returns the folder of the picture.
func (d SweepDir) Plots() string { return filepath.Join(string(d), "plots") }

// run returns the directory of run k, for the given bound.
func (d SweepDir) run(k int, bound float64) string {
	return filepath.Join(string(d), fmt.Sprintf("%02d-bound-%g", k+1, bound))
}

// state returns the path of the state after run k.
func (d SweepDir) state(k int) string {
	return filepath.Join(string(d), fmt.Sprintf("state-%02d", k+1))
}

// Do runs the sweep in the directory dir. The directory is new, or holds an earlier, interrupted
// run of the same sweep, which Do continues with the same result as without the interruption. If
// ctx is cancelled, Do returns the context's error and keeps the finished points. Do locks the
// directory: errors wrap disk.ErrHeld if another process is at work in dir, and ErrSweep if the
// directory holds another sweep. A sweep that fails before its first run frees the directory.
func (s *Sweep) Do(ctx context.Context, dir SweepDir) (points []SweepPoint, err error) {
	err = Locked(string(dir), func() error {
		points, err = s.do(ctx, dir)
		return err
	})
	return points, err
}

// do runs the sweep in the directory dir, which is locked.
func (s *Sweep) do(ctx context.Context, dir SweepDir) ([]SweepPoint, error) {
	description := description{File: filepath.Base(dir.Settings()), Content: slices.Concat(s.Settings, s.Origin), Refused: ErrSweep,
		Continues: func(other []byte) error { return s.continues(dir, other) }}
	if err := description.claim(string(dir)); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	journal, err := OpenJournal(dir.points(), SweepPoint.key)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	journal.Plain = true
	r := &sweeper{sweep: s, dir: dir, values: loosestFirst(s.Over, s.Values)}
	if n := len(journal.Records()); n > len(r.values) {
		return nil, fmt.Errorf("sweep: %s: %w: %d points for %d values", dir.points(), ErrSweep, n, len(r.values))
	}
	var jobs []Job[SweepPoint]
	for k, bound := range r.values {
		name := filepath.Base(dir.run(k, bound))
		jobs = append(jobs, Job[SweepPoint]{Key: name, Name: name, Do: func(ctx context.Context, _ int) (SweepPoint, error) { return r.run(ctx, k) }})
	}
	runs := Study[SweepPoint]{Store: journal, Total: len(jobs)}
	if _, err := runs.Run(ctx, jobs); err != nil {
		return journal.Records(), errors.Join(err, description.release(string(dir)))
	}
	r.forget(len(jobs) - 1)
	return journal.Records(), s.draw(dir, journal.Records())
}

// continues returns an error unless the sweep can go on in a directory with the settings other: the
// same sweep, without points, by another version of the program or with other data.
func (s *Sweep) continues(dir SweepDir, other []byte) error {
	if !bytes.HasPrefix(other, s.Settings) {
		return fmt.Errorf("%w: %s holds another sweep (see %s): give --out a new directory, or repeat the settings of that sweep to continue it",
			ErrSweep, dir, dir.Settings())
	}
	points, err := readSweepPoints(dir.points())
	if err == nil && len(points) > 0 {
		err = fmt.Errorf("%w: another version of ppal, or other data, made the points in %s (see the end of %s): give --out a new directory",
			ErrSweep, dir, dir.Settings())
	}
	return err
}

// sweeper executes the runs of a sweep.
type sweeper struct {
	sweep  *Sweep
	dir    SweepDir
	values []float64
	state  *trainer.State // state from which the next run starts; nil: initial weights
	rows   session.Source // the data, read once
}

// run trains with bound k and returns the point.
func (r *sweeper) run(ctx context.Context, k int) (p SweepPoint, err error) {
	if r.state == nil && k > 0 { // an earlier, interrupted call has made the point before
		if r.state, err = readSweepState(r.dir.state(k - 1)); err != nil {
			return p, err
		}
	}
	r.forget(k - 1)
	o, err := r.options(r.values[k])
	if err != nil {
		return p, err
	}
	s, err := r.sweep.Open(ctx, o)
	if err != nil {
		return p, err
	}
	p, err = r.train(ctx, s, k)
	if err = cmp.Or(err, s.Close()); err == nil && r.sweep.Progress != nil {
		r.sweep.Progress(k+1, len(r.values), &p)
	}
	return p, err
}

// forget removes the state before that of run k, when the point of run k is on the disk: the next
// run needs only the last state.
func (r *sweeper) forget(k int) {
	if k > 0 {
		_ = os.Remove(r.dir.state(k - 1))
	}
}

// options returns the options of the run with the given bound. The run starts from the state of the
// previous run.
func (r *sweeper) options(bound float64) (session.Options, error) {
	o, err := r.sweep.Options(bound)
	if err != nil {
		return o, err
	}
	task, ok := o.Task.(session.Decisions)
	if !ok {
		return o, fmt.Errorf("sweep: %w: the task %T has no constraints in words", ErrSweep, o.Task)
	}
	task.SubjectTo = append(append([]constraints.Constraint{}, task.SubjectTo...), r.sweep.Over.WithBound(bound))
	o.Task = task
	if r.rows == nil {
		r.rows = session.Cached(o.Data)
	}
	o.Data = r.rows
	if r.state != nil {
		o.Settings.Resume = decide.Warm(r.state)
		// ppal verifies the run, and trains it alone, without the state
		o.Files.Settings = append(slices.Clip(o.Files.Settings), session.Setting{Name: rundir.ProgramKey, Value: ""})
	}
	return o, nil
}

// train trains, and saves the run and the state from which the next run starts.
func (r *sweeper) train(ctx context.Context, s *session.Session, k int) (SweepPoint, error) {
	result, err := s.Train(ctx)
	switch {
	case err != nil:
		return SweepPoint{}, err
	case result.Training.Status == trainer.Interrupted:
		return SweepPoint{}, context.Cause(ctx)
	}
	name := r.dir.run(k, r.values[k])
	if err := os.RemoveAll(name); err != nil { // removes the rest of an interrupted run
		return SweepPoint{}, fmt.Errorf("sweep: %w", err)
	}
	if err := s.Save(name); err != nil {
		return SweepPoint{}, err
	}
	r.state = cmp.Or(result.Training.State, &trainer.State{}) // thresholds on given scores have no state
	if err := writeSweepState(r.dir.state(k), r.state); err != nil {
		return SweepPoint{}, err
	}
	return newSweepPoint(r.values[k], filepath.Base(name), s, result), nil
}

// pictureFile is the file name of the picture of the points.
const pictureFile = "trade-off.svg"

// draw writes the picture of the points.
func (s *Sweep) draw(dir SweepDir, points []SweepPoint) error {
	c := tradeOff(s.Over.Measure().String(), points[0].Objective.Name, points)
	if c == nil {
		return nil
	}
	p := &chart.Picture{Head: s.Title, Charts: []*chart.Chart{c}}
	return p.Write(filepath.Join(dir.Plots(), pictureFile))
}
