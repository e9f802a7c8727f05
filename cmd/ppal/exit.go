package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/compare"
	"ppal/internal/config"
	"ppal/internal/reproduce"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/problem"
)

// The exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// interrupted is the end of a run that Ctrl-C stopped, its files written.
type interrupted struct {
	iterations int
	dir        string
}

func (e *interrupted) Error() string {
	return fmt.Sprintf("interrupted after %d iterations; weights and summary of what was reached are in %s", e.iterations, e.dir)
}

// exit prints cmd's error as one line and turns it into an exit status: that of an interrupt where ctx was cancelled.
func (a *app) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}
	status := exitFailed
	advice := ""
	switch {
	case ctx.Err() != nil:
		status = exitInterrupted
	case isUsage(err):
		status = exitUsage
	case !a.started: // cobra refused the arguments
		status, advice = exitUsage, "; see "+cmd.CommandPath()+" --help"
	case errors.Is(err, syscall.ENOSPC):
		advice = "; make room there, or choose another directory"
	}
	fmt.Fprintf(a.stderr, "ppal: %s%s\n", strings.Join(strings.Fields(err.Error()), " "), advice)
	return status
}

// usage marks an error of what was asked for.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// isUsage says whether the error is of what was asked for, not of what happened.
func isUsage(err error) bool {
	var marked usage
	if errors.As(err, &marked) {
		return true
	}
	for _, target := range []error{
		config.ErrUsage, compare.ErrStudy, reproduce.ErrUnknown, reproduce.ErrUnavailable, rundir.ErrExists, problem.ErrSettings,
		models.ErrSpec, datasets.ErrUnknownDataset, datasets.ErrClass, datasets.ErrMirror,
		datasets.ErrKind, datasets.ErrOption, datasets.ErrColumn, datasets.ErrGroup, datasets.ErrSplit,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
