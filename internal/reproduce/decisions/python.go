package decisions

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Python is the environment of the other libraries.
type Python struct {
	Interpreter string // .venv-peers/bin/python in a checkout
	Modules     string // folder of the package peers: internal in a checkout
	Threads     int
	Log         string // the workers append their stderr to this file
}

// FindPython returns the environment that `make peers` makes in a checkout of ppal.
func FindPython(checkout, log string, threads int) *Python {
	return &Python{Interpreter: filepath.Join(checkout, ".venv-peers", "bin", "python"), Modules: filepath.Join(checkout, "internal"), Threads: threads, Log: log}
}

// ErrNoPython marks a missing environment of the other libraries.
var ErrNoPython = errors.New("the other libraries cannot be measured")

// Check returns an error if the environment is missing. The error wraps ErrNoPython and says how
// to make the environment.
func (p Python) Check() error {
	for _, path := range []string{p.Interpreter, filepath.Join(p.Modules, "peers", "decisions", "peer.py")} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w: there is no %s; in a checkout of ppal, make the Python environment with `make peers` and repeat the command there", ErrNoPython, path)
		}
	}
	return nil
}

// worker is a running Python process that serves one library.
type worker struct {
	name     string
	process  *exec.Cmd
	requests io.WriteCloser
	replies  *bufio.Reader
	versions map[string]string
}

// start starts the process of a library.
func (p Python) start(ctx context.Context, name string) (*worker, error) {
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own copy
	threads := strconv.Itoa(p.Threads)
	w := &worker{name: name, process: exec.CommandContext(ctx, p.Interpreter, "-m", "peers.worker", name, threads)}
	w.process.Env = append(os.Environ(), "PYTHONPATH="+p.Modules, "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=",
		"OMP_NUM_THREADS="+threads, "OPENBLAS_NUM_THREADS="+threads, "MKL_NUM_THREADS="+threads)
	w.process.Stderr = log
	if w.requests, err = w.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.replies = bufio.NewReader(out)
	if err := w.process.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := w.reply(&w.versions); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// failure is the error that a library reported.
type failure struct{ text string }

func (f failure) Error() string { return f.text }

// reply reads a reply into result. The error is a failure if the library reported an error.
func (w *worker) reply(result any) error {
	line, err := w.replies.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s: the process ended: %w", w.name, err)
	}
	var r struct {
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	if r.Error != "" {
		return failure{w.name + ": " + r.Error}
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}

// fit requests a fit on the rows in a folder. A failure of the library becomes part of the result.
func (w *worker) fit(call, folder string, into *Fit) error {
	request := map[string]any{"call": "fit", "arguments": map[string]any{
		"contender": call, "folder": folder, "kind": into.Kind, "bound": into.Bound, "setting": into.Setting}}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := w.requests.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	var r struct {
		Seconds, CPU float64
		Points       []Point
		Notes        []string
	}
	err = w.reply(&r)
	var failed failure
	if errors.As(err, &failed) {
		into.Failure = failed.text
		return nil
	}
	into.Seconds, into.CPU, into.Points, into.Notes = r.Seconds, r.CPU, r.Points, r.Notes
	return err
}

// close ends the process.
func (w *worker) close() {
	w.requests.Close()
	w.process.Wait() //nolint:errcheck // all results have been read
}
