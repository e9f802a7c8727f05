package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppal/internal/checkpoint"
	"ppal/internal/config"
	"ppal/internal/dirlock"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/trainer"
	"ppal/trainer/option"
)

// resumeConfig resolves the settings of a run that continues: the settings of its config.yaml, and
// flags that do not change the result.
func resumeConfig(values config.Values, f trainFlags) (config.Train, *config.File, error) {
	refuse := func(format string, args ...any) (config.Train, *config.File, error) {
		return config.Train{}, nil, &config.Error{Where: "--resume " + f.resume + ":", Problem: fmt.Sprintf(format, args...)}
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
		return config.Train{}, nil, err
	}
	file, err := config.ParseFile(path, text)
	if err != nil {
		return config.Train{}, nil, err
	}
	before, err := config.Resolve(nil, file)
	if err != nil {
		return config.Train{}, nil, err
	}
	cfg, err := config.Resolve(values, file)
	if err != nil {
		return config.Train{}, nil, err
	}
	if names := config.Changes(before, cfg); len(names) > 0 {
		if status := finished(f.resume); status != "" {
			return refuse("the run is finished (%s) and keeps its --%s; %s", status, strings.Join(names, " and --"), goOn(f.resume))
		}
		return refuse("--%s differs from the run's; leave it out, or start a new run with --config %s", strings.Join(names, " and --"), path)
	}
	cfg.Out = f.resume
	return cfg, file, nil
}

// finished returns the status of a run that is complete; "" if the run can continue.
func finished(dir string) string {
	s, err := rundir.ReadSummary(rundir.Dir(dir).Summary())
	if err != nil && !errors.Is(err, seal.ErrChanged) || s.Status == string(trainer.Interrupted) || s.Status == string(trainer.Failed) {
		return ""
	}
	return s.Status
}

// tidy removes the checkpoint and the lock of a finished run. A process that is killed after it has
// written the summary leaves both. tidy does nothing if another process still finishes the run, or
// if nobody may write to the directory.
func tidy(dir string) {
	left := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if !left(checkpoint.Name) && !left(dirlock.Name) {
		return
	}
	if lock, err := dirlock.Take(dir); err == nil {
		_ = errors.Join(checkpoint.Remove(dir), lock.Release())
	}
}

// goOn says how to train on from the weights of a finished run.
func goOn(dir string) string {
	run := rundir.Dir(dir)
	return fmt.Sprintf("to train on from its weights, start a new run: ppal train --config %s --init %s --out NEW", option.ShellWord(run.Config()), option.ShellWord(run.Model()))
}

// resumeLine returns the command that continues a run.
func resumeLine(dir string) string { return "ppal train --resume " + option.ShellWord(dir) }
