package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ppal/internal/require"
)

// stub returns an environment whose interpreter is a shell script.
func stub(t *testing.T, script string) *Python {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for Python is a shell script")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python"), []byte("#!/bin/sh\n"+script), 0o755))
	return &Python{Interpreter: filepath.Join(dir, "python"), Modules: dir, Threads: 3, Log: filepath.Join(dir, "log")}
}

// A process gets its arguments and its environment, and answers each line with a line. Its stderr
// is in the log.
func TestProcess(t *testing.T) {
	p := stub(t, `echo "\"$*, $OMP_NUM_THREADS threads\""
echo noise >&2
while read -r line; do echo "{\"got\": $line}"; done`)
	process := require.Value(p.Start(t.Context(), "peers.worker", "name"))(t)
	var greeting string
	if err := process.Receive(&greeting); err != nil || greeting != "-m peers.worker name, 3 threads" {
		t.Errorf("%q, %v", greeting, err)
	}
	for _, request := range []int{1, 2} {
		var reply struct{ Got int }
		if err := process.Ask(request, &reply); err != nil || reply.Got != request {
			t.Errorf("%v, %v", reply, err)
		}
	}
	process.Close()
	if log, err := os.ReadFile(p.Log); err != nil || string(log) != "noise\n" {
		t.Errorf("%q, %v", log, err)
	}
	if err := process.Ask(3, new(int)); err == nil {
		t.Error("an answer after the end")
	}
}

// A process that is killed, that ends or that answers with no JSON gives an error and does not
// hang.
func TestProcessEnds(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"ends": {"exit 1", "the process ended"}, "no JSON": {"read -r line; echo half a", "invalid character"}, "hangs": {"exec sleep 60", "the process ended"},
	} {
		p := stub(t, c.script)
		process := require.Value(p.Start(t.Context(), "module"))(t)
		if name == "hangs" {
			process.Kill()
		}
		if err := process.Ask(1, new(int)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		process.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	process := require.Value(stub(t, "exec sleep 60").Start(ctx, "module"))(t)
	cancel()
	if err := process.Ask(1, new(int)); err == nil {
		t.Error("an answer after the context was cancelled")
	}
	process.Close()
}

// A program or a log that is missing is an error.
func TestStartFails(t *testing.T) {
	p := stub(t, "")
	p.Interpreter += "-none"
	if _, err := p.Start(t.Context(), "module"); err == nil || !strings.Contains(err.Error(), "module: ") {
		t.Errorf("no interpreter: %v", err)
	}
	p.Log = filepath.Join(p.Log, "none")
	if _, err := p.Start(t.Context(), "module"); err == nil {
		t.Error("no error without a log")
	}
	if _, err := p.Output(t.Context(), "module"); err == nil {
		t.Error("no error without a log")
	}
}

func TestOutput(t *testing.T) {
	if text, err := stub(t, `echo "$*"`).Output(t.Context(), "module", "--list"); err != nil || string(text) != "-m module --list\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := stub(t, "exit 3").Output(t.Context(), "module"); err == nil || !strings.Contains(err.Error(), "module: exit status 3 (see ") {
		t.Error(err)
	}
}

// Without the Python environment, the reason says how to make the environment.
func TestFindPython(t *testing.T) {
	checkout := t.TempDir()
	if _, err := FindPython(checkout, "decisions/peer.py", "log", 1); !errors.Is(err, errNoPython) || !strings.Contains(err.Error(), "make peers") {
		t.Error(err)
	}
	for _, path := range []string{".venv-peers/bin/python", "internal/peers/decisions/peer.py"} {
		path = filepath.Join(checkout, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
	}
	p, err := FindPython(checkout, "decisions/peer.py", "log", 2)
	if err != nil || p.Threads != 2 || !filepath.IsAbs(p.Log) || p.Modules != filepath.Join(checkout, "internal") {
		t.Errorf("%+v, %v", p, err)
	}
}
