package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// Trial is one training run: *session.Session.
type Trial interface {
	Optimize(ctx context.Context) (*trainer.Result, error)
	Certify() (*session.Result, error)
	Summary() results.Summary // after Certify
	Close() error
}

// Opener builds a run from its configuration and the settings of its training loop.
type Opener func(ctx context.Context, cfg config.Train, s trainer.Settings) (Trial, error)

// ComparedRun is a finished run.
type ComparedRun struct {
	Contender string
	Seed      uint64
	Config    config.Train
	Records   []trainer.Record
	// Summary is what summary.json of the same run of `ppal train` says, without the rates of
	// groups; nil for a run that failed, and for most runs of a search.
	Summary *results.Summary
	// the reason of an early stop, such as a number that is not finite; empty: no early stop
	Failure string
}

// Last returns the last record. A run has at least one record.
func (r *ComparedRun) Last() *trainer.Record { return &r.Records[len(r.Records)-1] }

// Compared is a finished comparison.
type Compared struct {
	Comparison *Comparison
	Search     []SearchPoint
	Runs       []ComparedRun // sorted by contender, then in the order of the seeds
}

// Compare runs a comparison in the folder dir. The folder is new, or holds an earlier, perhaps
// interrupted comparison, which Compare continues: s may have more seeds than the earlier
// comparison, and gets the seeds of that comparison, too. Several processes may work on one folder
// at the same time: each run has a lock, and each process returns the whole outcome. If ctx is
// cancelled, Compare returns the context's error and keeps the finished runs. Compare repeats a
// finished run if the records of the run are damaged.
//
// The error wraps ErrComparison if the folder holds another one, or if the data or the version of
// the program have changed since the first finished run.
func Compare(ctx context.Context, s *Comparison, dir string, open Opener, progress Progress) (*Compared, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	var f *comparisonFolder
	err := patient(ctx, dir, func() (err error) {
		f, err = s.claim(dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	for {
		outcome, err := s.do(ctx, f, open, progress)
		if err != nil {
			return nil, errors.Join(err, patient(ctx, dir, f.abandon))
		}
		whole := false
		err = patient(ctx, dir, func() error {
			d, err := f.describe()
			if err != nil {
				return err
			}
			if whole = len(d.Seeds) <= len(s.Seeds); !whole { // another process added seeds
				return s.join(d.Seeds)
			}
			return outcome.write(dir)
		})
		if whole || err != nil {
			return outcome, err
		}
	}
}

// do executes the runs of the comparison that the folder lacks.
func (s *Comparison) do(ctx context.Context, f *comparisonFolder, open Opener, progress Progress) (*Compared, error) {
	total := len(s.Contenders)*len(s.Seeds) + s.seconds(s.Contenders)
	for _, c := range s.Contenders {
		total += len(c.Grid)
	}
	r := &comparer{comparison: s, folder: f, open: open}
	r.runs = Study[*ComparedRun]{Store: f, Workers: s.workers(), Total: total, Progress: progress}
	outcome := &Compared{Comparison: s}
	chosen, err := r.search(ctx, outcome)
	if err != nil {
		return nil, err
	}
	var jobs []plannedRun
	for _, c := range chosen {
		for _, seed := range s.Seeds {
			jobs = append(jobs, s.plan(c, seed, -1))
		}
	}
	outcome.Runs, err = r.all(ctx, jobs)
	return outcome, err
}

// comparer executes the runs of a comparison.
type comparer struct {
	comparison *Comparison
	folder     *comparisonFolder
	open       Opener
	runs       Study[*ComparedRun]
}

// all executes the planned runs that the folder lacks and returns all runs in order.
func (r *comparer) all(ctx context.Context, jobs []plannedRun) ([]ComparedRun, error) {
	runs, list := make([]ComparedRun, len(jobs)), make([]Job[*ComparedRun], len(jobs))
	for i, j := range jobs {
		cfg, err := resolve(j.values)
		if err != nil && j.point >= 0 {
			err = fmt.Errorf("point %d of the search: %w", j.point+1, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.contender, err)
		}
		runs[i] = ComparedRun{Contender: j.contender, Seed: j.seed, Config: cfg}
		list[i] = Job[*ComparedRun]{Key: j.part, Name: j.part, Do: func(ctx context.Context, _ int) (*ComparedRun, error) { return r.train(ctx, j, cfg) }}
	}
	ended, err := r.runs.Run(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, e := range ended {
		runs[i].Records, runs[i].Summary, runs[i].Failure = e.Records, e.Summary, e.Failure
	}
	return runs, nil
}

// train executes the run and writes the records. The result has the summary, and the reason if the
// run failed. comparisonFolder.Add reads the records.
func (r *comparer) train(ctx context.Context, j plannedRun, cfg config.Train) (*ComparedRun, error) {
	settings := cfg.Session.Settings
	r.comparison.Budget.limit(&settings, r.comparison.records())
	if j.point >= 0 {
		r.comparison.Budget.limit(&settings, searchRecords)
		settings.NearEvery = 0 // the search does not use near stationarity
	}
	summary, err := r.record(ctx, j, cfg, settings, r.folder.unfinished(j.part))
	run := &ComparedRun{Summary: summary}
	var bad *problem.NonFiniteError
	switch {
	case errors.As(err, &bad): // a valid result of the comparison: the method diverged
		run.Failure = bad.Error()
	case err != nil:
		return nil, err
	}
	return run, nil
}

// record trains and writes the records to the file part, which it replaces. record returns the
// summary of the result, except for points of a search whose bounds are on surrogates. If ctx is
// cancelled, record returns the context's error.
func (r *comparer) record(ctx context.Context, j plannedRun, cfg config.Train, s trainer.Settings, part string) (summary *results.Summary, err error) {
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("compare: %w", err)
	}
	metrics, err := rundir.CreateMetrics(part)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := metrics.Close(); closeErr != nil && err == nil {
			err = closeErr
		}
	}()
	s.IgnoreConflict = true // every method gets its whole budget
	s.Recorder = trainer.Recorders{metrics, &watcher{r, j.part, time.Now()}}
	trial, err := r.open(ctx, cfg, s)
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", j.contender, j.seed, err)
	}
	defer func() {
		if closeErr := trial.Close(); err == nil {
			err = closeErr
		}
	}()
	result, err := trial.Optimize(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s, seed %d: %w", j.contender, j.seed, err)
	case result.Status == trainer.Interrupted:
		return nil, context.Cause(ctx)
	case j.point >= 0 && !session.TraitsOf(cfg.Task).OnDecisions: // ranked by its last records
		return nil, nil
	}
	if _, err := trial.Certify(); err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", j.contender, j.seed, err)
	}
	sum := trial.Summary()
	sum.Rates = nil
	return &sum, nil
}

// watcher reports the progress of one run.
type watcher struct {
	r     *comparer
	part  string
	began time.Time
}

func (w *watcher) Record(*trainer.Record) error { return nil }

// Tick implements trainer.Ticker.
func (w *watcher) Tick(at *problem.Point) {
	w.r.runs.Share(w.part, w.r.comparison.Budget.spent(at, time.Since(w.began).Seconds()))
}

// resolve completes the settings of a run. All methods of a comparison have equal primal steps, as
// in the paper: without a given primal step, an automatic choice is nesterov. A method whose
// published step differs takes the same steps, unless the settings give the published step
// or the preset is the paper's.
func resolve(values config.Values) (config.Train, error) {
	if d, _ := method.Lookup(values[option.NameMethod]); d.Comparison.Equal != nil && automatic(values, d.Comparison.Published) {
		values = merged(values, d.Comparison.Equal)
	}
	cfg, err := config.Resolve(values, nil)
	if err == nil && values["primal"] == "" {
		cfg = cfg.WithPrimal(step.Nesterov)
	}
	return cfg, err
}

// automatic reports whether the settings leave the method's step to the program. published are the
// names of the options of its published step.
func automatic(values config.Values, published []string) bool {
	for _, given := range published {
		if values[given] != "" {
			return false
		}
	}
	return values[option.NamePreset] != preset.Paper && slices.Contains([]string{"", step.Nesterov.String()}, values["primal"])
}

// steps says which primal step and which step size each method takes, methods with equal steps
// together. The settings are the given ones and those that the search has chosen.
func (o *Compared) steps() string {
	var kinds []string
	settings := map[string][]string{}
	for _, c := range o.Comparison.Contenders {
		cfg, err := resolve(o.chosen(c))
		if err != nil {
			continue // newStudy has resolved the settings once
		}
		kind := "steps and step sizes of their own"
		if primal := cfg.Options["primal"]; primal != "" {
			d, _ := method.Lookup(c.Values[option.NameMethod])
			size := cmp.Or(d.Comparison.Size, "eta")
			kind = primal + " with "
			if text := cfg.Options[size]; text == "" || text == "auto" {
				kind += "the automatic size"
			} else {
				kind += size + " " + text
			}
		}
		if settings[kind] == nil {
			kinds = append(kinds, kind)
		}
		settings[kind] = append(settings[kind], c.Name)
	}
	for i, kind := range kinds {
		kinds[i] = strings.Join(settings[kind], ", ") + ": " + kind
	}
	return strings.Join(kinds, "; ")
}
