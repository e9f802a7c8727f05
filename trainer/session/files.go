package session

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"ppal/datasets"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session/internal/save"
	"ppal/trainer/session/results"
)

// Open creates the run's directory, or uses an empty directory, and writes config.yaml and
// preparation.yaml. Optimize then writes each record to metrics.jsonl immediately. An empty dir
// means runs/<time>-<task>-<method>. Without Open, Save writes all files at the end.
func (s *Session) Open(dir string) (err error) {
	if s.files != nil {
		return early("the directory %s is open already", s.files.Path)
	}
	if s.files, err = save.Create(dir, s.pipeline.Describe().Task, s.options.methodName(), s.fileOptions()); err != nil {
		return err
	}
	d := s.Describe()
	begin := save.Beginning{Preparation: d.preparation(), Parameters: d.Parameters, Checkpoints: s.options.CheckpointEvery > 0}
	if begin.Config, err = s.configFile(d); err == nil {
		err = s.files.Begin(begin)
	}
	if err != nil {
		return save.Join(err, s.discard())
	}
	return nil
}

// fileOptions returns the options of the run's directory.
func (s *Session) fileOptions() save.Options {
	return save.Options{TensorBoard: s.options.TensorBoard, Constraints: s.pipeline.Describe().Constraints, Clock: s.options.Files.Clock,
		Warn: func(text string) {
			if tell := s.options.Settings.Warn; tell != nil {
				tell(trainer.Warning{Code: WarnFiles, Text: text})
			}
		}}
}

// configFile returns the contents of config.yaml for the session with the description d.
func (s *Session) configFile(d Description) ([]byte, error) {
	d.Provenance.Schema, d.Provenance.Constraints = rundir.Schema, d.Bounded
	return s.options.configFile(d.Provenance)
}

// preparation returns the contents of preparation.yaml; nil: the run has no such file.
func (d Description) preparation() *results.Preparation {
	if d.Preparation == nil {
		return nil
	}
	return &results.Preparation{Features: d.FeatureNames, Preparation: *d.Preparation}
}

// RescueError reports that files of a finished training could not be written in the run's
// directory, and that the weights are elsewhere.
type RescueError struct {
	Err error  // the reason
	Dir string // the directory with the weights
}

// Error returns the message in a single line.
func (e *RescueError) Error() string { return fmt.Sprintf("%v; the weights are in %s", e.Err, e.Dir) }

// Unwrap returns the reason.
func (e *RescueError) Unwrap() error { return e.Err }

// Save writes the weights and, at the same time, details.json and the plots. Then Save writes
// report.html and the summary of a certified run. Without Files.Renderer, there are no plots and no
// report.html. If no directory is open, Save opens dir and writes the other files too. If a file
// cannot be written, Save still tries the others; the weights count for more than the plots. If the
// directory refuses the weights or the summary, Save writes both into the user's cache and returns
// a *RescueError. Save then returns all errors, Summary has the summary, and the lock of the
// directory is released.
func (s *Session) Save(dir string) error {
	if s.result == nil {
		return early("nothing has been certified; call Train, or Optimize and Certify")
	}
	if err := s.openToSave(dir); err != nil {
		return err
	}
	d := s.Describe()
	s.drawCurves(d)
	finish := &save.Finish{
		Model: s.savedModel(d, s.training), Details: s.details(d), Page: s.report,
		Summary: func(saving time.Duration) *results.Summary {
			s.saving = saving
			s.spent += saving
			s.summary = s.summarise()
			return &s.summary
		},
		Config:    func() ([]byte, error) { return s.configFile(s.Describe()) },
		Continues: s.lost != nil || s.training.Status == trainer.Interrupted,
	}
	finish.Rates = func() error {
		return s.options.Files.Renderer.Rates(string(s.files.Path), s.plotTitle(d), s.rateTables(), finish.Details.ROC)
	}
	rescued, err := s.files.Save(finish)
	if rescued != "" {
		err = &RescueError{err, rescued}
	}
	return save.Join(s.lost, err)
}

// openToSave opens the directory and writes the records, unless a directory is already open.
func (s *Session) openToSave(dir string) error {
	if s.files != nil {
		if dir != "" && dir != string(s.files.Path) {
			return early("the run's directory is %s already, not %s", s.files.Path, dir)
		}
		return nil
	}
	if err := s.Open(dir); err != nil {
		return err
	}
	for i := range s.records {
		if err := s.files.Record(&s.records[i]); err != nil {
			return err
		}
	}
	return s.files.CloseRecords()
}

// savedModel returns the contents of the files of the model for the session with the description d
// and the training r.
func (s *Session) savedModel(d Description, r *trainer.Result) save.Model {
	m := save.Model{Training: r, Output: s.pipeline.SaveModel, Preparation: d.preparation(), Members: d.Members}
	if s.own != nil {
		m.Weights = s.own.saveWeights
	}
	if d.Model.Kind != "" && s.result != nil {
		m.Description = d.modelFile(s.result.Outcome)
	}
	return m
}

// Dir returns the run's directory; "" if no directory is open.
func (s *Session) Dir() string {
	if s.files == nil {
		return ""
	}
	return string(s.files.Path)
}

// drawCurves begins to write the plots of the records, unless an earlier call began, for the run
// with the description d.
func (s *Session) drawCurves(d Description) {
	renderer, dir := s.options.Files.Renderer, s.files.Path
	if renderer == nil {
		return
	}
	legend := results.Legend{Title: s.plotTitle(d), Objective: d.Objective, Constraints: d.Constraints, Bounded: d.Bounded, Bounds: d.Bounds}
	s.files.BeginCurves(func() error { return renderer.Curves(string(dir), legend) })
}

// plotTitle returns the title of the plots.
func (s *Session) plotTitle(d Description) string {
	file := ""
	if set, err := datasets.Lookup(d.Dataset); err == nil && set.Own && len(d.Data) > 0 {
		file = d.Data[0].Name
	}
	return s.options.methodName() + " on " + results.DataName(d.Dataset, file)
}

// details returns the contents of details.json for the session with the description d.
func (s *Session) details(d Description) rundir.Details {
	details := rundir.Details{Objective: d.Objective, Constraints: d.Constraints, Examples: s.result.Examples}
	for _, split := range s.result.Splits {
		if split.ROC == nil {
			continue
		}
		if details.ROC == nil {
			details.ROC = map[results.Split][][2]float64{}
		}
		for _, p := range split.ROC {
			details.ROC[split.Name] = append(details.ROC[split.Name], [2]float64{p.FPR, p.TPR})
		}
	}
	return details
}

// report writes report.html, unless there is no renderer or err says why details.json is missing. A
// failure is a warning of the summary, because both files only show what other files hold.
func (s *Session) report(sum *results.Summary, err error) {
	if r := s.options.Files.Renderer; r != nil && err == nil {
		err = r.Page(s.Dir(), sum)
	}
	if err != nil {
		sum.Warnings = append(sum.Warnings, fmt.Sprintf("report.html was not written: %v (`ppal report %s` writes the page again)", err, option.ShellWord(s.Dir())))
	}
}

// fail writes a summary of the last record of a failed run, and returns the failure. If the run
// has no record, fail removes the directory, because the next run can then use the same name.
func (s *Session) fail(r *trainer.Result, failure error) error {
	if s.files == nil {
		return failure
	}
	err := s.files.Close()
	if r == nil || s.last == nil {
		if s.files.Resumed != nil {
			return save.Join(failure, err)
		}
		return save.Join(failure, save.Join(err, s.discard()))
	}
	sum := s.commonSummary(r)
	sum.Status, sum.Error, sum.OutputIteration = string(trainer.Failed), failure.Error(), s.last.Iteration
	sum.Objective, sum.Constraints, sum.MaxViolation = s.last.Objective, s.last.Constraints, s.last.MaxViolation
	sum.Certificate = results.NewCertificate(s.last.Certificate)
	m := s.savedModel(s.Describe(), r)
	return save.Join(failure, save.Join(err, s.files.SaveFailed(&m, &sum)))
}

// discard removes the files of the open directory.
func (s *Session) discard() error {
	err := s.files.Discard()
	s.files = nil
	return err
}

// methodName returns the name of the method in the run's files.
func (o Options) methodName() string {
	if _, ok := o.Model.(models.Scores); ok {
		return "thresholds"
	}
	if o.Method == nil {
		return "own"
	}
	return o.Method.Name()
}

// buildVersion returns the version of the program's module.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

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
// disk.ErrHeld if another process runs in the directory, or comes from the file system.
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
