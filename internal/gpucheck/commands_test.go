package gpucheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/config"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

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
