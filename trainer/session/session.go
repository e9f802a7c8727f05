package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/save"
	"ppal/trainer/session/results"
)

// Pipeline trains, certifies and saves a model for a Session. New assembles a pipeline from
// Options. A program with its own problem.Problem implements Pipeline and passes it to Run.
type Pipeline interface {
	// Describe describes the run.
	Describe() Description
	// Problem returns the problem that is trained, on all rows or on samples.
	Problem() problem.Problem
	// Explain returns the device's table of the steps of an iteration.
	Explain() string
	// Optimize runs the method.
	Optimize(ctx context.Context, s trainer.Settings) (*trainer.Result, error)
	// Certify computes the certificate and the measures of Optimize's result.
	Certify(r *trainer.Result) (*Result, error)
	// SaveModel writes the weights of the output as a safetensors file.
	SaveModel(path string) error
	// Close releases the device.
	Close() error
}

var _ Pipeline = (*assembly)(nil)

// Session is a single run, from its data to its files. A session is not safe for concurrent use.
type Session struct {
	options  Options
	pipeline Pipeline
	own      *assembly        // the pipeline that New built; nil: the caller's
	files    *save.Directory  // the run's directory; nil while it is not open
	records  []trainer.Record // records from the time without an open directory
	last     *trainer.Record  // the last record; nil before the first
	warnings trainer.Warnings
	lost     error           // why a record could not be written; such a run ends early
	stop     func()          // ends the training early
	training *trainer.Result // nil before Optimize
	result   *Result         // nil before Certify
	summary  results.Summary // the zero value before Save
	reading  time.Duration   // wall time of New
	spent    time.Duration   // wall time of New, Optimize, Certify and Save
	saving   time.Duration   // wall time of Save
}

// New loads the data, initialises the model and builds the problem. If ctx is cancelled, New
// returns the context's error after the step that is running. The caller closes the session.
func New(ctx context.Context, o Options) (*Session, error) {
	began := time.Now()
	a, err := o.prepare(ctx, nil)
	if err != nil {
		return nil, err
	}
	s := run(a, a.options)
	s.reading = time.Since(began)
	s.spent = s.reading
	return s, nil
}

// prepare builds the run, in all processes that share it, unless err says why it cannot be built.
func (o Options) prepare(ctx context.Context, err error) (a *assembly, _ error) {
	if o.Device.severalProcesses() {
		return o.prepareShared(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	a, err = assemble(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := a.setScales(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Run returns a session on the caller's pipeline. Run uses only the options Method, Settings and
// Files.
func Run(p Pipeline, o Options) *Session { return run(p, o.withProgram()) }

func run(p Pipeline, o Options) *Session {
	s := &Session{options: o, pipeline: p}
	s.own, _ = p.(*assembly)
	for _, text := range p.Describe().Warnings {
		s.warnings = append(s.warnings, trainer.Warning{Text: text})
	}
	return s
}

// Describe describes the run.
func (s *Session) Describe() Description {
	d := s.pipeline.Describe()
	d.Version = s.options.Files.Version
	d.Notes = concat(s.options.Files.Notes, d.Notes)
	if s.files != nil {
		d.Out = string(s.files.Path)
	}
	return d
}

// Problem returns the problem that is trained, on all rows or on samples.
func (s *Session) Problem() problem.Problem { return s.pipeline.Problem() }

// Method returns the method.
func (s *Session) Method() trainer.Method { return s.options.Method }

// Iterations returns the largest number of iterations.
func (s *Session) Iterations() int { return s.options.Settings.Iterations }

// Explain returns the device's table of the steps of an iteration.
func (s *Session) Explain() string { return s.pipeline.Explain() }

// Warnings returns the warnings so far.
func (s *Session) Warnings() []string { return s.warnings.Texts() }

// warn adds a warning to the run, and passes it to Settings.Warn.
func (s *Session) warn(w trainer.Warning) {
	s.warnings = append(s.warnings, w)
	if tell := s.options.Settings.Warn; tell != nil {
		tell(w)
	}
}

// Train calls Optimize and Certify. If ctx is cancelled, the training ends early with the status
// trainer.Interrupted, and Train returns no error.
func (s *Session) Train(ctx context.Context) (*Result, error) {
	if _, err := s.Optimize(ctx); err != nil {
		return nil, err
	}
	return s.Certify()
}

// leastTraining: the training has at least 1/leastTraining of the time after the reading.
const leastTraining = 4

// beforeCertificate returns the time of the training: what the certificate leaves of a time limit
// after the reading.
func beforeCertificate(left, certifying time.Duration) time.Duration {
	return max(left-certifying, left/leastTraining)
}

// Optimize runs the method. A session can call Optimize once. Each record goes to the open
// directory and to the recorder of the settings. If the directory refuses a record, the training
// ends as if ctx were cancelled, and Save returns the error. After another error, Optimize writes a
// summary of the last record to the open directory; without a record, Optimize removes the
// directory.
func (s *Session) Optimize(ctx context.Context) (*trainer.Result, error) {
	if s.training != nil {
		return nil, early("the session has been trained already")
	}
	set := s.options.Settings
	recorders := trainer.Recorders{(*history)(s)}
	if set.Recorder != nil {
		recorders = append(recorders, set.Recorder)
	}
	set.Recorder = recorders
	known := s.Warnings()
	set.Warn = func(warning trainer.Warning) {
		if s.files != nil && s.files.Resumed != nil && slices.Contains(known, warning.Text) {
			return // the part of the run before the checkpoint warned
		}
		s.warn(warning)
	}
	began := time.Now()
	if limit := s.options.TimeLimit; limit > 0 {
		if limit <= s.spent {
			set.Warn(trainer.Warning{Code: WarnTimeLimit, Text: fmt.Sprintf("the time limit of %v ended before the first iteration: reading the data "+
				"and building the problem took %.1f s; use a longer --time-limit", limit, s.spent.Seconds())})
		}
		left := limit - s.spent
		if s.own != nil && left > 0 {
			certifying, err := s.own.certifyTime()
			if err != nil {
				return nil, s.fail(nil, err)
			}
			left = beforeCertificate(left, certifying)
		}
		set.Deadline = began.Add(left)
	}
	if every := s.options.CheckpointEvery; s.files != nil && every > 0 {
		set.Checkpointer = s.files.Keep(every, func() save.Progress {
			return save.Progress{Program: s.options.Files.Version, Warnings: s.warnings, Spent: s.spent + time.Since(began)}
		})
	}
	if s.files != nil && s.files.Resumed != nil {
		set.Resume, set.ResumeAt = s.files.Resumed.State, s.files.Resumed.At
	}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	r, err := s.pipeline.Optimize(ctx, set)
	s.spent += time.Since(began)
	if err == nil {
		if failure := s.files.CloseRecords(); failure != nil {
			s.lost = save.Join(s.lost, failure)
		}
	}
	if err != nil {
		return r, s.fail(r, s.nameConstraint(err))
	}
	s.training = r
	return r, nil
}

// Certify computes the certificate and the measures of the output in float64. At the same time it
// writes the plots of the records and rows.csv into the open directory; Save returns their errors.
func (s *Session) Certify() (*Result, error) {
	if s.training == nil {
		return nil, early("nothing has been trained; call Optimize first")
	}
	began := time.Now()
	defer func() { s.spent += time.Since(began) }()
	if s.files != nil {
		d := s.Describe()
		if d.Model.Kind != "" && d.Members != nil {
			s.files.BeginRows(d.Members)
		}
		s.drawCurves(d)
	}
	r, err := s.pipeline.Certify(s.training)
	if err != nil {
		return nil, err
	}
	if s.own != nil {
		if err := s.own.checkRows(); err != nil {
			again := "train again"
			if dir := s.Dir(); dir != "" {
				again += " (ppal train --config " + option.ShellWord(rundir.Dir(dir).Config()) + ")"
			}
			return nil, fmt.Errorf("session: %w; the results are not those of the data: delete the file and %s", err, again)
		}
	}
	if o := r.Outcome; o != nil {
		c := s.circumstances(o)
		r.Overfitting = c.Overfitting(&o.Objective)
		if known := s.training.Warnings; !known.Has(trainer.WarnCollapsed) && !known.Has(WarnFewPositive) {
			c.Constant = true
			for _, w := range c.GivenUp(o, r.Splits[0].Rates) {
				s.training.Warnings = append(s.training.Warnings, w)
				s.warn(w)
			}
		}
	}
	s.result = r
	return r, nil
}

// checkRows returns an error if rows in kept files have changed since they were read: another
// program may have written there. Each process compares its own.
func (a *assembly) checkRows() error {
	if err := a.check(nil); err != nil {
		return err
	}
	return a.changed
}

// checkOwn compares this process's kept rows. All processes agree on the result.
func (a *assembly) checkOwn([]byte) error {
	a.changed = a.devices.Pages.Check()
	if t := a.devices.Team; t != nil {
		own := a.changed
		if all, first := t.Agree(own); own == nil && all != nil {
			a.changed = errQuiet{fmt.Errorf("%w: the rows that it keeps have changed", all)}
		} else if own != nil && !first {
			a.changed = errQuiet{own}
		}
	}
	return nil
}

// Close releases the device and the lock of the run's directory. The session cannot train or
// certify afterwards.
func (s *Session) Close() error {
	var method error
	if c, ok := trainer.Unwrap(s.options.Method).(io.Closer); ok {
		method = c.Close()
	}
	return save.Join(s.files.Close(), save.Join(method, s.pipeline.Close()))
}

// history makes the session a recorder.
type history Session

var _ trainer.Recorder = (*history)(nil)

// Record writes the record to the open directory. If no directory is open, Record keeps a copy.
func (h *history) Record(r *trainer.Record) error {
	own := *r
	own.Constraints, own.Multipliers = slices.Clone(r.Constraints), slices.Clone(r.Multipliers)
	own.Auxiliary, own.Slack = slices.Clone(r.Auxiliary), slices.Clone(r.Slack)
	if h.files != nil {
		if err := h.write(r); err != nil {
			return err
		}
	} else {
		h.records = append(h.records, own)
	}
	h.last = &own
	return nil
}

// write writes a record to the open directory. If the file system refuses a record after the first,
// the training ends, but its weights are not lost.
func (h *history) write(r *trainer.Record) error {
	if h.lost != nil {
		return nil
	}
	err := h.files.Record(r)
	if err == nil || h.last == nil || errors.As(err, new(*problem.NonFiniteError)) {
		return err
	}
	h.lost = err
	h.stop()
	return nil
}

// nameConstraint replaces the number of a constraint in an error with the constraint's name.
func (s *Session) nameConstraint(err error) error {
	var bad *problem.NonFiniteError
	if !errors.As(err, &bad) || bad.Constraint == 0 {
		return err
	}
	names := s.pipeline.Describe().Constraints
	if bad.Constraint > len(names) {
		return err
	}
	named := *bad
	named.Term = fmt.Sprintf("constraint %q", names[bad.Constraint-1])
	return &named
}
