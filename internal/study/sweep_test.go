package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/report"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// compas returns a sweep of demographic parity on the built-in synthetic stand-in for COMPAS.
func compas(values ...float64) *Sweep {
	return &Sweep{
		Title: "plada on synthetic-compas", Over: constraints.Gap(constraints.PositiveRate, "race").MinRows(200).AtMost(0), Values: values, Settings: []byte("a\n"),
		Options: func(float64) (session.Options, error) {
			return session.Options{
				Data: session.Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit}},
				Task: session.Decisions{}, Method: &method.PLADA{}, Settings: trainer.Settings{Iterations: 150, RecordEvery: 50},
				Files: session.Files{Renderer: report.Renderer{}},
			}, nil
		},
		Open: session.New,
	}
}

// readSweepFile returns the content of a file.
func readSweepFile(t *testing.T, path string) []byte {
	t.Helper()
	return require.Value(os.ReadFile(path))(t)
}

// A sweep goes from the loosest to the tightest bound and gives one point for each bound. All
// bounds are met, the error rises as the bound falls, and the slope has the right sign. Every run
// has a complete directory, and the sweep draws its picture.
func TestSweep(t *testing.T) {
	dir := SweepDir(filepath.Join(t.TempDir(), "sweep"))
	s := compas(0.02, 0.3, 0.08)
	var told []float64
	s.Progress = func(done, total int, p *SweepPoint) {
		if told = append(told, p.Bound); done != len(told) || total != 3 {
			t.Errorf("%d of %d runs", done, total)
		}
	}
	points := require.Value(s.Do(t.Context(), dir))(t)
	if diff := cmp.Diff([]float64{0.3, 0.08, 0.02}, told); diff != "" {
		t.Error(diff)
	}
	checkReport(t, dir)
	for k, p := range points {
		c := p.Swept()
		measured, objective := report.NewRow(p.Outcome, c), report.ObjectiveRow(p.Outcome)
		if p.Bound != told[k] || c.Bound != p.Bound || !c.Met || measured.IntervalOf(results.Test) == nil || measured.IntervalOf(results.Validation) == nil ||
			measured.IntervalOf(results.Training) != nil || objective.IntervalOf(results.Test) == nil || objective.IntervalOf(results.Validation) == nil {
			t.Errorf("point %d: %+v, %+v", k, p, c)
		}
		if want := "gap(positive_rate, race, min 200) <= "; !strings.HasPrefix(c.Constraint, want) {
			t.Errorf("%s", c.Constraint)
		}
		if p.Slope == nil || *p.Slope > 0 || *p.Slope != -p.Multipliers[0] || len(p.Multipliers) != 1 {
			t.Errorf("point %d: slope %v, multipliers %v", k, p.Slope, p.Multipliers)
		}
		for _, name := range []string{"summary.json", "model.safetensors", "config.yaml", "metrics.jsonl"} {
			if _, err := os.Stat(filepath.Join(string(dir), p.Run, name)); err != nil {
				t.Error(err)
			}
		}
	}
	loose, tight := points[0], points[2]
	if *tight.Objective.Train < *loose.Objective.Train-0.002 || *tight.Slope >= *loose.Slope {
		t.Errorf("error %v and slope %v at the loosest bound, %v and %v at the tightest", *loose.Objective.Train, *loose.Slope, *tight.Objective.Train, *tight.Slope)
	}
	if !bytes.Contains(readSweepFile(t, filepath.Join(dir.Plots(), "trade-off.svg")), []byte("<svg")) {
		t.Error("no picture")
	}
	// The keys of a line are complete.
	first, _, _ := bytes.Cut(readSweepFile(t, dir.points()), []byte("\n"))
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(first, &keys))
	for _, key := range []string{"bound", "decisions", "objective_on_decisions", "multipliers", "slope", "acceptance_rate", "run", "seconds", "status"} {
		if keys[key] == nil {
			t.Errorf("no key %s in %s", key, first)
		}
	}
	if bytes.Contains(first, []byte(`\u003c`)) {
		t.Errorf("escaped: %s", first)
	}
}

// withoutTimes removes measured times from points.
func withoutTimes(points []SweepPoint) []SweepPoint {
	own := slices.Clone(points)
	for k := range own {
		own[k].Seconds, own[k].SecondsTotal = 0, 0
	}
	return own
}

// An interrupted sweep continues with the missing runs only, and ends with the same points as an
// uninterrupted sweep, even if the interruption cut off a line and left an incomplete run.
func TestSweepContinued(t *testing.T) {
	whole := require.Value(compas(0.3, 0.1, 0.03).Do(t.Context(), SweepDir(filepath.Join(t.TempDir(), "whole"))))(t)
	dir := SweepDir(filepath.Join(t.TempDir(), "parts"))
	ctx, cancel := context.WithCancel(t.Context())
	s := compas(0.3, 0.1, 0.03)
	s.Open = func(ctx context.Context, o session.Options) (*session.Session, error) {
		if o.Settings.Resume != nil {
			cancel() // during the second run
		}
		return session.New(context.WithoutCancel(ctx), o)
	}
	points, err := s.Do(ctx, dir)
	if !errors.Is(err, context.Canceled) || len(points) != 1 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	require.NoError(t, os.WriteFile(dir.points(), append(readSweepFile(t, dir.points()), `{"bound": 0.1, "deci`...), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(dir.run(1, 0.1), "plots"), 0o755))
	opened := 0
	s = compas(0.3, 0.1, 0.03)
	s.Open = func(ctx context.Context, o session.Options) (*session.Session, error) {
		opened++
		return session.New(ctx, o)
	}
	points = require.Value(s.Do(t.Context(), dir))(t)
	if opened != 2 {
		t.Errorf("%d runs after the interruption, want 2", opened)
	}
	if diff := cmp.Diff(withoutTimes(whole), withoutTimes(points)); diff != "" {
		t.Error(diff)
	}
	again, err := s.Do(t.Context(), dir) // a finished sweep trains nothing
	if err != nil || opened != 2 || len(again) != 3 {
		t.Errorf("%d points, %d runs, %v", len(again), opened, err)
	}
}

// Do refuses a directory of another sweep and a directory with other files.
func TestOtherDirectory(t *testing.T) {
	dir := SweepDir(filepath.Join(t.TempDir(), "sweep"))
	require.NoError(t, os.MkdirAll(string(dir), 0o755))
	require.NoError(t, os.WriteFile(dir.Settings(), []byte("b\n"), 0o644))
	if _, err := compas(0.1).Do(t.Context(), dir); !errors.Is(err, ErrSweep) || !strings.Contains(err.Error(), "holds another sweep") {
		t.Errorf("%v", err)
	}
	failing := compas(0.1)
	failing.Settings = []byte("b\n")
	failing.Open = func(context.Context, session.Options) (*session.Session, error) { return nil, errors.New("no data") }
	if _, err := failing.Do(t.Context(), dir); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(dir.Settings()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a sweep that failed before its first run keeps the directory: %v", err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(string(dir), "x"), nil, 0o644))
	if _, err := compas(0.1).Do(t.Context(), dir); !errors.Is(err, ErrSweep) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v", err)
	}
}

// Do reads the data once, and each run starts from the result of the previous run.
func TestWarmStart(t *testing.T) {
	dir := SweepDir(filepath.Join(t.TempDir(), "sweep"))
	s := compas(0.3, 0.1)
	var starts []bool
	var sources []session.Source
	s.Open = func(ctx context.Context, o session.Options) (*session.Session, error) {
		starts, sources = append(starts, o.Settings.Resume != nil), append(sources, o.Data)
		if r := o.Settings.Resume; r != nil && (r.Vectors["iterate"] == nil || len(r.Numbers) == 0) {
			t.Errorf("the state has no weights or no multipliers: %v", r.Numbers)
		}
		return session.New(ctx, o)
	}
	require.Value(s.Do(t.Context(), dir))(t)
	if diff := cmp.Diff([]bool{false, true}, starts); diff != "" {
		t.Error(diff)
	}
	if sources[0] != sources[1] {
		t.Error("the data are read twice")
	}
}

func TestParseValues(t *testing.T) {
	for text, want := range map[string][]float64{
		"0.2:0.005:8": {0.2, 0.1181, 0.0697, 0.04116, 0.0243, 0.01435, 0.00847, 0.005},
		"0.2,0.1 , 0": {0.2, 0.1, 0},
		"0.5":         {0.5},
		"0.5:0.95:2":  {0.5, 0.95},
		"1e-3:1e-1:3": {0.001, 0.01, 0.1},
	} {
		got, err := ParseBounds(text)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, %v", text, got, err)
			continue
		}
		for k := range got {
			if math.Abs(got[k]-want[k]) > 1e-3*want[k] {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
	for text, want := range map[string]string{
		"": "not a finite number", "a": "not a finite number", "0.1,NaN": "not a finite number", "0.1:0.2": "want FIRST:LAST:N", "0.1:0.2:1": "from 2 to 1000",
		"0.1:0.2:x": "from 2 to 1000", "0.1:0:3": "must be positive", "0.1:0.1:3": "are equal", "0.1,0.1": "given twice",
		"0.10001:0.10002:9": "equal to four digits",
	} {
		if _, err := ParseBounds(text); !errors.Is(err, ErrSweep) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestParseOver(t *testing.T) {
	for text, want := range map[string]string{
		"gap(positive_rate, sex)": "gap(positive_rate, sex) <= 0", "fpr": "fpr <= 0", "ratio(tpr, race)": "ratio(tpr, race) >= 0",
		"recall[shirt]": "recall[shirt] >= 0", "recall[shirt] >=": "recall[shirt] >= 0", "tpr <=": "tpr <= 0", "error[a]": "error[a] <= 0",
		"accuracy": "accuracy >= 0", "l1(weights)": "l1(weights) <= 0",
	} {
		c, err := ParseOver(text)
		if err != nil || c.String() != strings.Replace(want, "recall[", "tpr[", 1) && c.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, c, err, want)
		}
	}
	var syntax *constraints.SyntaxError
	if _, err := ParseOver("gap(positve_rate, sex)"); !errors.As(err, &syntax) {
		t.Errorf("%v", err)
	}
}

func TestLoosestFirst(t *testing.T) {
	values := []float64{0.1, 0.3, 0.2}
	if diff := cmp.Diff([]float64{0.3, 0.2, 0.1}, loosestFirst(constraints.FPR().AtMost(0), values)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0.1, 0.2, 0.3}, loosestFirst(constraints.TPR().AtLeast(0), values)); diff != "" {
		t.Error(diff)
	}
}

// readSweepPoints refuses a line that is not a point, and the error gives the line's number.
func TestReadPoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.jsonl")
	if points, err := readSweepPoints(path); points != nil || err != nil {
		t.Errorf("%v, %v", points, err)
	}
	for content, want := range map[string]string{"{}\n": ":1: ", "[]\n": ":1: "} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		if _, err := readSweepPoints(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// A bound that becomes active only after some runs does not ruin the weights. On Adult, at every
// bound, the error stays below the error of rejecting everybody, and grows slowly.
func TestActivatedBound(t *testing.T) {
	if os.Getenv("PPAL_DATA") == "" {
		t.Skip("PPAL_DATA is not set")
	}
	s := compas(0.2, 0.1, 0.05)
	s.Over = constraints.Gap(constraints.PositiveRate, "sex").AtMost(0)
	s.Options = func(float64) (session.Options, error) {
		return session.Options{
			Data: session.Table{Dataset: "adult", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit}},
			Task: session.Decisions{}, Method: &method.PLADA{}, Settings: trainer.Settings{Iterations: 200, RecordEvery: 100},
		}, nil
	}
	points := require.Value(s.Do(t.Context(), SweepDir(filepath.Join(t.TempDir(), "sweep"))))(t)
	for k, p := range points {
		if e := *p.Objective.Train; e > 0.165 || k > 0 && e < *points[k-1].Objective.Train-0.002 || !p.Swept().Met {
			t.Errorf("bound %g: error %v, met %v", p.Bound, e, p.Swept().Met)
		}
	}
}

// checkReport checks the page of a finished sweep with three points.
func checkReport(t *testing.T, dir SweepDir) {
	t.Helper()
	require.NoError(t, ReportSweep(dir))
	text := string(readSweepFile(t, filepath.Join(string(dir), "report.html")))
	for _, want := range []string{"All 3 points meet their bounds", "&lt;= 0.08", `href="01-bound-0.3/report.html"`, `href="03-bound-0.02/report.html"`, "training rows", "test rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The page of a sweep without points says so. The settings of sweep.yaml are texts.
func TestReportWithoutPoints(t *testing.T) {
	dir := SweepDir(t.TempDir())
	settings := "# A sweep\nover: \"gap(tpr, <b>)\"\nvalues: [0.2 0.1]\n---\nmethod: ppala\ndataset: csv\nfile: 'a/</pre><script>x'\n---\nversion: v1\ndata:\n    - name: x\n      sha256: abc\n"
	require.NoError(t, os.WriteFile(dir.Settings(), []byte(settings), 0o644))
	require.NoError(t, ReportSweep(dir))
	text := string(readSweepFile(t, filepath.Join(string(dir), "report.html")))
	for _, want := range []string{"No run has finished", "0 of 2", "gap(tpr, &lt;b&gt;)", "ppal v1", "abc"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Count(text, "<script") != 2 {
		t.Error("a setting is a script")
	}
	require.NoError(t, os.WriteFile(dir.points(), []byte("{}\n"), 0o644))
	if err := ReportSweep(dir); err == nil {
		t.Error("no error for a damaged point")
	}
}

// TestHeadline counts the points by their ratings: met, met on the training rows only, not met.
func TestHeadline(t *testing.T) {
	for _, test := range []struct {
		unmet, train, good int
		kind, text         string
	}{
		{0, 0, 3, "good", "All 3 points meet their bounds"},
		{0, 2, 1, "warn", "All 3 points meet their bounds on the training rows, 1 of them also on the held-out rows"},
		{0, 3, 0, "warn", "All 3 points meet their bounds on the training rows, none of them on all held-out rows"},
		{1, 1, 1, "warn", "2 of 3 points meet their bounds on the training rows, 1 of them also on the held-out rows"},
		{2, 0, 1, "warn", "1 of 3 points meet their bounds"},
		{3, 0, 0, "bad", "No point meets all bounds"},
	} {
		ratings := map[results.Rating]int{results.Unmet: test.unmet, results.TrainOnly: test.train, results.Good: test.good}
		if kind, text := sweepHeadline(3, ratings); kind != test.kind || text != test.text {
			t.Errorf("%+v: %s, %q", test, kind, text)
		}
	}
}

// TestPageOfStates writes a page with a point of each rating. Each card has the words and the
// colour of its rating.
func TestPageOfStates(t *testing.T) {
	var points []SweepPoint
	for k, test := range []float64{0.1, 0.2, 0.1} {
		train := 0.1
		c := results.ConstraintOutcome{Constraint: "fpr <= 0.1", Bound: 0.1, SplitValues: results.SplitValues{Train: &train, Test: &test}, State: constraints.Met}
		if k == 2 {
			c.State, c.Exceeded = constraints.NotJudged, &constraints.Exceeded{Groups: []string{constraints.AllRows}, Rows: []int{7}, Values: []float64{0.14}}
		}
		points = append(points, SweepPoint{Bound: 0.1, Run: "r", Outcome: &results.Outcome{BoundsOn: constraints.OnDecisions, Constraints: []results.ConstraintOutcome{c}}})
	}
	s := sweepPage(SweepDir(t.TempDir()), sweepSettings{Over: "fpr"}, "", points)
	if s.Kind != "warn" || s.Headline != "2 of 3 points meet their bounds on the training rows, 1 of them also on the held-out rows" {
		t.Errorf("%s: %s", s.Kind, s.Headline)
	}
	for k, want := range [][2]string{{"good", "Met"}, {"warn", "Met on the training rows only"}, {"bad", "Cannot be judged"}} {
		if p := s.Points[k]; p.Colour != want[0] || p.Met != want[1] {
			t.Errorf("point %d: %s, %q, want %q", k, p.Colour, p.Met, want)
		}
	}
}
