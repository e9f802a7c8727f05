package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/config"
	"ppal/internal/experiment"
	"ppal/internal/rundir"
)

// The files, the table and the log of a whole run.
func TestTrain(t *testing.T) {
	t.Chdir(t.TempDir())
	got := command(t.Context(), nil, "train", "--iterations", "300", "--preset", "paper", "--kappa", "1,3", "--classes", "0,1,2", "--eta", "0.02", "--record-every", "100")
	if got.status != exitDone {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	dir := rundir.Dir(filepath.Join("runs", "20260304-050607-mnpc-ppala"))
	configuration, err := os.ReadFile(dir.Config())
	if err != nil {
		t.Fatal(err)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil {
		t.Fatal(err)
	}
	records, err := rundir.ReadMetrics(dir.Metrics())
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 4 || records[3].Iteration != 300 || records[3].Measures["test_error"] != 0.5 {
		t.Errorf("records: %+v", records)
	}
	if summary.Status != "iteration limit" || summary.Iterations != 300 || summary.Device != "stub" || summary.PeakBytes == 0 || len(summary.Warnings) < 1 ||
		summary.Warnings[0] != "class dress: the bound constrains nothing" || summary.Objective != 1 {
		t.Errorf("summary: %+v", summary)
	}
	for _, path := range []string{dir.Model(), filepath.Join(dir.Plots(), "overview.svg"), filepath.Join(dir.Plots(), "multipliers-seconds.svg")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if strings.Contains(got.stderr, "\r") {
		t.Error("a carriage return in the log")
	}
	// Back to where the golden files are.
	t.Chdir(packageDir)
	golden(t, "train.stdout", settled(got.stdout))
	golden(t, "train.stderr", settled(got.stderr))
	golden(t, "train.config.yaml", settled(string(configuration)))
}

// packageDir is the tests' first working directory.
var packageDir, _ = os.Getwd()

func TestTrainQuiet(t *testing.T) {
	got := command(t.Context(), nil, "train", "--quiet", "--iterations", "10", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone || got.stderr != "" || !strings.Contains(got.stdout, "certificate") {
		t.Errorf("%+v", got)
	}
}

func TestTrainJSONLog(t *testing.T) {
	got := command(t.Context(), nil, "train", "--log-format", "json", "--iterations", "10", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone || !strings.HasPrefix(got.stderr, `{"time":`) || !strings.Contains(got.stderr, `"msg":"training","iteration":10,"of":10`) {
		t.Errorf("%+v", got)
	}
}

// On a terminal a bar; messages stand above it.
func TestTrainBar(t *testing.T) {
	got := commandOn(t.Context(), func(a *app) { a.terminal = true }, "train", "--iterations", "2000", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone || !strings.Contains(got.stderr, "(2000/2000)") || !strings.Contains(got.stderr, "\r") || strings.Contains(got.stderr, "level=") {
		t.Errorf("status %d: %q", got.status, got.stderr)
	}
	if !strings.Contains(got.stderr, "warning: class dress: the bound constrains nothing\n") {
		t.Errorf("no warning: %q", got.stderr)
	}
}

// Ctrl-C: the files are written, the status is 130.
func TestTrainInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	prepare := func(s *stub) {
		s.during = func(evaluation int) {
			if evaluation == 50 {
				cancel()
			}
		}
	}
	got := command(ctx, prepare, "train", "--quiet", "--iterations", "100000", "--out", string(dir))
	if got.status != exitInterrupted || !strings.HasPrefix(got.stderr, "ppal: interrupted after ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil || summary.Status != "interrupted" || summary.Iterations > 60 {
		t.Errorf("%+v, %v", summary, err)
	}
	if _, err := os.Stat(dir.Model()); err != nil {
		t.Error(err)
	}
}

// An objective that is not finite: one line that names it, status 1, the summary of the last record, and no such number in a file.
func TestTrainNotFinite(t *testing.T) {
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	got := command(t.Context(), func(s *stub) { s.f = math.NaN() }, "train", "--quiet", "--iterations", "100", "--out", string(dir))
	if got.status != exitFailed || !strings.Contains(got.stderr, "the objective is NaN at iteration") || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil || summary.Status != "failed" || !strings.Contains(summary.Error, "NaN") || math.IsNaN(summary.Objective) {
		t.Errorf("%+v, %v", summary, err)
	}
	if _, err := os.Stat(dir.Model()); !os.IsNotExist(err) {
		t.Errorf("a model of a failed run: %v", err)
	}
}

// Errors before the run leave no directory.
func TestTrainNoData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	got := commandOn(t.Context(), func(a *app) {
		a.open = func(config.Train, string) (trial, error) { return nil, errNoData }
	}, "train", "--quiet", "--out", dir)
	if got.status != exitFailed || got.stderr != "ppal: no data\n" {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a directory was left: %v", err)
	}
}

// The real thing, small: the built-in data, a tiny network.
func TestTrainForReal(t *testing.T) {
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	got := commandOn(t.Context(), func(a *app) {
		a.open = func(cfg config.Train, dataDir string) (trial, error) { return experiment.New(cfg, dataDir) }
	}, "train", "--quiet", "--rows-per-class", "20", "--hidden", "4", "--iterations", "5", "--out", string(dir))
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil || len(summary.Certificate.Nu) != 3 || len(summary.Test) == 0 {
		t.Errorf("%+v, %v", summary, err)
	}
}
