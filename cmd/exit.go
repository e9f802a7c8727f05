package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/internal/compare"
	"ppal/internal/config"
	"ppal/internal/ending"
	"ppal/internal/reproduce"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/internal/sweep"
	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// The exit statuses. exitText describes them in the help.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnmet       = 3
	exitInterrupted = 130
	exitPipe        = 141 // the reader of stdout has ended, as in `ppal data list | head -1`
)

// exitText is the help's description of the exit statuses.
const exitText = `Exit status: 0 done; 1 failed; 2 the command or its input is wrong; 3 finished, but a constraint is not met or
cannot be judged, in a sweep at every point (0 with --allow-violation); 70 a bug in ppal; 130 interrupted. A fatal error of
Go's runtime, such as "out of memory", also gives 2, with several lines of stacks.`

// interrupted is the error of a run that Ctrl-C stopped after its files were written.
type interrupted struct {
	iterations int
	dir        string
	resumable  bool // the directory has a checkpoint
}

func (e *interrupted) Error() string {
	text := fmt.Sprintf("interrupted after %d iterations; the weights and the summary are in %s", e.iterations, e.dir)
	if e.resumable {
		text += "; to continue: " + resumeLine(e.dir)
	}
	return text
}

// exit prints cmd's error and returns the exit status; if ctx was cancelled, the status
// of an interrupt.
func (a *app) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}
	status := exitFailed
	advice := ""
	if errors.Is(err, syscall.EPIPE) {
		return exitPipe
	}
	switch {
	case ctx.Err() != nil:
		status = exitInterrupted
	case errors.As(err, new(*ending.Unmet)), errors.Is(err, errNoPoint):
		status = exitUnmet
	case isUsage(err):
		status = exitUsage
	case !a.started: // cobra refused the arguments
		status, advice = exitUsage, "; see "+cmd.CommandPath()+" --help"
	case errors.Is(err, syscall.ENOSPC):
		advice = "; free some space there, or use another directory"
	}
	var copies *repeated
	if !a.started { // each process of a starter refuses the same arguments
		copies = startedRepeatedly(a.getenv)
	}
	if (errors.As(err, &copies) || copies != nil) && copies.silent(ctx) {
		return status
	}
	fmt.Fprintf(a.stderr, "ppal: %s%s\n", errorText(err), advice)
	return status
}

// errorText returns the error's text in one line; the problems of a file's columns have a line
// each.
func errorText(err error) string {
	var problems *dataerr.Problems
	lines := []string{err.Error()}
	if errors.As(err, &problems) {
		lines = strings.Split(err.Error(), "\n")
	}
	for i, line := range lines {
		lines[i] = printable(shortened(strings.Join(strings.Fields(line), " ")))
	}
	return strings.Join(lines, "\n  ")
}

// usage marks an error in the arguments.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// failure marks an error that is not in the arguments.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// asMissing marks an error as wrong usage if a file that a flag names does not exist.
func asMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage{err}
	}
	return err
}

// isUsage reports whether the command or its input is wrong: the arguments, a missing file, a
// settings file, or the contents of a data file. All other errors are failures of the run.
func isUsage(err error) bool {
	var marked usage
	var problems *dataerr.Problems // other flags accept the file
	if errors.As(err, new(failure)) {
		return false
	}
	if errors.As(err, &marked) || errors.As(err, &problems) {
		return true
	}
	if errors.Is(err, fs.ErrNotExist) && errors.As(err, new(*dataerr.FileError)) {
		return true // a file of data
	}
	for _, target := range []error{
		config.ErrUsage, compare.ErrStudy, reproduce.ErrUnknown, reproduce.ErrUnavailable, rundir.ErrExists, problem.ErrSettings, sweep.ErrSweep,
		models.ErrSpec, dataerr.ErrUnknownDataset, dataerr.ErrClass, dataerr.ErrMirror,
		rundir.ErrIncomplete, seal.ErrChanged, seal.ErrKind, seal.ErrSize, session.ErrResume, dataerr.ErrKind, dataerr.ErrOption, dataerr.ErrColumn, dataerr.ErrGroup, dataerr.ErrSplit,
		dataerr.ErrFormat, dataerr.ErrTruncated, dataerr.ErrTrailing, dataerr.ErrLabel, dataerr.ErrNumber, dataerr.ErrIndex,
		dataerr.ErrMissing, dataerr.ErrCategory, dataerr.ErrMismatch, dataerr.ErrEmpty, constraints.ErrNotLinear, constraints.ErrSyntax, constraints.ErrEmptyGroup,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
