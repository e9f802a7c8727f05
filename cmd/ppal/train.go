package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/plots"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
)

// trial is a training run as the command line uses it: *session.Experiment.
type trial interface {
	Info() session.Info
	Bounds() []float64
	ConstraintNames() []string
	Train(ctx context.Context, s trainer.Settings) (*trainer.Result, error)
	Finish(r *trainer.Result) (session.Final, error)
	Save(path string) error
	Explain() string
	Close() error
}

var _ trial = (*session.Experiment)(nil)

// train runs the command.
func (a *app) train(ctx context.Context, values config.Values, f trainFlags) (failure error) {
	var file *config.File
	var err error
	if f.config != "" {
		if file, err = config.ReadFile(f.config); err != nil {
			return err
		}
	}
	cfg, err := config.ResolveWith(values, f.set, file)
	if err != nil {
		return err
	}
	dataDir, err := datasets.Dir(cfg.DataDir, a.getenv)
	if err != nil {
		return err
	}
	if cfg.Threads > 0 {
		runtime.GOMAXPROCS(cfg.Threads)
	}
	report := a.newReporter(cfg)
	defer announceStop(ctx, report)()
	report.info(fmt.Sprintf("reading %s and building the problem", cfg.Dataset))
	t, err := a.open(ctx, cfg, dataDir)
	if err == nil {
		defer func() {
			if closeErr := t.Close(); failure == nil {
				failure = closeErr
			}
		}()
	}
	if ctx.Err() != nil {
		return errors.New("interrupted before the first iteration; no files were written")
	}
	if err != nil {
		return err
	}
	dir, err := rundir.Create(cfg.Out, a.now(), cfg.Data.Problem, cfg.Method.Method)
	if err != nil {
		return err
	}
	s := &trainRun{app: a, cfg: cfg, dataDir: dataDir, trial: t, dir: dir, report: report}
	return s.run(ctx)
}

// announceStop shows a message when Ctrl-C is pressed, until the returned function is called.
func announceStop(ctx context.Context, report reporter) (end func()) {
	shown := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		report.stopping()
		close(shown)
	})
	return func() {
		if !stop() {
			<-shown
		}
	}
}

// trainRun is one run, from its directory to its table.
type trainRun struct {
	*app
	cfg      config.Train
	dataDir  string
	trial    trial
	dir      rundir.Dir
	report   reporter
	warnings []string
	last     *trainer.Record // without its slices
}

func (s *trainRun) run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return s.fail(nil, err)
	}
	result, err := s.optimise(ctx)
	s.report.finish()
	if err != nil {
		return s.fail(result, s.withName(err))
	}
	for _, n := range result.Notes {
		s.report.info(n)
	}
	s.report.info("certifying the result in float64")
	final, err := s.trial.Finish(result)
	if err != nil {
		return err
	}
	if err := s.trial.Save(s.dir.Model()); err != nil {
		return err
	}
	failure := s.draw() // a failure to draw must not lose the other files
	summary := s.summarise(result, final)
	failure = with(failure, summary.Write(s.dir.Summary()))
	if failure = with(failure, s.printTable(summary, final)); failure != nil {
		return failure
	}
	if result.Status == trainer.Interrupted {
		return &interrupted{result.Iterations, string(s.dir)}
	}
	return nil
}

// begin writes config.yaml and reports the sizes of the problem.
func (s *trainRun) begin() error {
	data, err := s.cfg.YAML(s.provenance())
	if err != nil {
		return err
	}
	if err := rundir.WriteFile(s.dir.Config(), data); err != nil {
		return err
	}
	info := s.trial.Info()
	if info.Preparation != nil {
		if err := s.dir.WritePreparation(rundir.Preparation{Features: info.FeatureNames, Preparation: *info.Preparation}); err != nil {
			return err
		}
	}
	s.report.info(fmt.Sprintf("%s by %s: %d rows, %d features, %d parameters, constraints: %d, at most %d iterations, files in %s",
		s.cfg.Data.Problem, s.cfg.Method.Method, info.Rows.Train, info.Features, info.Parameters, len(s.trial.Bounds()), s.cfg.Iterations, s.dir))
	if s.cfg.Explain {
		fmt.Fprintln(s.stdout, s.trial.Explain())
	}
	for _, n := range s.cfg.Notes() {
		s.report.info(n.String())
	}
	for _, n := range info.Notes {
		s.report.info(n)
	}
	for _, w := range info.Warnings {
		s.warn(w)
	}
	return nil
}

func (s *trainRun) provenance() rundir.Provenance {
	info := s.trial.Info()
	p := rundir.Provenance{
		Version: version(), Out: string(s.dir),
		Device: info.Device, Features: info.Features, Parameters: info.Parameters, Normalization: info.Normalization,
		Products: info.Products, Bounds: s.trial.Bounds(),
	}
	if d, err := datasets.Lookup(s.cfg.Dataset); err == nil && len(d.Files) > 0 {
		p.DataDir = s.dataDir
	}
	for _, f := range info.DataFiles {
		p.Data = append(p.Data, rundir.DataFile(f))
	}
	for _, c := range info.Classes {
		p.Classes = append(p.Classes, rundir.Part(c))
	}
	for _, g := range info.Groups {
		p.Groups = append(p.Groups, rundir.Part(g))
	}
	for _, n := range s.cfg.Notes() {
		p.Notes = append(p.Notes, n.String())
	}
	p.Notes = append(p.Notes, info.Notes...)
	p.Warnings = info.Warnings
	return p
}

// warn records a warning for the summary and shows it.
func (s *trainRun) warn(w string) {
	s.warnings = append(s.warnings, w)
	s.report.warn(w)
}

// optimise trains and sends the records to metrics.jsonl and the terminal.
func (s *trainRun) optimise(ctx context.Context) (result *trainer.Result, err error) {
	settings, err := s.cfg.TrainerSettings()
	if err != nil {
		return nil, err
	}
	metrics, err := s.dir.CreateMetrics()
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := metrics.Close(); err == nil {
			err = closeErr
		}
	}()
	settings.Recorder = trainer.Recorders{metrics, (*lastRecord)(s), s.report}
	settings.Warn = s.warn
	return s.trial.Train(ctx, settings)
}

// lastRecord keeps the numbers of the last record, for the summary of a run that fails.
type lastRecord trainRun

func (l *lastRecord) Record(r *trainer.Record) error {
	kept := *r
	kept.Constraints = append([]float64{}, r.Constraints...)
	l.last = &kept
	return nil
}

func (s *trainRun) draw() error {
	records, err := rundir.ReadMetrics(s.dir.Metrics())
	if err != nil {
		return err
	}
	bounded := ""
	if s.byClass() {
		bounded = "loss"
	}
	_, err = plots.Write(s.dir.Plots(), plots.Run{
		Title:   fmt.Sprintf("%s on %s", s.cfg.Method.Method, s.cfg.Dataset),
		Records: records, Objective: s.trial.Info().Objective, Bounded: bounded,
		Constraints: s.trial.ConstraintNames(), Bounds: s.trial.Bounds(),
	})
	return err
}
