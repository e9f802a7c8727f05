// Package rundir names, writes and reads the files in the directory of a training run.
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ppal/internal/disk"
)

// ErrExists says that a directory is not empty.
var ErrExists = errors.New("not empty")

// Dir is the directory of a run.
type Dir string

// Config returns the path of the resolved settings.
func (d Dir) Config() string { return filepath.Join(string(d), "config.yaml") }

// Choice returns the path of the settings that a run tried before it trained.
func (d Dir) Choice() string { return filepath.Join(string(d), "choice.jsonl") }

// Metrics returns the path of the records.
func (d Dir) Metrics() string { return filepath.Join(string(d), "metrics.jsonl") }

// Model returns the path of the weights.
func (d Dir) Model() string { return filepath.Join(string(d), "model.safetensors") }

// Best returns the path of the weights of the best feasible record. A run without a feasible record
// does not have the file.
func (d Dir) Best() string { return filepath.Join(string(d), "best.safetensors") }

// Infeasible returns the path of the weights of the point that proves that the constraints cannot
// be met. Only a run with such a proof has the file.
func (d Dir) Infeasible() string { return filepath.Join(string(d), "infeasible.safetensors") }

// Preparation returns the path of the file that describes how a table's columns became features.
func (d Dir) Preparation() string { return filepath.Join(string(d), "preparation.yaml") }

// Summary returns the path of the result, the last file that a run writes.
func (d Dir) Summary() string { return filepath.Join(string(d), "summary.json") }

// Plots returns the folder of the plots.
func (d Dir) Plots() string { return filepath.Join(string(d), "plots") }

// Create makes the directory out, which must be new or empty, and reserves it: of several calls for
// the same directory, in other processes too, exactly one succeeds. An empty out means the first
// free name runs/<time>-<problem>-<method>. The error wraps ErrExists or comes from the file
// system.
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

// Check returns the error that Create would return because the directory out is not empty. A run
// calls Check before it reads its data.
func Check(out string) error {
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return taken(out)
	}
	return nil
}

// taken is the error of a directory with files.
func taken(out string) error {
	return fmt.Errorf("rundir: %s: %w: give --out a new directory", out, ErrExists)
}

// create makes a new or empty directory and reserves it with the empty file of its records.
func create(name string) error {
	entries, err := os.ReadDir(name)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(name, 0o755)
	}
	used := len(entries) > 0
	if err == nil && !used {
		var claim *os.File
		if claim, err = os.OpenFile(Dir(name).Metrics(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			err = claim.Close()
		}
		used = errors.Is(err, os.ErrExist)
	}
	switch {
	case used:
		return taken(name)
	case err != nil:
		return fmt.Errorf("rundir: %w: give --out another directory", err)
	}
	return nil
}

// Discard removes the files of a run that produced nothing, and the directory unless it holds other
// files, so that its name can be used again. A missing file is not an error.
func (d Dir) Discard() error {
	for _, path := range []string{d.Config(), d.Metrics(), d.Preparation()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("rundir: %w", err)
		}
	}
	_ = os.Remove(string(d)) // an empty directory can be used again too
	return nil
}

// WriteFile replaces the file atomically; if it fails, the file is unchanged.
func WriteFile(path string, data []byte) error {
	if err := disk.Write(path, data, 0o644); err != nil {
		return fmt.Errorf("rundir: %w", err)
	}
	return nil
}
