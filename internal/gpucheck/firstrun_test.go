package gpucheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// firstRun runs a step of first-run.sh with a program that runs script, and returns the step's log.
func firstRun(t *testing.T, step, script string, set ...string) (log string, err error) {
	t.Helper()
	dir := t.TempDir()
	pack := exec.Command("xz", "-c")
	pack.Stdin = strings.NewReader("#!/bin/sh\n" + script)
	packed, err := pack.Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ppal-gpu.xz"), packed, 0o600))
	cmd := exec.Command("sh", "first-run.sh", step, dir)
	cmd.Env = append(os.Environ(), "OUT="+filepath.Join(dir, "out"), "PPAL_WORK="+filepath.Join(dir, "work"), "PPAL_CUBLAS=none",
		"FIRST_RUN_ROOT="+dir)
	cmd.Env = append(cmd.Env, set...)
	out, err := cmd.CombinedOutput()
	content, readErr := os.ReadFile(filepath.Join(dir, "out", "step"+step+".log"))
	if readErr != nil {
		t.Fatalf("%v\n%s", readErr, out)
	}
	return string(content), err
}

// A step goes on after a command that fails, and reports every command's outcome.
func TestFirstRunGoesOn(t *testing.T) {
	log, err := firstRun(t, "1", `echo "program $*"; [ "$1" != devices ]`+"\n")
	if err == nil {
		t.Error("the failures of a step do not fail the step")
	}
	for _, want := range []string{"== step 1: devices: failed with status 1", "program gpu-check --part parity --data-dir ", "== step 1: parity: done"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// A command that hangs ends at its limit, and the step goes on.
func TestFirstRunLimits(t *testing.T) {
	log, err := firstRun(t, "5", `case $* in *training*) sleep 60 ;; esac`+"\n", "FIRST_RUN_SECONDS=0.2")
	if err == nil {
		t.Error("a command that hangs does not fail the step")
	}
	for _, want := range []string{"== step 5: training: stopped after 0.2 s", "== step 5: memcheck: "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// Step 0 unpacks the program and the images, which are then as before the packing.
func TestFirstRunUnpacks(t *testing.T) {
	dir := t.TempDir()
	data, folder := filepath.Join(dir, "fashion-mnist"), filepath.Join(dir, "pack")
	pixels := strings.Repeat("pixels", 1000)
	write := exec.Command("sh", "-c", `mkdir "$0" && for f in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
		printf %s "$1" | gzip -c >"$0/$f-ubyte.gz" || exit 1; done; printf %s "$1" >"$0/../program"`, data, pixels)
	pack := exec.Command("sh", "pack.sh", filepath.Join(dir, "program"), dir, folder)
	unpack := exec.Command("sh", "first-run.sh", "0", folder)
	unpack.Env = append(os.Environ(), "PPAL_WORK="+filepath.Join(dir, "work"))
	for _, cmd := range []*exec.Cmd{write, pack, unpack} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	for _, name := range []string{"ppal-gpu", "fashion-mnist/train-images-idx3-ubyte", "fashion-mnist/t10k-images-idx3-ubyte"} {
		if got, err := os.ReadFile(filepath.Join(dir, "work", name)); err != nil || string(got) != pixels {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "work", "fashion-mnist", "train-labels-idx1-ubyte.gz")); err != nil {
		t.Error(err)
	}
}

// Without a step, the script prints its steps.
func TestFirstRunUsage(t *testing.T) {
	out, err := exec.Command("sh", "first-run.sh").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "first-run.sh STEP [FOLDER]") || !strings.Contains(string(out), "4 (420)  the part peers") {
		t.Errorf("%v: %s", err, out)
	}
}
