package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Python is the environment of the other optimisers.
type Python struct {
	Interpreter string // .venv-peers/bin/python in a checkout
	Modules     string // folder of the package peers: internal in a checkout
	Program     string // this program, which serves the oracles
	Log         string // the processes append their stderr to this file
}

// ErrNoPython marks a missing environment of the other optimisers.
var ErrNoPython = errors.New("the other optimisers cannot be measured")

// FindPython returns the environment that `make peers` makes in a checkout of ppal. The error wraps
// ErrNoPython and says how to make the environment.
func FindPython(checkout, log string) (*Python, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	if log, err = filepath.Abs(log); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	p := &Python{Interpreter: filepath.Join(checkout, ".venv-peers", "bin", "python"), Modules: filepath.Join(checkout, "internal"), Program: program, Log: log}
	for _, path := range []string{p.Interpreter, filepath.Join(p.Modules, "peers", "suite", "__main__.py")} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%w: there is no %s; in a checkout of ppal, make the Python environment with `make peers` and repeat the command there", ErrNoPython, path)
		}
	}
	return p, nil
}

// notInstalled is the exit status of a process whose library is missing.
const notInstalled = 3

// runLimit is the longest time of one optimiser on one problem. An optimiser that hangs keeps the
// evaluations up to then.
const runLimit = 10 * time.Minute

// command returns a process of the package peers.suite, with one thread. The caller closes the log
// after the process has started.
func (p *Python) command(ctx context.Context, arguments ...string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	c := exec.CommandContext(ctx, p.Interpreter, append([]string{"-m", "peers.suite"}, arguments...)...)
	c.Env = append(os.Environ(), "PYTHONPATH="+p.Modules, "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=",
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	c.Stderr = log
	return c, log, nil
}

// settings returns the settings of every contender, in the order of their grids. A setting is JSON.
func (p *Python) settings(ctx context.Context) (map[string][]string, error) {
	c, log, err := p.command(ctx, "--list")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("suite: the list of the other optimisers: %w (see %s)", err, p.Log)
	}
	var list map[string][]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("suite: the list of the other optimisers: %w", err)
	}
	settings := map[string][]string{}
	for name, of := range list {
		for _, s := range of {
			settings[name] = append(settings[name], string(s))
		}
	}
	return settings, nil
}

// errNotInstalled is the error of a contender whose library is missing.
var errNotInstalled = errors.New("the library is not installed")

// run runs a contender through an oracle and reads the oracle's trace. An error of the contender
// becomes the run's failure.
func (p *Python) run(ctx context.Context, dataDir, trace string, into *Run) error {
	oracle := []string{p.Program, "reproduce", Name, "--oracle", into.Problem, "--threads", "1", "--data-dir", dataDir, "--trace", trace}
	for i, word := range oracle {
		oracle[i] = quoted(word)
	}
	limited, stop := context.WithTimeout(ctx, runLimit)
	defer stop()
	c, log, err := p.command(limited, "--oracle", strings.Join(oracle, " "), "--contender", into.Contender,
		"--setting", into.Setting, "--evaluations", strconv.Itoa(into.Limit))
	if err != nil {
		return err
	}
	defer log.Close()
	defer os.Remove(trace)
	ended := c.Run()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(ended, &status) && status.ExitCode() == notInstalled:
		return errNotInstalled
	case limited.Err() != nil:
		into.Failure = fmt.Sprintf("stopped after %v", runLimit)
	case ended != nil:
		into.Failure = fmt.Sprintf("%v (see %s)", ended, p.Log)
	}
	if err := into.readTrace(trace); err != nil {
		return fmt.Errorf("suite: %s on %s: %w (see %s)", into.Contender, into.Problem, err, p.Log)
	}
	return nil
}

// quoted quotes a word of a command line for a POSIX shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'" }
