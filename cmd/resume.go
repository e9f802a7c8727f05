package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ppal/internal/checkpoint"
	"ppal/internal/config"
	"ppal/internal/dirlock"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/trainer"
	"ppal/trainer/session"
)

// resumeConfig resolves the settings of a run that continues: the settings of its config.yaml, and
// flags that do not change the result. extended are the settings of a finished run for which the
// flags have longer limits; nil: none.
func resumeConfig(values config.Values, f trainFlags) (cfg config.Train, file *config.File, extended *config.Train, err error) {
	refuse := func(format string, args ...any) (config.Train, *config.File, *config.Train, error) {
		return config.Train{}, nil, nil, &config.Error{Where: "--resume " + f.resume + ":", Problem: fmt.Sprintf(format, args...)}
	}
	if f.config != "" || len(f.set) > 0 || values["out"] != "" {
		return refuse("the run has its own settings and directory; leave out --config, --set and --out")
	}
	path := rundir.Dir(f.resume).Config()
	text, err := rundir.Seal{}.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("there is no %s, so the directory is not a run; name the directory of a run", path)
	}
	if err != nil {
		return cfg, nil, nil, err
	}
	if file, err = config.ParseFile(path, text); err != nil {
		return cfg, nil, nil, err
	}
	if err := summarised(f.resume); err != nil {
		return cfg, nil, nil, err
	}
	before, err := config.Resolve(nil, file)
	if err != nil {
		return cfg, nil, nil, err
	}
	if cfg, err = config.Resolve(values, file); err != nil {
		return cfg, nil, nil, err
	}
	if names := config.Changes(before, cfg); len(names) > 0 {
		status := finished(f.resume)
		if status == "" {
			return refuse("--%s differs from the run's; leave it out, or start a new run with --config %s", strings.Join(names, " and --"), path)
		}
		if problem := extension(f.resume, before, cfg, names, trainer.Status(status)); problem != "" {
			return refuse("the run is finished (%s)%s", status, problem)
		}
		extended = &before
	}
	cfg.Out = f.resume
	return cfg, file, extended, nil
}

// extension returns why the named changes do not extend the finished run in dir with the status; ""
// if they do.
func extension(dir string, before, now config.Train, names []string, status trainer.Status) string {
	if session.Extendable(status) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "iterations" || name == "time-limit" })
	}
	limit, limitBefore := now.Session.TimeLimit, before.Session.TimeLimit
	switch {
	case len(names) > 0:
		return fmt.Sprintf(" and keeps its --%s; %s", strings.Join(names, " and --"), goOn(dir))
	case now.Iterations() < before.Iterations() || now.Iterations() == before.Iterations() && status == trainer.IterationLimit:
		return fmt.Sprintf(" after %d iterations: give more --iterations", before.Iterations())
	case limit < limitBefore || limit == limitBefore && status == trainer.TimeLimit:
		return fmt.Sprintf(" with --time-limit %s: give a longer --time-limit", before.Text("time-limit"))
	case limitBefore == 0 && limit > 0:
		return " without a --time-limit: leave it out"
	}
	return ""
}

// summarised returns an error if a summary.json in dir cannot say whether the run is finished,
// because it is no regular file, or a file that cannot be read.
func summarised(dir string) error {
	path := rundir.Dir(dir).Summary()
	_, err := seal.Read(path)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, seal.ErrKind) || errors.Is(err, seal.ErrSize):
		return &config.Error{Where: "--resume " + dir + ":", Problem: fmt.Sprintf("%v, so nobody knows whether the run is finished; move the file away to train again", err)}
	}
	return fmt.Errorf("--resume: %w", err)
}

// finished returns the status of a run that is complete; "" if the run can continue.
func finished(dir string) string {
	s, err := rundir.ReadSummary(rundir.Dir(dir).Summary())
	if err != nil && !errors.Is(err, seal.ErrChanged) || s.Status == string(trainer.Interrupted) || s.Status == string(trainer.Failed) {
		return ""
	}
	return s.Status
}

// tidy removes the lock of a finished run, and the checkpoint unless the run can be extended. A
// process that is killed after it has written the summary leaves both. tidy does nothing if another
// process still finishes the run, or if nobody may write to the directory.
func tidy(dir, status string) {
	extendable := session.Extendable(trainer.Status(status))
	left := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if (extendable || !left(checkpoint.Name)) && !left(dirlock.Name) {
		return
	}
	lock, err := dirlock.Take(dir)
	if err != nil {
		return
	}
	if !extendable {
		_ = checkpoint.Remove(dir)
	}
	_ = lock.Release()
}

// goOn says how to train on from the weights of a finished run.
func goOn(dir string) string {
	run := rundir.Dir(dir)
	return fmt.Sprintf("to train on from its weights, start a new run: ppal train --config %s --init %s --out NEW", option.ShellWord(run.Config()), option.ShellWord(run.Model()))
}

// resumeLine returns the command that continues a run.
func resumeLine(dir string) string { return "ppal train --resume " + option.ShellWord(dir) }
