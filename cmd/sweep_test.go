package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/study"
	"ppal/trainer/session"
)

// The command runs on the built-in stand-in of COMPAS. It prints the table and writes the points
// and the picture. The same --out continues the sweep. Another problem with this --out is an error.
func TestSweepForReal(t *testing.T) {
	require.NoRace(t, "TestSweepOfAFile runs the same goroutines")
	dir := filepath.Join(t.TempDir(), "out")
	run := func(flags ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, append([]string{"sweep", "--over", "gap(tpr, race, min 100)",
			"--dataset", "synthetic-compas", "--iterations", "60", "--record-every", "30", "--out", dir}, flags...)...)
	}
	got := run("--values", "0.3:0.05:3")
	if got.status != exitDone || strings.Count(got.stderr, "\n") != 3 || !strings.HasPrefix(got.stderr, "1 of 3: gap(tpr, race, min 100) <= 0.3: ") {
		t.Fatalf("%+v", got)
	}
	for _, text := range []string{"gap(tpr, race, min 100)", "<= 0.1225", "slope", "met", "validation", "95% intervals on held-out rows", dir} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("no %q in\n%s", text, got.stdout)
		}
	}
	if _, err := os.Stat(study.SweepDir(dir).Plots() + "/trade-off.svg"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"01-bound-0.3", "03-bound-0.05"} { // config.yaml states the bound of the run
		if got := with("", "verify", filepath.Join(dir, name)); got.status != exitDone {
			t.Errorf("%s: %+v", name, got)
		}
	}
	again := run("--values", "0.3:0.05:3")
	if again.status != exitDone || again.stderr != "" || again.stdout != got.stdout {
		t.Errorf("a finished sweep: %+v", again)
	}
	for _, flags := range [][]string{{"--values", "0.3:0.05:4"}, {"--values", "0.3:0.05:3", "--seed", "2"}, {"--values", "0.3:0.05:3", "--minimize", "fnr"}} {
		other := run(flags...)
		if other.status != exitUsage || !strings.Contains(other.stderr, "holds another sweep") {
			t.Errorf("%v: %+v", flags, other)
		}
	}
}

// A sweep takes its problem from a file, whose bound of the swept measure it replaces. The exit
// status is 3 if no point meets its bounds.
func TestSweepOfAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run.yaml")
	text := "dataset: synthetic-compas\nsubject-to: [\"gap(tpr, race) <= 0.5\", \"error <= 0.0001\"]\niterations: 20\nseed: 3\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	run := func(name string, flags ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, append([]string{"sweep", "--over", "gap(tpr, race)",
			"--values", "0.3,0.2", "--config", file, "--quiet", "--out", filepath.Join(dir, name)}, flags...)...)
	}
	got := run("a")
	if got.status != exitUnmet || !strings.Contains(got.stdout, "2 of 2 points do not meet all bounds: <= 0.3, <= 0.2.") ||
		!strings.Contains(got.stderr, "no point meets all bounds") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	settings, err := os.ReadFile(study.SweepDir(filepath.Join(dir, "a")).Settings())
	if err != nil || !strings.Contains(string(settings), "error <= 0.0001") || strings.Contains(string(settings), "0.5") || !strings.Contains(string(settings), "seed: 3") {
		t.Errorf("%v\n%s", err, settings)
	}
	if got := run("a", "--allow-violation"); got.status != exitDone {
		t.Errorf("--allow-violation: %+v", got)
	}
	if got := run("b", "--subject-to", "error <= 0.9"); got.status != exitDone || got.stderr != "" {
		t.Errorf("the flag instead of the file: %+v", got)
	}
	rows := "x,g,y\n"
	for i := range 60 { // 20 groups of 3 rows
		rows += fmt.Sprintf("%d,g%d,%d\n", i*i%17, i%20, i*i%17/9)
	}
	small := filepath.Join(dir, "small.csv")
	require.NoError(t, os.WriteFile(small, []byte(rows), 0o600))
	got = commandOn(t.Context(), func(a *app) { a.open = session.New }, "sweep", "--over", "gap(positive_rate, g)", "--values", "0.1", "--file", small,
		"--label", "y=1", "--ignore", "g", "--iterations", "20", "--quiet", "--out", filepath.Join(dir, "d"))
	if got.status != exitUnmet || !strings.Contains(got.stderr, "gap(positive_rate, g) <= 0.1 cannot be judged: group g=") || strings.Contains(got.stderr, "looser --values") {
		t.Errorf("small groups: %+v", got)
	}
}

// The table of a sweep has a block for each bound, and is at most 100 columns wide.
func TestSweepTable(t *testing.T) {
	s := &study.Sweep{Over: constraints.Gap(constraints.PositiveRate, "sex").AtMost(0)}
	var points []study.SweepPoint
	for k, b := range []float64{0.2, 0.01, 0.005} {
		o, slope := onDecisions(), -0.1*float64(k)
		o.Constraints = o.Constraints[:1]
		o.Constraints[0].Constraint, o.Constraints[0].Bound = s.Over.WithBound(b).String(), b
		o.Constraints[0].ValidationInterval = &[2]float64{0.001, 0.05}
		o.Objective.Interval, o.Objective.ValidationInterval = &[2]float64{0.15, 0.17}, &[2]float64{0.155, 0.175}
		o.Constraints[0].Met = k < 2
		points = append(points, study.SweepPoint{Bound: b, Outcome: o, Slope: &slope})
	}
	points[1].Slope = nil
	var out strings.Builder
	printSweep(&out, s, points)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > tableWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	require.Golden(t, "testdata/sweep-table.txt", out.String())
}

// The swept bounds replace bounds of the same measure in the same sense, and no others.
func TestSweepReplacesTheSameMeasure(t *testing.T) {
	over := require.Value(study.ParseOver("gap(tpr, sex)"))(t)
	given := []string{"gap(tpr, sex) <= 0.01", "gap(tpr,sex)<=5%", "gap(tpr, sex) >= 0.001", "gap(fpr, sex) <= 0.01", "no constraint"}
	want := []string{"gap(tpr, sex) >= 0.001", "gap(fpr, sex) <= 0.01", "no constraint"}
	if got := without(given, over); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
