package gpucheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/config"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
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

// A step goes on after a command that fails or that hangs until its limit, and reports every
// command's outcome.
func TestFirstRunGoesOn(t *testing.T) {
	for _, c := range []struct {
		step, program string
		set, want     []string
	}{
		{"1", `echo "program $*"; [ "$1" != devices ]`, nil,
			[]string{"== step 1: devices: failed with status 1", "program gpu-check --part parity --data-dir ", "== step 1: parity: done"}},
		{"5", `case $* in *training*) sleep 60 ;; esac`, []string{"FIRST_RUN_SECONDS=0.2"},
			[]string{"== step 5: training: stopped after 0.2 s", "== step 5: memcheck: "}},
	} {
		log, err := firstRun(t, c.step, c.program+"\n", c.set...)
		if err == nil {
			t.Errorf("the failures of step %s do not fail it", c.step)
		}
		for _, want := range c.want {
			if !strings.Contains(log, want) {
				t.Errorf("the log lacks %q:\n%s", want, log)
			}
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

// A command opens, reads, trains, certifies and writes its files, and lists its seconds by part.
func TestCommands(t *testing.T) {
	c := command{name: "small", settings: config.Values{"dataset": "synthetic", "rows-per-class": "20", "hidden": "4", "iterations": "2"}, seconds: 1e-9}
	r := double.New(double.Options{})
	sum := require.Value(c.run(t.Context(), Options{Open: func() (driver.Driver, error) { return r, nil }}))(t)
	list := c.results(sum)
	if list[0].Status != Failed || list[0].Value <= 0 {
		t.Errorf("%+v exceeds its bound", list[0])
	}
	parts := map[string]float64{}
	for _, result := range list[1:] {
		if result.Status != Measured {
			t.Errorf("%+v", result)
		}
		parts[result.Name] = result.Value
	}
	if parts["small: opening, beside reading"] <= 0 || parts["small: reading"] <= 0 || parts["small: certificates"] <= 0 || parts["small: files"] <= 0 {
		t.Errorf("%v", parts)
	}
	if r.Count("Close") != 1 || r.Violations() != nil {
		t.Errorf("closed %d times, %v", r.Count("Close"), r.Violations())
	}
	for _, k := range commandCases() {
		if missing, err := k.Run(t.Context(), Options{}); err != nil || len(missing) != 1 || missing[0].Status != NotRun {
			t.Errorf("%s without data: %+v, %v", k.Name, missing, err)
		}
	}
}

// A run with a process for each GPU has the program of MPI, all GPUs, the command's settings and a
// directory, and its objective is compared with that of one process.
func TestRanked(t *testing.T) {
	c := command{settings: config.Values{"dataset": "synthetic", "rows-per-class": "20", "hidden": "4", "iterations": "2"}}
	tool := script(t, "mpirun", `case "$*" in "-n 2 $PROGRAM train --out "*"--iterations 2"*) mkdir "$6" && echo "{\"objective\": $OBJECTIVE}" >"$6/summary.json" ;; *) echo "wrong: $*" ;; esac; exit 3`)
	self := script(t, "ppal-gpu", "")
	t.Setenv("PATH", filepath.Dir(tool)+":"+os.Getenv("PATH"))
	t.Setenv("PROGRAM", filepath.Join(filepath.Dir(self), rankedFile))
	o := onDouble(t)
	o.Self, o.GPUs = self, 2
	if got, err := c.ranked(t.Context(), o); err != nil || len(got) != 1 || got[0].Status != NotRun || !strings.Contains(got[0].Detail, "make mpi-gpu") {
		t.Errorf("without the program: %+v, %v", got, err)
	}
	require.NoError(t, os.WriteFile(os.Getenv("PROGRAM"), nil, 0o755))
	for objective, want := range map[string]Status{"1.5": Passed, "1.6": Failed} {
		t.Setenv("OBJECTIVE", objective)
		got, err := c.ranked(t.Context(), o)
		if err != nil || len(got) < 3 || got[len(got)-1].Status != want {
			t.Errorf("f = %s: %+v, %v", objective, got, err)
		}
	}
	c.settings["iterations"] = "3"
	if got, err := c.ranked(t.Context(), o); err != nil || len(got) != 1 || got[0].Status != Failed || !strings.Contains(got[0].Detail, "wrong: ") {
		t.Errorf("another command: %+v, %v", got, err)
	}
}
