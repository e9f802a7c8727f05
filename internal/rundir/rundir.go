// Package rundir is the directory of a training run: the names of its files, how they are written, and how they are read back.
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ppal/internal/atomicfile"
)

// ErrExists marks a directory that holds something already.
var ErrExists = errors.New("not empty")

// Dir is a run's directory.
type Dir string

// Config is the file of the resolved settings.
func (d Dir) Config() string { return filepath.Join(string(d), "config.yaml") }

// Metrics is the file of the records.
func (d Dir) Metrics() string { return filepath.Join(string(d), "metrics.jsonl") }

// Model is the file of the weights.
func (d Dir) Model() string { return filepath.Join(string(d), "model.safetensors") }

// Preparation is the file that says how a table's columns became features.
func (d Dir) Preparation() string { return filepath.Join(string(d), "preparation.yaml") }

// Summary is the file of the result, the last to be written.
func (d Dir) Summary() string { return filepath.Join(string(d), "summary.json") }

// Plots is the folder of the pictures.
func (d Dir) Plots() string { return filepath.Join(string(d), "plots") }

// Create makes the directory out, which must be new or empty, and takes it: of several calls for one directory, in other processes
// too, one succeeds. An empty out means the first free name runs/<time>-<problem>-<method>. The error wraps ErrExists or the file
// system's.
func Create(out string, now time.Time, problem, method string) (Dir, error) {
	if out != "" {
		return Dir(out), create(out)
	}
	base := filepath.Join("runs", fmt.Sprintf("%s-%s-%s", now.Format("20060102-150405"), problem, method))
	name := base
	for n := 2; ; n++ {
		err := create(name)
		if err == nil || !errors.Is(err, ErrExists) {
			return Dir(name), err
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// create makes a directory that is new or empty, and takes it by the empty file of its records.
func create(name string) error {
	entries, err := os.ReadDir(name)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(name, 0o755)
	}
	taken := len(entries) > 0
	if err == nil && !taken {
		var claim *os.File
		if claim, err = os.OpenFile(Dir(name).Metrics(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			err = claim.Close()
		}
		taken = errors.Is(err, os.ErrExist)
	}
	switch {
	case taken:
		return fmt.Errorf("rundir: %s: %w: give --out a new directory, or remove this one", name, ErrExists)
	case err != nil:
		return fmt.Errorf("rundir: %w: give --out another directory", err)
	}
	return nil
}

// Discard removes the files of a run that came to nothing, and the directory unless it holds something else, so that its name can
// be used again. What is not there is no error.
func (d Dir) Discard() error {
	for _, path := range []string{d.Config(), d.Metrics(), d.Preparation()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("rundir: %w", err)
		}
	}
	_ = os.Remove(string(d)) // an empty directory can be used again as well
	return nil
}

// WriteFile replaces the file whole, or leaves it as it was.
func WriteFile(path string, data []byte) error {
	if err := atomicfile.Write(path, data, 0o644); err != nil {
		return fmt.Errorf("rundir: %w", err)
	}
	return nil
}
