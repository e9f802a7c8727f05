package session

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"ppal/internal/atomicfile"
	"ppal/internal/checkpoint"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/trainer"
)

// Extendable reports whether a finished run with the status can continue with longer limits.
func Extendable(status trainer.Status) bool {
	return status == trainer.IterationLimit || status == trainer.TimeLimit
}

// Extend is Resume for a finished run that a limit ended: the session has longer limits, and
// otherwise the options of the run. before is the run's limit of iterations. The run continues from
// the state at its end. Where the method and the records do not depend on the limits, the result
// has the bits of an uninterrupted run with the longer limits; otherwise a note says why it may
// differ. The error wraps ErrResume for a run without a checkpoint, too.
//
// Extend removes summary.json before it writes config.yaml with the new limits. After a crash,
// Resume therefore continues the run with the old or the new limits.
func (s *Session) Extend(dir string, before int) (notes []string, err error) {
	return s.resume(dir, &before)
}

// beginExtension makes the finished run one with the session's limits that was interrupted at the
// checkpoint c. before is the run's limit of iterations.
func (s *Session) beginExtension(c *checkpoint.Checkpoint, before int) error {
	f := s.files
	e := &rundir.Extended{Config: c.Config, Iterations: before}
	if f.extended != nil {
		e.Iterations, e.Notes = f.extended.Iterations, slices.Clip(f.extended.Notes)
	}
	if reason := s.limitsMatter(before); reason != "" {
		e.Notes = append(e.Notes, fmt.Sprintf("The run was extended after %d iterations: an uninterrupted run with the new limits may differ, because %s.",
			c.At.Iteration, reason))
	}
	if err := s.goOnFrom(e.Iterations); err != nil {
		return err
	}
	d := s.Describe()
	d.Extended = e
	config, err := s.configFile(d)
	if err != nil {
		return err
	}
	if err := atomicfile.Disk.Remove(f.dir.Summary()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session: %w", err)
	}
	if err := atomicfile.SyncFolder(f.dir.Summary()); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if err := rundir.WriteFile(f.dir.Config(), config); err != nil {
		return err
	}
	f.config, f.extended = seal.Sum(config), e
	return nil
}

// limited is a Pipeline that can say what depends on the limits of a run.
type limited interface {
	// limitsMatter says why a run that is extended from the limit of iterations may differ from an
	// uninterrupted run; "": it does not differ.
	limitsMatter(before int) string
	// goOnFrom makes the run one that began with the limit of iterations, or returns why it cannot.
	goOnFrom(first int) error
}

var _ limited = (*assembly)(nil)

// limitsMatter asks the pipeline.
func (s *Session) limitsMatter(before int) string {
	if s.options.TimeLimit > 0 {
		return "the time limit ends it after another number of iterations"
	}
	if p, ok := s.pipeline.(limited); ok {
		return p.limitsMatter(before)
	}
	return ""
}

// goOnFrom tells the pipeline.
func (s *Session) goOnFrom(first int) error {
	if p, ok := s.pipeline.(limited); ok {
		if err := p.goOnFrom(first); err != nil {
			return fmt.Errorf("session: %w %s: %w", ErrResume, s.files.dir, err)
		}
	}
	return nil
}

// limitsMatter implements limited.
func (a *assembly) limitsMatter(before int) string {
	set := a.options.Settings
	switch d := a.builder.statement.decided(); {
	case d != nil && d.on == OnDecisions:
		return "the rounds of bounds on decisions end at shares of the limit"
	case before < set.Iterations && len(a.finishes) > 0:
		return "the iterations before its limit use all rows"
	}
	set.RecordWork, set.LeastRecords = a.recordWork()
	shorter := set
	shorter.Iterations = before
	record, check := set.Intervals()
	recordBefore, checkBefore := shorter.Intervals()
	switch {
	case record != recordBefore:
		return "its records are at other iterations"
	case check != checkBefore:
		return "its checks are at other iterations"
	}
	return ""
}

// goOnFrom implements limited. A run on mini-batches goes on with all rows from the iteration on
// from which it used them: the state of the steps belongs to all rows.
func (a *assembly) goOnFrom(first int) error {
	switch {
	case len(a.finishes) == 0 || first == a.options.Settings.Iterations:
	case a.batches.lastIterations(first) == 0:
		return errors.New("the run was too short for iterations on all rows at its end: start a new run with --config and --init")
	default:
		a.finishOnAll(first)
	}
	return nil
}
