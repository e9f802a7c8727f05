// Package watch describes the state of a run, a comparison or a sweep by the files in its
// directory, while the process that trains is at work or after it has ended. The package only reads
// files, and looks at the lock of the directory.
package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ppal/internal/dirlock"
	"ppal/internal/rundir"
)

// ErrDirectory marks a directory that is not the directory of a run, a comparison or a sweep.
var ErrDirectory = errors.New("not the directory of a run, a comparison or a sweep")

// View is the state at one look.
type View struct {
	// Line is the state in one line; "" before the first record.
	Line string
	// Screen returns the state in lines of at most width columns, and not many more than height
	// lines.
	Screen func(width, height int) []string
	// Ended says that no process is at work any more.
	Ended bool
	// Failure says why the work ended without a result; "" if there is a result, or if the work goes
	// on.
	Failure string
	// Resume is the run that `ppal train --resume` continues; "" if there is none.
	Resume string
	// Outcome describes the result; nil without a result.
	Outcome []string
}

// Watcher looks at a directory. It is not safe for concurrent use.
type Watcher interface {
	// Look returns the present state. The error names a file that cannot be read.
	Look() (*View, error)
}

// Open returns the watcher of a directory. The error wraps ErrDirectory, or comes from the file
// system.
func Open(dir string) (Watcher, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("watch: %s: %w: it is a file", dir, ErrDirectory)
	}
	for _, kind := range []struct {
		file string
		open func(dir string) (Watcher, error)
	}{
		{rundir.Dir(dir).Config(), func(dir string) (Watcher, error) { return openRun(dir) }},
		{filepath.Join(dir, "study.yaml"), openComparison},
		{filepath.Join(dir, "sweep.yaml"), openSweep},
	} {
		if _, err := os.Stat(kind.file); err == nil {
			return kind.open(dir)
		}
	}
	return nil, fmt.Errorf("watch: %s: %w: there is no config.yaml, study.yaml or sweep.yaml", dir, ErrDirectory)
}

// absence decides from several looks that a process has ended: between the release of a lock and
// the last file, or between the creation of a directory and its lock, a directory may look as if
// its process had ended.
type absence struct {
	dir  string
	seen int
}

// looks is the number of looks in a row at a free lock after which the process has ended.
const looks = 2

// gone reports whether the process that locked the directory has ended.
func (a *absence) gone() bool {
	if a.seen++; !dirlock.Free(a.dir) {
		a.seen = 0
	}
	return a.seen >= looks
}
