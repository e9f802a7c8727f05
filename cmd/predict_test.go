package cmd

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// members returns a CSV table of a number and a category. The class depends on both.
func members(rows int) string {
	var text strings.Builder
	text.WriteString("age,job,member\n")
	for i := range rows {
		job := []string{"clerk", "nurse", "smith"}[i%3]
		member := "no"
		if (i*7%60 > 25) != (i%11 == 0) {
			member = "yes"
		}
		fmt.Fprintf(&text, "%d,%s,%s\n", 18+i*7%60, job, member)
	}
	return text.String()
}

// membersRun trains on the table and returns the run's directory.
func membersRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	o := session.Options{Data: session.CSV(file, "member", "job=nurse"), Task: session.DemographicParity{}}
	o.Settings.Iterations = 30
	return trained(t, o, filepath.Join(dir, "run"))
}

// trained trains a session and saves the run in the directory out.
func trained(t *testing.T, o session.Options, out string) string {
	t.Helper()
	s := require.Value(session.New(context.Background(), o))(t)
	defer s.Close()
	require.Value(s.Train(context.Background()))(t)
	require.NoError(t, s.Save(out))
	return out
}

// with runs the program with the text as its standard input.
func with(stdin string, args ...string) outcome {
	return commandOn(context.Background(), func(a *app) { a.stdin = strings.NewReader(stdin) }, args...)
}

func TestPredict(t *testing.T) {
	run := membersRun(t)
	file := filepath.Join(t.TempDir(), "new.csv")
	require.NoError(t, os.WriteFile(file, []byte("job,note,age\nnurse,x,60\nclerk,y,19\n"), 0o644))
	got := command(context.Background(), nil, "predict", run, "--input", file)
	m := require.Value(predictor.Load(run))(t)
	want := "row,score,decision\n"
	require.NoError(t, m.Read(strings.NewReader("job,age\nnurse,60\nclerk,19\n"), "new", predictor.Options{}, func(b *predictor.Batch) error {
		for i, decision := range b.Decisions {
			want += fmt.Sprintf("%d,%v,%s\n", i+1, b.Scores[i], []string{"no", "yes"}[decision])
		}
		return nil
	}))
	if got.status != exitDone || got.stdout != want || got.stderr != "ppal: scored 2 rows\n" {
		t.Errorf("%+v, want\n%s", got, want)
	}
	out := filepath.Join(t.TempDir(), "scores.csv")
	if got := with("job,age\nnurse,60\nclerk,19\n", "predict", run, "--output", out); got.status != exitDone || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	if got := with("job,age\nnurse,60\n", "predict", run, "--output", os.DevNull); got.status != exitDone {
		t.Errorf("to %s: %+v", os.DevNull, got)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s has been replaced by a file", os.DevNull)
	}
}

func TestPredictUnknown(t *testing.T) {
	run := membersRun(t)
	out := filepath.Join(t.TempDir(), "scores.csv")
	got := with("age,job\n20,nurse\n30,pilot\n40,baker\n", "predict", run, "--output", out)
	if got.status != exitUsage || !strings.Contains(got.stderr,
		`standard input: line 3, column 2: job: unknown category "pilot", want one of clerk, nurse, smith; use --unknown ignore`) {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("an incomplete file was left: %v", err)
	}
	got = with("age,job\n20,nurse\n30,pilot\n40,baker\n", "predict", run, "--unknown", "ignore")
	if got.status != exitDone || strings.Count(got.stdout, "\n") != 4 || got.stderr != "ppal: scored 3 rows; 2 unknown categories were ignored\n" {
		t.Errorf("%+v", got)
	}
}

// An input with only the names of the columns gives only the names of the output's columns.
func TestPredictOnlyNames(t *testing.T) {
	run := membersRun(t)
	one, none := with("id,age,job\n7,20,nurse\n", "predict", run, "--keep", "id"), with("id,age,job\n", "predict", run, "--keep", "id")
	names, _, _ := strings.Cut(one.stdout, "\n")
	if one.stderr != "ppal: scored 1 row\n" {
		t.Error(one.stderr)
	}
	if none.status != exitDone || none.stdout != names+"\n" || none.stderr != "ppal: note: standard input has the names of the columns and no rows\nppal: scored 0 rows\n" {
		t.Errorf("%+v, want %q", none, names)
	}
	for _, text := range []string{"", "\n\n", "age,work\n"} { // no names, or not those of the model
		if got := with(text, "predict", run); got.status != exitUsage || got.stdout != "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := with("age,job,member\n", "evaluate", run); got.status != exitUsage {
		t.Errorf("evaluate: %+v", got)
	}
}

func TestPredictErrors(t *testing.T) {
	run := membersRun(t)
	if got := with("age,job\n1,nurse\n", "predict", run, "--output", "none/x"); got.status != exitFailed || !strings.Contains(got.stderr, "--output: ") {
		t.Errorf("no folder for the output: %+v", got)
	}
	if got := with("job\tage\nnurse\t60\n", "predict", run, "--separator", "tab"); got.status != exitDone {
		t.Errorf("tabs: %+v", got)
	}
	require.NoError(t, os.Remove(filepath.Join(run, "preparation.yaml")))
	if got := with("age,job\n1,nurse\n", "predict", run); got.status != exitUsage || !strings.Contains(got.stderr, "preparation.yaml: no such file") {
		t.Errorf("no preparation: %+v", got)
	}
}

// With several classes, predict writes a class and a score for each class. The built-in pictures
// are not a file, therefore the rows come from an IDX text.
func TestPredictClasses(t *testing.T) {
	racing.Skip(t, "TestPredict scores with the same goroutines")
	o := session.Options{Data: session.Images{Dataset: "synthetic", RowsPerClass: 50}, Task: session.NeymanPearson{},
		Model: &models.Spec{Hidden: []int{4}}}
	o.Settings.Iterations = 5
	run := trained(t, o, filepath.Join(t.TempDir(), "run"))
	m, err := predictor.Load(run)
	require.NoError(t, err)
	pixels := m.Description().Input.Features
	idx := string([]byte{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, byte(pixels >> 8), byte(pixels)}) + strings.Repeat("\x00", pixels) + strings.Repeat("\x80", pixels)
	got := with(idx, "predict", run)
	lines := strings.Split(got.stdout, "\n")
	header := "row,class"
	for _, column := range []string{",score_", ",probability_"} {
		for _, name := range m.Classes() {
			header += column + name
		}
	}
	if got.status != exitDone || len(lines) != 4 || lines[0] != header || strings.Count(lines[1], ",") != 9 {
		t.Errorf("%+v, want %s", got, header)
	}
	var fields [10]float64
	for k, text := range strings.Split(lines[1], ",") {
		if fields[k], err = strconv.ParseFloat(text, 64); err != nil && k != 1 {
			t.Error(err)
		}
	}
	want, _ := m.Probabilities(fields[2:6])
	if !slices.Equal(fields[6:], want) {
		t.Errorf("probabilities %v, want %v", fields[6:], want)
	}
}

// The predictions of a run with a fitted sigmoid have a column of probabilities.
func TestPredictProbability(t *testing.T) {
	run := membersRun(t)
	d := require.Value(rundir.Dir(run).ReadModel())(t)
	d.Decision.Probability = &results.Sigmoid{Slope: 2, Intercept: -1}
	require.NoError(t, rundir.Dir(run).WriteModel(d))
	got := with("age,job\n60,nurse\n", "predict", run)
	var row int
	var score, probability float64
	var decision string
	line := strings.NewReplacer(",", " ").Replace(strings.TrimPrefix(got.stdout, "row,score,decision,probability\n"))
	if _, err := fmt.Sscan(line, &row, &score, &decision, &probability); err != nil {
		t.Fatal(err, got)
	}
	if want := 1 / (1 + math.Exp(1-2*score)); probability != want {
		t.Errorf("probability %v of score %v, want %v", probability, score, want)
	}
}
