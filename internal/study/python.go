package study

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

// Python is the environment of the libraries with which ppal is compared.
type Python struct {
	Interpreter string // .venv-peers/bin/python in a checkout
	Modules     string // folder of the package peers: internal in a checkout
	Threads     int    // number of threads of a process
	Log         string // the processes append their stderr to this file
}

// errNoPython marks a missing environment of the other libraries.
var errNoPython = errors.New("the other libraries cannot be measured")

// FindPython returns the environment that `make peers` makes in a checkout of ppal. program is a
// file of the package peers that the environment must have. The error wraps errNoPython and says
// how to make the environment.
func FindPython(checkout, program, log string, threads int) (*Python, error) {
	log, err := filepath.Abs(log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoPython, err)
	}
	p := &Python{Interpreter: filepath.Join(checkout, ".venv-peers", "bin", "python"), Modules: filepath.Join(checkout, "internal"), Threads: threads, Log: log}
	for _, path := range []string{p.Interpreter, filepath.Join(p.Modules, "peers", program)} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%w: there is no %s; in a checkout of ppal, make the Python environment with `make peers` and repeat the command there", errNoPython, path)
		}
	}
	return p, nil
}

// command returns a process of a Python module. The caller closes the log after the process has
// started.
func (p *Python) command(ctx context.Context, module string, arguments ...string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	threads := strconv.Itoa(p.Threads)
	c := exec.CommandContext(ctx, p.Interpreter, append([]string{"-m", module}, arguments...)...)
	c.Env = append(os.Environ(), "PYTHONPATH="+p.Modules, "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=",
		"OMP_NUM_THREADS="+threads, "OPENBLAS_NUM_THREADS="+threads, "MKL_NUM_THREADS="+threads)
	c.Stderr = log
	return c, log, nil
}

// Output runs a module to its end and returns its output.
func (p *Python) Output(ctx context.Context, module string, arguments ...string) ([]byte, error) {
	c, log, err := p.command(ctx, module, arguments...)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w (see %s)", module, err, p.Log)
	}
	return text, nil
}

// Process is a running Python process that answers requests. A request is a line of JSON on its
// input, and the answer is a line of JSON on its output. One process answers many requests, because
// importing a library takes longer than many a request.
type Process struct {
	command  *exec.Cmd
	requests io.WriteCloser
	replies  *bufio.Reader
	kill     context.CancelFunc
}

// Start starts a process, which is killed when ctx is cancelled. The caller calls Close.
func (p *Python) Start(ctx context.Context, module string, arguments ...string) (*Process, error) {
	ctx, kill := context.WithCancel(ctx)
	c, log, err := p.command(ctx, module, arguments...)
	if err != nil {
		kill()
		return nil, err
	}
	defer log.Close() // the process has its own copy
	requests, err := c.StdinPipe()
	var replies io.ReadCloser
	if err == nil {
		replies, err = c.StdoutPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		kill()
		return nil, fmt.Errorf("%s: %w", module, err)
	}
	return &Process{c, requests, bufio.NewReader(replies), kill}, nil
}

// Ask sends a request and reads the answer into reply.
func (p *Process) Ask(request, reply any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.requests.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("the process ended: %w", err)
	}
	return p.Receive(reply)
}

// Receive reads a line that the process writes without a request, such as its greeting.
func (p *Process) Receive(reply any) error {
	line, err := p.replies.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the process ended: %w", err)
	}
	return json.Unmarshal(line, reply)
}

// Kill kills the process. A call that waits for an answer returns an error.
func (p *Process) Kill() { p.kill() }

// Close ends the process after its last answer.
func (p *Process) Close() {
	p.requests.Close()
	p.command.Wait() //nolint:errcheck // all answers have been read
	p.kill()
}
