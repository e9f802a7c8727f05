package session

import (
	"errors"
	"slices"

	"ppal/trainer"
	"ppal/trainer/session/internal/save"
	"ppal/trainer/session/results"
)

// ErrResume marks a run that Resume refuses. The text has the reason.
var ErrResume = save.ErrResume

// Extendable reports whether a finished run with the status can continue with longer limits.
func Extendable(status trainer.Status) bool { return save.Extendable(status) }

// Resume opens the directory of a run that was interrupted or killed. A session calls Resume
// instead of Open. Optimize then continues from the checkpoint to the same bits as a run without an
// interruption. Without a checkpoint, Optimize begins at the first iteration. Resume removes the
// records after the checkpoint. The session must have the options of the run. Another number
// of threads gives the same bits. With another device or other kernels, the result differs by
// rounding errors.
//
// The notes say where the run continues, and what differs. The error wraps ErrResume if the
// checkpoint is damaged or belongs to another version, to other settings or to other data,
// dirlock.ErrHeld if another process runs in the directory, or comes from the file system.
func (s *Session) Resume(dir string) (notes []string, err error) { return s.resume(dir, nil) }

// Extend is Resume for a finished run that a limit ended: the session has longer limits, and
// otherwise the options of the run. before is the run's limit of iterations. The run continues from
// the state at its end. Where the method and the records do not depend on the limits, the result
// has the bits of an uninterrupted run with the longer limits; otherwise a note says why it may
// differ. The error wraps ErrResume for a run without a checkpoint, too.
//
// Extend removes summary.json before it writes config.yaml with the new limits. After a crash,
// Resume therefore continues the run with the old or the new limits.
func (s *Session) Extend(dir string, before int) (notes []string, err error) {
	return s.resume(dir, &save.Extension{Before: before, Differs: s.limitsMatter(before), Config: func(e *results.Extended) ([]byte, error) {
		d := s.Describe()
		d.Extended = e
		return s.configFile(d)
	}})
}

// resume is Resume, or Extend with an extension.
func (s *Session) resume(dir string, extension *save.Extension) (notes []string, err error) {
	if s.files != nil {
		return nil, early("the directory %s is open already", s.files.Path)
	}
	if s.files, err = save.Reopen(dir, s.fileOptions()); err != nil {
		return nil, err
	}
	from := func(int) error { return nil }
	if s.own != nil {
		from = s.own.continueFrom
	}
	now := s.Describe()
	before, err := s.files.Resume(save.Continuing{
		Version: now.Version, Device: now.Device, Data: now.Data, Init: now.Init, From: from, Extension: extension,
		Note: func(notes ...string) { s.options.Files.Notes = append(slices.Clip(s.options.Files.Notes), notes...) },
	})
	if err != nil {
		err = save.Join(err, s.files.Close())
		s.files = nil
		return nil, err
	}
	if !before.Fresh {
		s.warnings, s.spent = before.Progress.Warnings, s.spent+before.Progress.Spent
	}
	s.last = before.Last
	return before.Notes, nil
}

// Resumable reports whether the run's directory has a checkpoint from which Resume continues the
// run.
func (s *Session) Resumable() bool { return s.files.Resumable() }

// limitsMatter says why a run that is extended from the limit of iterations may differ from an
// uninterrupted run; "": it does not differ.
func (s *Session) limitsMatter(before int) string {
	switch {
	case s.options.TimeLimit > 0:
		return "the time limit ends it after another number of iterations"
	case s.own == nil:
		return ""
	}
	return s.own.limitsMatter(before)
}

// limitsMatter is Session.limitsMatter without a time limit.
func (a *assembly) limitsMatter(before int) string {
	set := a.options.Settings
	switch {
	case a.onDecisions():
		return "the rounds of bounds on decisions end at shares of the limit"
	case before < set.Iterations && len(a.finishes) > 0:
		return "the iterations before its limit use all rows"
	}
	a.setWork(&set)
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

// continueFrom makes the run continue as if it had begun with the limit first, or returns why it
// cannot. A run on mini-batches goes on with all rows from the iteration on from which it used
// them: the state of the steps belongs to all rows.
func (a *assembly) continueFrom(first int) error {
	switch {
	case len(a.finishes) == 0 || first == a.options.Settings.Iterations:
	case a.batches.LastIterations(first) == 0:
		return errors.New("the run was too short for iterations on all rows at its end: start a new run with --config and --init")
	default:
		a.finishOnAll(first)
	}
	return nil
}
