package cmd

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/disk"
	"ppal/internal/relay"
	"ppal/internal/require"
	"ppal/trainer/session"
)

// A panic is one line that says where it came from, with a status of its own.
func TestPanicIsABug(t *testing.T) {
	t.Setenv("GOTRACEBACK", "")
	open := func(context.Context, session.Options) (*session.Session, error) {
		var none *session.Session
		none.Describe()
		return nil, nil
	}
	got := commandOn(t.Context(), func(a *app) { a.open = open }, "train", "--iterations", "1", "--quiet", "--out", t.TempDir())
	if got.status != exitBug || strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "ppal: a bug: runtime error: ") ||
		!strings.Contains(got.stderr, "(ppal/trainer/session.(*Session).Describe in session.go:") {
		t.Errorf("status %d, %q", got.status, got.stderr)
	}
}

// A panic of a goroutine of the CPU device is one line, which names the command to resume if there
// is a checkpoint.
func TestWorkersPanicIsABug(t *testing.T) {
	t.Setenv("GOTRACEBACK", "")
	device := require.Value(cpu.New(kernel.Go, 2))(t)
	defer device.Close()
	for _, every := range []string{"0", "1ns"} {
		dir := filepath.Join(t.TempDir(), "run")
		open := func(_ context.Context, o session.Options) (*session.Session, error) {
			return openStub(o, func(s *stub) {
				s.during = func(evaluation int) {
					device.Parallel(func(worker int) {
						if evaluation == 20 && worker == 1 {
							panic("two\nlines")
						}
					})
				}
			})
		}
		got := commandOn(t.Context(), func(a *app) { a.open = open }, "train", "--iterations", "1000", "--quiet", "--checkpoint-every", every, "--out", dir)
		if got.status != exitBug || strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "ppal: a bug: two lines (ppal/cmd.TestWorkersPanicIsABug.") {
			t.Errorf("status %d, %q", got.status, got.stderr)
		}
		if resumes := strings.HasSuffix(got.stderr, "to continue from the last checkpoint: ppal train --resume "+dir+"\n"); resumes != (every != "0") {
			t.Errorf("--checkpoint-every %s: %q", every, got.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, disk.LockName)); err == nil {
			t.Error("the lock is still there")
		}
	}
	if err := (&app{}).interruptible(t.Context(), func() error { return errors.New("an error") }); err == nil || err.Error() != "an error" {
		t.Error(err)
	}
	defer func() {
		if p, ok := recover().(*relay.Panic); !ok || p.Value != "in a goroutine" {
			t.Errorf("%+v", p)
		}
	}()
	_ = (&app{}).interruptible(t.Context(), func() error { panic("in a goroutine") })
}

func TestPrintable(t *testing.T) {
	if got, want := printable("a\x1b[31mred\x07\u009b\tb\n\u00e9"), "a\ufffd[31mred\ufffd\ufffd\tb\n\u00e9"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c" {
		if got, want := printable("a"+string(r)+"b"), fmt.Sprintf(`a\u%04xb`, r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := shortened(strings.Repeat("\u00e9", longest)); len(got) > longest+10 || !strings.Contains(got, " ... ") || strings.Contains(got, "\ufffd") {
		t.Errorf("%d bytes", len(got))
	}
	if got := shortened("short"); got != "short" {
		t.Error(got)
	}
}

// Names with control characters reach neither the terminal nor the pictures as they are.
func TestControlCharactersInNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rows.csv")
	rows := "age,sex,hired\n" + strings.Repeat("31,f\x1b[31m,no\n42,m\x07\u202e,yes\n25,f\x1b[31m,yes\n37,m\x07\u202e,no\n", 10)
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o644))
	out := dir + "/run\u202e\x07"
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, "train", "--dataset", "csv", "--file", file, "--label", "hired=yes", "--group", "sex", "--split", "100/0/0", "--problem", "dp",
		"--iterations", "3", "--allow-violation", "--out", out)
	if got.status != exitDone {
		t.Fatalf("status %d, %s", got.status, got.stderr)
	}
	for name, text := range map[string]string{"stdout": got.stdout, "stderr": got.stderr} {
		if strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%s: %q", name, text)
		}
	}
	rates := command(t.Context(), nil, "evaluate", out, "--input", file)
	if !strings.Contains(rates.stdout, "f\ufffd[31m") || !strings.Contains(rates.stdout, `\u202e`) || strings.ContainsAny(rates.stdout, "\x1b\x07\u202e") {
		t.Errorf("evaluate: status %d, %s\n%q", rates.status, rates.stderr, rates.stdout)
	}
	for _, status := range []int{exitDone, exitFailed} { // verified, and without the data
		verified := command(t.Context(), nil, "verify", out)
		if all := verified.stdout + verified.stderr; verified.status != status || !strings.Contains(all, `run\u202e`) || strings.ContainsAny(all, "\x1b\x07\u202e") {
			t.Errorf("verify: status %d, %q", verified.status, all)
		}
		if err := os.Remove(file); err != nil && status == exitDone {
			t.Fatal(err)
		}
	}
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o644))
	pictures, err := filepath.Glob(out + "/plots/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%d pictures, %v", len(pictures), err)
	}
	for _, path := range pictures {
		svg, err := os.ReadFile(path)
		require.NoError(t, err)
		for d := xml.NewDecoder(bytes.NewReader(svg)); err == nil; {
			_, err = d.Token()
		}
		if err != io.EOF {
			t.Errorf("%s: %v", path, err)
		}
	}
	got = commandOn(t.Context(), func(a *app) { a.open = session.New }, "train", "--dataset", "csv", "--file", file, "--label", "hired=\x1b[31m", "--problem", "dp")
	if got.status != exitUsage || strings.Contains(got.stderr, "\x1b") {
		t.Errorf("status %d, %q", got.status, got.stderr)
	}
}

// A directory that is not empty is refused before the data are read.
func TestOutIsCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	open := func(context.Context, session.Options) (*session.Session, error) {
		t.Error("the data were read")
		return nil, errors.New("no data")
	}
	got := commandOn(t.Context(), func(a *app) { a.open = open }, "train", "--quiet", "--out", dir)
	if got.status != exitUsage || !strings.Contains(got.stderr, "not empty: give --out a new directory") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
}

// Files of settings have a largest size, and grids a largest number of points.
func TestSettingsAreBounded(t *testing.T) {
	dir := t.TempDir()
	large, grid := filepath.Join(dir, "large.yaml"), filepath.Join(dir, "grid.yaml")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, 17<<20))
	keys := "gdpa:\n"
	for _, key := range []string{"step", "penalty", "perturbation", "ratio", "momentum"} {
		keys += "  " + key + ": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
	}
	require.NoError(t, os.WriteFile(grid, []byte(keys), 0o644))
	for args, want := range map[string]string{
		"train --config " + large: "too large: it has 17825792 bytes", "compare --tune " + large: "too large: it has 17825792 bytes",
		"compare --methods gdpa --tune " + grid: ":6: invalid comparison: the grid of gdpa has more than 10000 points",
	} {
		if got := command(t.Context(), nil, strings.Fields(args)...); got.status != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: status %d, %s", args, got.status, got.stderr)
		}
	}
}
