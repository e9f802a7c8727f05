package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/rundir"
)

// often makes watch look often.
func often(a *app) { a.looks = time.Millisecond }

// A killed run: watch names the command that continues the run. Ctrl-C ends watch and not the run.
func TestWatchAKilledRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	cmd := process(endless(t, dir)...)
	start(t, cmd)
	records(t, dir, 2)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	got := commandOn(ctx, often, "watch", dir)
	if got.status != exitInterrupted || got.stderr != "ppal: stopped watching; this does not stop the run\n" || !strings.HasPrefix(got.stdout, "iteration ") {
		t.Errorf("Ctrl-C: %+v", got)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	before := require.Value(os.ReadDir(dir))(t)
	got = commandOn(t.Context(), often, "watch", dir)
	if got.status != exitFailed || !strings.HasPrefix(got.stderr, "ppal: the process of the run is gone, without a result after ") ||
		!strings.HasSuffix(got.stderr, "; to continue: ppal train --resume '"+dir+"'\n") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("killed: %+v", got)
	}
	if strings.ContainsAny(got.stdout, "\r\x1b") {
		t.Errorf("%q has codes for a terminal", got.stdout)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("watch changed the directory: %v, before %v, %v", after, before, err)
	}
}

// Without a terminal, the result of a finished run is plain lines. On a terminal, the lines replace
// each other.
func TestWatchAFinishedRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := tiny(t, dir, 50)
	if got := forReal(t, args...); got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	got := commandOn(t.Context(), often, "watch", dir)
	if got.status != exitDone || got.stderr != "" || !strings.Contains(got.stdout, ": 50 iterations (") || !strings.Contains(got.stdout, "gap(positive_rate, g)  0.2    ") {
		t.Errorf("%+v", got)
	}
	if strings.ContainsAny(got.stdout, "\r\x1b") {
		t.Errorf("%q has codes for a terminal", got.stdout)
	}
	// The same run, half done: the records grow while watch looks.
	summary := require.Value(os.ReadFile(rundir.Dir(dir).Summary()))(t)
	metrics := require.Value(os.ReadFile(rundir.Dir(dir).Metrics()))(t)
	lines := strings.SplitAfter(string(metrics), "\n")
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.NoError(t, os.Remove(rundir.Dir(dir).Summary()))
	write(rundir.Dir(dir).Metrics(), strings.Join(lines[:2], ""))
	looks := 0
	got = commandOn(t.Context(), func(a *app) {
		often(a)
		a.screen = func() (int, int, bool) {
			if looks++; looks == 2 { // the first look at the size is that of the kind of output
				write(rundir.Dir(dir).Metrics(), string(metrics))
				write(rundir.Dir(dir).Summary(), string(summary))
			}
			return 60, 20, true
		}
	}, "watch", dir)
	if got.status != exitDone || strings.Count(got.stdout, "\x1b[") != 2 || !strings.Contains(got.stdout, "A\x1b[J") {
		t.Errorf("%+v", got)
	}
	for _, line := range strings.Split(strings.Split(got.stdout, ": 50 iterations (")[0], "\n")[:5] {
		if len([]rune(line)) > 60+len("\x1b[10A\x1b[J") {
			t.Errorf("%q is wider than the terminal", line)
		}
	}
	dumb := commandOn(t.Context(), func(a *app) {
		often(a)
		a.screen = func() (int, int, bool) { return 60, 20, true }
		a.getenv = func(string) string { return "dumb" }
	}, "watch", dir)
	if dumb.status != exitDone || strings.Contains(dumb.stdout, "\x1b") {
		t.Errorf("%+v", dumb)
	}
}

func TestWatchRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none"), "no such file or directory"}, {dir, "is not the directory of a run"},
	} {
		if got := command(t.Context(), nil, "watch", c.path); got.status != exitUsage || !strings.Contains(got.stderr, c.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
	if got := command(t.Context(), nil, "watch"); got.status != exitUsage {
		t.Errorf("%+v", got)
	}
}
