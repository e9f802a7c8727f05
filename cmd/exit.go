package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/internal/config"
	"ppal/internal/disk"
	"ppal/internal/mapped"
	"ppal/internal/relay"
	"ppal/internal/report"
	"ppal/internal/reproduce"
	"ppal/internal/rundir"
	"ppal/internal/study"
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
	case errors.As(err, new(*report.Unmet)), errors.Is(err, errNoPoint):
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
// each. A missing file is named without the system call that missed it.
func errorText(err error) string {
	text := err.Error()
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		text = strings.Replace(text, missing.Error(), missing.Path+": "+missing.Err.Error(), 1)
	}
	lines := []string{text}
	if errors.As(err, new(*dataerr.Problems)) {
		lines = strings.Split(text, "\n")
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
		config.ErrUsage, study.ErrComparison, reproduce.ErrUnknown, reproduce.ErrFull, rundir.ErrExists, problem.ErrSettings, study.ErrSweep,
		models.ErrSpec, dataerr.ErrUnknownDataset, dataerr.ErrClass, dataerr.ErrMirror,
		rundir.ErrIncomplete, disk.ErrChanged, disk.ErrKind, disk.ErrSize, session.ErrResume, dataerr.ErrKind, dataerr.ErrOption, dataerr.ErrColumn, dataerr.ErrGroup, dataerr.ErrSplit,
		dataerr.ErrFormat, dataerr.ErrTruncated, dataerr.ErrTrailing, dataerr.ErrLabel, dataerr.ErrNumber, dataerr.ErrIndex,
		dataerr.ErrMissing, dataerr.ErrCategory, dataerr.ErrMismatch, dataerr.ErrEmpty, dataerr.ErrPairs, constraints.ErrNotLinear, constraints.ErrSyntax, constraints.ErrEmptyGroup,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// stopSignals returns the signals that stop the program: Ctrl-C, a request to end, and the end of
// the terminal. Under nohup, which ignores SIGHUP, the end of the terminal does not stop the
// program.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// onQuit calls discard when SIGQUIT arrives. Then SIGQUIT has its default: Go prints the stacks of
// all goroutines and ends the program.
func onQuit(discard func()) {
	quits := make(chan os.Signal, 1)
	signal.Notify(quits, syscall.SIGQUIT)
	go func() {
		<-quits
		discard()
		signal.Reset(syscall.SIGQUIT)
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGQUIT)
		}
	}()
}

// onSignals returns a context that the first stop signal cancels. The second stop signal calls
// stopNow, which must not return.
//
// After onSignals, a write to a pipe without a reader fails with syscall.EPIPE. Without onSignals,
// a write to stdout or stderr without a reader ends the program: a training would be lost because
// the reader of its log ended.
func onSignals(stopNow func()) context.Context {
	// A caught signal, unlike an ignored signal, keeps its default in the programs that ppal
	// starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stops := make(chan os.Signal, 2)
	signal.Notify(stops, stopSignals()...)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stops
		cancel()
		<-stops
		stopNow()
	}()
	return ctx
}

// exitBug is the exit status of a panic: EX_SOFTWARE of sysexits.h. Go's own status of a panic, 2,
// means wrong usage here.
const exitBug = 70

// reportBug is deferred by run: it turns a panic into one line and an exit status. A worker's panic
// arrives as a *relay.Panic. If the environment asks for a traceback (GOTRACEBACK), the panic goes
// on, and Go prints the stacks.
func (a *app) reportBug(status *int) {
	p := recover()
	if p == nil {
		return
	}
	if os.Getenv("GOTRACEBACK") != "" {
		panic(p)
	}
	e := a.bugIn(p)
	fmt.Fprintf(a.stderr, "ppal: %s\n", e.text)
	*status = e.status
}

// bug is the error of a panic.
type bug struct {
	text   string
	status int
}

// Error implements error.
func (b bug) Error() string { return b.text }

// ExitStatus returns the status of a process that ends because of the bug.
func (b bug) ExitStatus() int { return b.status }

// bugIn returns the error of a panic, in one line. A deferred function calls bugIn. If the training
// has a checkpoint, the line names the command that continues the training. A page of rows that
// cannot be read is not a bug.
func (a *app) bugIn(p any) bug {
	value, place := p, relay.Place()
	if worker, ok := p.(*relay.Panic); ok {
		value, place = worker.Value, worker.Place
	}
	if place != "" {
		place = " (" + place + ")"
	}
	advice := ""
	if a.training != "" {
		if _, err := os.Stat(filepath.Join(a.training, rundir.CheckpointName)); err == nil {
			advice = "; to continue from the last checkpoint: " + resumeLine(a.training)
		}
	}
	if fault := mapped.Fault(value); fault != nil {
		return bug{printable(fault.Error()) + advice, exitFailed}
	}
	return bug{fmt.Sprintf("a bug: %s%s; please report it with the command line, and the stacks that GOTRACEBACK=all prints%s",
		shortened(printable(strings.Join(strings.Fields(fmt.Sprint(value)), " "))), place, advice), exitBug}
}
