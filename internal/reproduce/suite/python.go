package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ppal/trainer/option"
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

// command returns a process of a Python module, with one thread. The caller closes the log after
// the process has started.
func (p *Python) command(ctx context.Context, module string, arguments ...string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	c := exec.CommandContext(ctx, p.Interpreter, append([]string{"-m", module}, arguments...)...)
	c.Env = append(os.Environ(), "PYTHONPATH="+p.Modules, "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=",
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	c.Stderr = log
	return c, log, nil
}

// settings returns the settings of every contender, in the order of their grids. A setting is JSON.
func (p *Python) settings(ctx context.Context) (map[string][]string, error) {
	c, log, err := p.command(ctx, "peers.suite", "--list")
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

// worker is a running Python process that runs contenders, one after the other. Importing a
// library takes longer than many a run.
type worker struct {
	python   *Python
	limit    time.Duration // longest time of a run
	process  *exec.Cmd
	requests io.WriteCloser
	replies  *bufio.Reader
	kill     context.CancelFunc
}

// start starts the process unless it runs.
func (w *worker) start() error {
	if w.process != nil {
		return nil
	}
	ctx, kill := context.WithCancel(context.Background())
	c, log, err := w.python.command(ctx, "peers.suite.worker")
	if err != nil {
		kill()
		return err
	}
	defer log.Close() // the process has its own copy
	requests, err := c.StdinPipe()
	if err != nil {
		kill()
		return err
	}
	replies, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		kill()
		return fmt.Errorf("suite: %w", err)
	}
	w.process, w.requests, w.replies, w.kill = c, requests, bufio.NewReader(replies), kill
	return nil
}

// close ends the process at the end of its run.
func (w *worker) close() {
	if w.process != nil {
		w.requests.Close()
		w.process.Wait() //nolint:errcheck // all results have been read
		w.kill()
		w.process = nil
	}
}

// run runs a contender through an oracle and reads the oracle's trace. An error of the contender
// becomes the run's failure.
func (w *worker) run(ctx context.Context, dataDir, trace string, into *Run) error {
	if err := w.start(); err != nil {
		return err
	}
	oracle := []string{w.python.Program, "reproduce", Name, "--oracle", into.Problem, "--threads", "1", "--data-dir", dataDir, "--trace", trace}
	for i, word := range oracle {
		oracle[i] = option.ShellWord(word)
	}
	request, err := json.Marshal([]string{"--oracle", strings.Join(oracle, " "), "--contender", into.Contender,
		"--setting", into.Setting, "--evaluations", strconv.Itoa(into.Limit)})
	if err != nil {
		return err
	}
	defer os.Remove(trace)
	limited, stop := context.WithTimeout(ctx, w.limit)
	defer stop()
	stopKilling := context.AfterFunc(limited, w.kill)
	reply, err := w.ask(request)
	stopKilling()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		into.Failure = fmt.Sprintf("stopped after %v", w.limit)
	case err != nil:
		into.Failure = fmt.Sprintf("the process ended (see %s)", w.python.Log)
	case reply.Missing != "":
		return errNotInstalled
	default:
		into.Failure = reply.Error
	}
	if err != nil {
		w.close()
	}
	err = into.readTrace(trace)
	if errors.Is(err, fs.ErrNotExist) && limited.Err() != nil {
		return nil // the run was stopped before the oracle began
	}
	if err != nil {
		return fmt.Errorf("suite: %s on %s: %w (see %s)", into.Contender, into.Problem, err, w.python.Log)
	}
	return nil
}

// reply is an answer of the process.
type reply struct{ Missing, Error string }

// ask sends a request and reads the answer.
func (w *worker) ask(request []byte) (r reply, err error) {
	if _, err := w.requests.Write(append(request, '\n')); err != nil {
		return r, err
	}
	line, err := w.replies.ReadBytes('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}
