package session

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"ppal/internal/checkpoint"
	"ppal/internal/dirlock"
	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/internal/tensorboard"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// files holds a run's directory during the run.
type files struct {
	dir     rundir.Dir
	metrics *rundir.Metrics // nil after closeMetrics
	// events writes the records for TensorBoard; nil without TensorBoard, and after closeMetrics
	events  *tensorboard.Recorder
	lock    *dirlock.Lock
	config  string                 // SHA-256 of config.yaml
	rows    func() (string, error) // waits for rows.csv and returns its name; nil: not begun
	keeper  *keeper                // nil before Optimize, and without checkpoints
	resumed *checkpoint.Checkpoint // the checkpoint from which the run continues; nil: from the start
	// extended describes the last extension of the run; nil: none
	extended *rundir.Extended
}

// close closes the records and releases the lock. A second call does nothing.
func (f *files) close() error {
	if f == nil {
		return nil
	}
	if f.rows != nil {
		_, _ = f.rows() // Save returns the error
	}
	return with(f.closeMetrics(), f.lock.Release())
}

// Open creates the run's directory, or uses an empty directory, and writes config.yaml and
// preparation.yaml. Optimize then writes each record to metrics.jsonl immediately. An empty dir
// means runs/<time>-<task>-<method>. Without Open, Save writes all files at the end.
func (s *Session) Open(dir string) error {
	if s.files != nil {
		return fmt.Errorf("session: the directory %s is open already", s.files.dir)
	}
	made, err := rundir.Create(dir, s.options.Files.Clock(), s.pipeline.Describe().Task, s.options.methodName())
	if err != nil {
		return err
	}
	s.files = &files{dir: made}
	if s.files.lock, err = dirlock.Take(string(made)); err == nil {
		err = s.begin()
	}
	if err != nil {
		return with(err, s.discard())
	}
	return nil
}

// begin writes the files that a run has before the training.
func (s *Session) begin() error {
	d, dir := s.Describe(), s.files.dir
	if err := dir.CheckSpace(s.space(d)); err != nil {
		return err
	}
	config, err := s.configFile(d)
	if err != nil {
		return err
	}
	// both files are synced at the same time
	preparation := relay.Go(func() error {
		if d.Preparation == nil {
			return nil
		}
		return savePreparation(dir, d)
	})
	err = rundir.WriteFile(dir.Config(), config)
	if failure := preparation(); err != nil || failure != nil {
		return cmp.Or(err, failure)
	}
	s.files.config = seal.Sum(config)
	if s.files.metrics, err = dir.CreateMetrics(); err != nil {
		return err
	}
	return s.openEvents(config, 0)
}

// configFile returns the contents of config.yaml for the session with the description d.
func (s *Session) configFile(d Description) ([]byte, error) {
	d.Provenance.Schema, d.Provenance.Constraints = rundir.Schema, boundedNames(d)
	return s.options.Files.Config(d.Provenance)
}

// The sizes of a run's files: its plots and small files, and its vectors of weights. The vectors
// are the two models and, with checkpoints, the state of the largest methods in two checkpoints.
const (
	spaceOfFiles      = 1 << 20
	bytesOfWeight     = 8
	checkpointVectors = 2 * 8
)

// space estimates the space for the files of a run in bytes.
func (s *Session) space(d Description) int64 {
	vectors := int64(2) // the output and the best feasible record
	if s.options.CheckpointEvery > 0 {
		vectors += checkpointVectors
	}
	return spaceOfFiles + vectors*bytesOfWeight*int64(d.Parameters)
}

// Save writes the weights and, at the same time, details.json and the plots. Then Save writes
// report.html and the summary of a certified run. Without Files.Renderer, there are no plots and no
// report.html. If no directory is open, Save opens dir and writes the other files too. If a file
// cannot be written, Save still tries the others; the weights count for more than the plots. If the
// directory refuses the weights or the summary, Save writes both into the user's cache and returns
// a *RescueError. Save then returns all errors, Summary has the summary, and the lock of the
// directory is released.
func (s *Session) Save(dir string) error {
	if s.result == nil {
		return errors.New("session: nothing has been certified")
	}
	if err := s.openToSave(dir); err != nil {
		return err
	}
	began, d := time.Now(), s.Describe()
	curves, details := s.drawCurves(d), s.details(d)
	drawing := relay.Go(func() error {
		err := curves()
		if r := s.options.Files.Renderer; r != nil && err == nil {
			err = r.Rates(s.files.dir, s.plotTitle(d), s.rateTables(), details.ROC)
		}
		return err
	})
	detailing := relay.Go(func() error { return s.files.dir.WriteDetails(details) })
	failure := s.saveModel(s.files.dir)
	detailed, drawn := detailing(), drawing()
	s.curves = nil                                             // a second Save draws again
	if failure != nil && s.files.dir.RemovePictures() == nil { // the weights count for more
		failure = s.saveModel(s.files.dir)
		detailed = s.files.dir.WriteDetails(details)
	}
	lost := failure != nil
	s.saving = time.Since(began)
	s.spent += s.saving
	s.summary = s.summarise()
	s.report(&s.summary, detailed)
	written := s.files.dir.WriteSummary(&s.summary)
	if written != nil && s.files.dir.RemovePictures() == nil { // the summary counts for more
		written = s.files.dir.WriteSummary(&s.summary)
	}
	failure = with(with(failure, drawn), written)
	if lost || written != nil {
		failure = s.rescue(failure)
	}
	if failure == nil && s.lost == nil && s.training.Status != trainer.Interrupted && !s.files.keeper.ends(s.training) {
		failure = checkpoint.Remove(string(s.files.dir)) // the run needs none
	}
	return with(with(s.lost, failure), s.files.close())
}

// openToSave opens the directory and writes the records, unless a directory is already open.
func (s *Session) openToSave(dir string) error {
	if s.files != nil {
		if dir != "" && dir != string(s.files.dir) {
			return fmt.Errorf("session: the run's directory is %s, not %s", s.files.dir, dir)
		}
		return nil
	}
	if err := s.Open(dir); err != nil {
		return err
	}
	for i := range s.records {
		if err := s.files.metrics.Record(&s.records[i]); err != nil {
			return err
		}
		s.recordEvent(&s.records[i])
	}
	return s.files.closeMetrics()
}

// Summary returns the contents of summary.json. Before Save it has no checksums, and before Certify
// it is the zero value.
func (s *Session) Summary() Summary {
	if s.summary.Schema == 0 && s.result != nil {
		return s.summarise()
	}
	return s.summary
}

// Dir returns the run's directory; "" if no directory is open.
func (s *Session) Dir() string {
	if s.files == nil {
		return ""
	}
	return string(s.files.dir)
}

// closeMetrics closes metrics.jsonl and TensorBoard's file if they are open.
func (f *files) closeMetrics() error {
	if f == nil || f.metrics == nil {
		return nil
	}
	err := f.metrics.Close()
	f.metrics = nil
	if f.events != nil {
		err = with(err, f.events.Close())
		f.events = nil
	}
	return err
}

// drawCurves begins to write the plots of the records, unless an earlier call began, for the run
// with the description d. The returned function waits for the plots.
func (s *Session) drawCurves(d Description) (wait func() error) {
	renderer, dir := s.options.Files.Renderer, s.files.dir
	if renderer == nil {
		return func() error { return nil }
	}
	if s.curves != nil {
		return s.curves
	}
	legend := rundir.Legend{Title: s.plotTitle(d), Objective: d.Objective, Constraints: d.Constraints, Bounded: boundedNames(d), Bounds: d.Bounds}
	s.curves = relay.Go(func() error { return renderer.Curves(dir, legend) })
	return s.curves
}

// plotTitle returns the title of the plots.
func (s *Session) plotTitle(d Description) string { return s.options.methodName() + " on " + d.Dataset }

// rateTables returns the rates of decisions on the splits; nil without rates.
func (s *Session) rateTables() (tables map[Split]*RateTable) {
	for _, split := range s.result.Splits {
		if split.Rates == nil {
			continue
		}
		if tables == nil {
			tables = map[Split]*RateTable{}
		}
		tables[split.Name] = split.Rates
	}
	return tables
}

// summarise returns the summary of a certified run.
func (s *Session) summarise() Summary {
	r := s.result
	sum := s.commonSummary(s.training)
	sum.Objective, sum.Constraints, sum.Certificate = r.Objective, r.Constraints, rundir.NewCertificate(r.Certificate)
	sum.MaxViolation, sum.Outcome = problem.MaxViolation(r.Constraints), r.Outcome
	for _, split := range r.Splits {
		sum.Measures(split.Name, split.Named)
	}
	sum.Rates = s.rateTables()
	s.ended(sum.Outcome).Judge(&sum)
	if s.lost != nil {
		sum.Error = s.lost.Error()
	}
	return sum
}

// commonSummary returns the part of the summary that does not need a certificate.
func (s *Session) commonSummary(r *trainer.Result) Summary {
	d := s.Describe()
	sum := Summary{
		Schema: rundir.Schema,
		Status: string(r.Status), Iterations: r.Iterations, Seconds: r.Seconds, Bounds: d.Bounds,
		Device: d.deviceAndMemory(), Products: d.Products,
		PeakBytes: rundir.PeakBytes(), Warnings: append([]string{}, s.warnings...), Version: d.Version,
		OutputIteration: r.Output, ResidualDecay: rundir.NewResidualDecay(r.Decay),
		Notes: append([]string{}, concat(d.Notes, r.Notes)...),
	}
	sum.SecondsReading, sum.SecondsTotal = s.reading.Seconds(), s.spent.Seconds()
	sum.SecondsMeasuring = max(0, sum.SecondsTotal-sum.SecondsReading-sum.Seconds)
	sum.SecondsCertificates, sum.SecondsRounds, sum.SecondsRecords = r.Times.Certificates, r.Times.Rounds, r.Times.Records
	if s.result != nil {
		sum.SecondsCertificates += s.result.Certifying.Seconds()
	}
	sum.SecondsPlots = s.saving.Seconds()
	if b := r.BestFeasible; b != nil {
		sum.BestFeasible = &rundir.BestFeasible{Iteration: b.Iteration, Objective: b.Objective}
	}
	return sum
}

// deviceAndMemory returns the name of the device. For a GPU the text includes the peak of the
// memory in use.
func (d Description) deviceAndMemory() string {
	if d.DeviceBytes == 0 {
		return d.Device
	}
	const mega = 1e6
	return fmt.Sprintf("%s, at most %.0f MB on it", d.Device, math.Ceil(float64(d.DeviceBytes)/mega))
}

// fail writes a summary of the last record of a failed run, and returns the failure. If the run
// has no record, fail removes the directory, because the next run can then use the same name.
func (s *Session) fail(r *trainer.Result, failure error) error {
	if s.files == nil {
		return failure
	}
	err := s.files.close()
	if r == nil || s.last == nil {
		if s.files.resumed != nil {
			return with(failure, err)
		}
		return with(failure, with(err, s.discard()))
	}
	sum := s.commonSummary(r)
	sum.Status, sum.Error, sum.OutputIteration = string(trainer.Failed), failure.Error(), s.last.Iteration
	sum.Objective, sum.Constraints, sum.MaxViolation = s.last.Objective, s.last.Constraints, s.last.MaxViolation
	sum.Certificate = rundir.NewCertificate(s.last.Certificate)
	err = with(err, s.saveBest(s.files.dir, r))
	return with(failure, with(err, s.files.dir.WriteSummary(&sum)))
}

// discard removes the files of the open directory.
func (s *Session) discard() error {
	dir := s.files.dir
	if s.files.events != nil {
		_ = s.files.events.Remove()
		s.files.events = nil
	}
	err := s.files.close()
	s.files = nil
	return with(err, dir.Discard())
}

// with joins a failure and a later error into a single line; either error may be nil.
func with(failure, err error) error {
	if failure == nil || err == nil {
		return cmp.Or(failure, err)
	}
	return fmt.Errorf("%w (and %w)", failure, err)
}

// methodName returns the name of the method in the run's files.
func (o Options) methodName() string {
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
