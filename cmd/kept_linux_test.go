package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppal/internal/checkpoint"
	"ppal/internal/require"
)

// keptRun trains on a table whose rows are in a kept file, calls change with the file's path once
// the run has a checkpoint, and interrupts the run. It returns the exit status and stderr.
func keptRun(t *testing.T, change func(kept, run string)) (status int, stderr, run string) {
	t.Helper()
	dir := t.TempDir()
	run = filepath.Join(dir, "run")
	cmd := process("train", "--file", writeNumbers(t, 4000), "--label", "y=true", "--model", "mlp", "--hidden", "4", "--subject-to", "gap(positive_rate, sex) <= 0.3",
		"--iterations", "1000000", "--time-limit", "60s", "--memory", "64MiB", "--memory-limit", "none", "--threads", "2", "--checkpoint-every", "1ms", "--record-every", "10",
		"--quiet", "--allow-violation", "--out", run)
	var out bytes.Buffer
	cmd.Stderr = &out
	start(t, cmd)
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(run, checkpoint.Name)); err == nil {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatal("no checkpoint: " + out.String())
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "ppal-rows", "*.rows"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	change(files[0], run)
	require.NoError(t, cmd.Process.Signal(os.Interrupt)) // the certificate reads the rows
	return exitStatus(cmd.Wait()), out.String(), run
}

// A kept file that is shortened while a run reads it ends the run in one line, with the command
// that resumes it and the status of a failure.
func TestShortenedRows(t *testing.T) {
	require.NoRace(t, "a process of its own has no race detector")
	status, stderr, run := keptRun(t, func(kept, _ string) {
		require.NoError(t, os.Truncate(kept, 0))
	})
	if status != exitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "cannot be read: another process shortened the file, or the disk fails") ||
		!strings.Contains(stderr, resumeLine(run)) {
		t.Errorf("status %d: %s", status, stderr)
	}
}
