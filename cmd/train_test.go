package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/session"
)

// A whole run writes its files, its table and its log.
func TestTrain(t *testing.T) {
	t.Chdir(t.TempDir())
	got := command(t.Context(), nil, "train", "--iterations", "300", "--preset", "paper", "--kappa", "1,3", "--classes", "0,1,2",
		"--eta", "0.02", "--record-every", "100")
	if got.status != exitDone {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	dir := rundir.Dir(filepath.Join("runs", "20260304-050607-mnpc-ppala"))
	configuration := require.Value(os.ReadFile(dir.Config()))(t)
	summary := require.Value(rundir.ReadSummary(dir.Summary()))(t)
	records := require.Value(rundir.ReadMetrics(dir.Metrics()))(t)
	if len(records) != 4 || records[3].Iteration != 300 || records[3].Measures["test_error"] != 0.5 {
		t.Errorf("records: %+v", records)
	}
	if summary.Status != "iteration limit" || summary.Iterations != 300 || summary.Device != "stub" || summary.PeakBytes == 0 ||
		len(summary.Warnings) < 1 || summary.Warnings[0] != "class dress: the bound constrains nothing" || summary.Objective != 1 {
		t.Errorf("summary: %+v", summary)
	}
	for _, name := range []string{"model.safetensors", "plots/overview.svg", "plots/multipliers-seconds.svg"} {
		if _, err := os.Stat(filepath.Join(string(dir), name)); err != nil {
			t.Error(err)
		}
	}
	if strings.Contains(got.stderr, "\r") {
		t.Error("a carriage return in the log")
	}
	// The golden files are in the package directory.
	t.Chdir(packageDir)
	require.Golden(t, "testdata/train.stdout", settled(got.stdout))
	require.Golden(t, "testdata/train.stderr", settled(got.stderr))
	require.Golden(t, "testdata/train.config.yaml", settled(string(configuration)))
}

// packageDir is the working directory at the start of the tests.
var packageDir, _ = os.Getwd()

func TestTrainQuiet(t *testing.T) {
	got := command(t.Context(), nil, "train", "--quiet", "--iterations", "10", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone || got.stderr != "" || !strings.Contains(got.stdout, "certificate") {
		t.Errorf("%+v", got)
	}
}

func TestTrainJSONLog(t *testing.T) {
	got := command(t.Context(), nil, "train", "--log-format", "json", "--iterations", "10", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	lines := 0
	for text := range strings.Lines(got.stderr) {
		line := struct { // the values are numbers, not texts
			Msg                string
			Of                 int
			Objective, Epsilon float64
			MaxViolation       float64 `json:"max_violation"`
			Seconds            float64
		}{Objective: -1, Epsilon: -1}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if line.Msg != "training" {
			continue
		}
		lines++
		if line.Of != 10 || line.Objective < 0 || line.Epsilon < 0 || line.Objective != rounded(line.Objective) {
			t.Errorf("%s", text)
		}
	}
	if lines != 2 {
		t.Errorf("%d lines of training, want the first and the last record's: %s", lines, got.stderr)
	}
}

// The plan is printed once. The notes of the method about the result are in the log and in the
// summary.
func TestTrainExplainsAndNotes(t *testing.T) {
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	const note = "a multiplier was negative in 3 % of the iterations"
	got := command(t.Context(), func(s *stub) { s.notes = []string{note} }, "train", "--explain", "--iterations", "10", "--out", string(dir))
	if got.status != exitDone || strings.Count(got.stdout, "the plan") != 1 || strings.Count(got.stderr, note) != 1 {
		t.Errorf("%+v", got)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil || !slices.Contains(summary.Notes, note) {
		t.Errorf("notes %q, %v", summary.Notes, err)
	}
}

// On a terminal the run shows a bar, and messages appear above the bar.
func TestTrainBar(t *testing.T) {
	got := commandOn(t.Context(), func(a *app) { a.terminal = true },
		"train", "--iterations", "2000", "--primal", "nesterov", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone || !strings.Contains(got.stderr, "(2000/2000)") || !strings.Contains(got.stderr, "\r") ||
		strings.Contains(got.stderr, "level=") {
		t.Errorf("status %d: %q", got.status, got.stderr)
	}
	if !strings.Contains(got.stderr, "warning: class dress: the bound constrains nothing\n") {
		t.Errorf("no warning: %q", got.stderr)
	}
}

// The bar is always narrower than the terminal. If the terminal is too narrow for a bar, the run
// prints log lines without carriage returns.
func TestTrainBarFits(t *testing.T) {
	for _, columns := range []int{200, 80, 60, 45, 30, 1} {
		got := commandOn(t.Context(), func(a *app) { a.terminal, a.columns = true, func() int { return columns } },
			"train", "--iterations", "2000", "--record-every", "7", "--out", filepath.Join(t.TempDir(), "run"))
		if got.status != exitDone {
			t.Fatalf("%+v", got)
		}
		if bar := columns >= leastWidth(2000); bar != strings.Contains(got.stderr, "\r") {
			t.Errorf("%d columns: %q, want a bar: %v", columns, got.stderr, bar)
		}
	}
	r := &trainer.Record{Objective: 0.00667, MaxViolation: 1.2e-5, Certificate: certify.Certificate{Epsilon: 5e-5}}
	for _, tc := range []struct {
		room int
		want string
	}{
		{60, "objective 0.00667, violation 1e-05, epsilon 5e-05"}, {40, "f 0.00667, g 1e-05, eps 5e-05"}, {20, "f 0.00667"}, {3, ""}, {-1, ""},
	} {
		if got := describe(r, tc.room); got != tc.want {
			t.Errorf("in %d columns %q, want %q", tc.room, got, tc.want)
		}
	}
}

// If the pictures cannot be written, the run ends with an error. The weights, the summary and the
// table are still written.
func TestTrainWithoutPictures(t *testing.T) {
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	got := command(t.Context(), func(s *stub) {
		// a file with the folder's name blocks the folder
		s.during = func(int) { _ = os.WriteFile(dir.Plots(), nil, 0o644) }
	}, "train", "--quiet", "--iterations", "10", "--out", string(dir))
	if got.status != exitFailed || !strings.HasPrefix(got.stderr, "ppal: chart: ") || !strings.Contains(got.stdout, "certificate") {
		t.Errorf("%+v", got)
	}
	if summary, err := rundir.ReadSummary(dir.Summary()); err != nil || summary.Status != "iteration limit" {
		t.Errorf("%+v, %v", summary, err)
	}
	if _, err := os.Stat(dir.Model()); err != nil {
		t.Error(err)
	}
}

// The table is printed even if only the weights can be written.
func TestTrainWithoutSummary(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	got := command(t.Context(), func(s *stub) {
		s.during = func(int) {
			_ = os.WriteFile(dir.Plots(), nil, 0o644) // a file with the folder's name blocks the folder
			_ = os.MkdirAll(filepath.Join(dir.Summary(), "x"), 0o755)
		}
	}, "train", "--quiet", "--iterations", "10", "--out", string(dir))
	if got.status != exitFailed || !strings.HasPrefix(got.stderr, "ppal: chart: ") || !strings.Contains(got.stderr, "(and rundir: ") ||
		strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stdout, "certificate") {
		t.Errorf("%+v", got)
	}
}

// Ctrl-C ends the run with the status 130, and the files are written.
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
	got := command(ctx, prepare, "train", "--quiet", "--primal", "nesterov", "--iterations", "100000", "--out", string(dir))
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

// Ctrl-C during the loading of the data prints a message and ends with the status 130, without a
// run directory. The same holds if the interrupt makes the loading fail.
func TestTrainInterruptedWhileLoading(t *testing.T) {
	for _, failure := range []error{nil, context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		dir := filepath.Join(t.TempDir(), "run")
		got := commandOn(ctx, func(a *app) {
			a.open = func(_ context.Context, o session.Options) (*session.Session, error) {
				cancel()
				s, err := openStub(o, nil)
				return s, errors.Join(err, failure)
			}
		}, "train", "--iterations", "10", "--out", dir)
		if got.status != exitInterrupted || !strings.Contains(got.stderr, "stopping") ||
			!strings.HasSuffix(got.stderr, "ppal: interrupted before the first iteration; the run has no files\n") {
			t.Errorf("%+v", got)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("a directory was left: %v", err)
		}
	}
}

// A run that fails before its first record leaves no files, and the same --out works again. The
// message names the class.
func TestTrainFailsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	got := command(t.Context(), func(s *stub) { s.g = math.Inf(-1) }, "train", "--quiet", "--iterations", "10", "--out", dir)
	if got.status != exitFailed || !strings.Contains(got.stderr, "the constraint \"trouser\" is -Inf at iteration 0") {
		t.Errorf("%+v", got)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if got := command(t.Context(), nil, "train", "--quiet", "--iterations", "10", "--out", dir); got.status != exitDone {
		t.Errorf("the same --out again: %+v", got)
	}
}

// If the objective is not finite, one line names the objective, and the status is 1. The summary is
// that of the last record. No file contains a number that is not finite.
func TestTrainNotFinite(t *testing.T) {
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	got := command(t.Context(), func(s *stub) { s.f = math.NaN() }, "train", "--quiet", "--iterations", "100", "--out", string(dir))
	if got.status != exitFailed || !strings.Contains(got.stderr, "the objective is NaN at iteration") ||
		strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil || summary.Status != "failed" || !strings.Contains(summary.Error, "NaN") || math.IsNaN(summary.Objective) ||
		summary.Device != "stub" {
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
		a.open = func(context.Context, session.Options) (*session.Session, error) { return nil, errNoData }
	}, "train", "--quiet", "--out", dir)
	if got.status != exitFailed || got.stderr != "ppal: no data\n" {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a directory was left: %v", err)
	}
}

// A real run, small: the built-in data and a tiny network.
func TestTrainForReal(t *testing.T) {
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	got := commandOn(t.Context(), func(a *app) { a.open = session.New },
		"train", "--quiet", "--allow-violation", "--rows-per-class", "20", "--hidden", "4", "--iterations", "5", "--out", string(dir))
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	summary, err := rundir.ReadSummary(dir.Summary())
	if err != nil || len(summary.Certificate.Nu) != 3 || len(summary.Test) == 0 {
		t.Errorf("%+v, %v", summary, err)
	}
}

// Without a GPU, or without GPU support in the build, a run that asks for a GPU fails with one line
// that says what is missing. The device auto uses the CPU.
func TestTrainWithoutGPU(t *testing.T) {
	gpus := machineGPUs()
	if d, err := gpus.open(0); err == nil {
		_ = d.Close()
		t.Skip("there is a GPU")
	}
	for _, args := range []string{"--device cuda", "--device cuda:3", "--products tf32", "--micro-batch 10"} {
		dir := filepath.Join(t.TempDir(), "run")
		got := commandOn(t.Context(), func(a *app) { a.open = session.New },
			append([]string{"train", "--quiet", "--allow-violation", "--out", dir}, strings.Fields(args)...)...)
		if got.status != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, driver.ErrUnavailable.Error()) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, "train", "--quiet", "--allow-violation", "--rows-per-class", "5", "--hidden", "2",
		"--iterations", "1", "--device", "auto", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone {
		t.Errorf("%+v", got)
	}
}
