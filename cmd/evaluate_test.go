package cmd

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

func TestEvaluate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	gap := constraints.Gap(constraints.PositiveRate, "job").AtMost(0.9)
	none := constraints.PositiveRate().AtMost(1e-9)
	o := session.Options{Data: session.CSV(file, "member"), Task: session.Decisions{SubjectTo: []constraints.Constraint{gap, none}}}
	o.Settings.Iterations = 5
	run := trained(t, o, filepath.Join(dir, "run"))
	got := with(members(300), "evaluate", run, "--by", "age<40", "--json")
	var e struct {
		Rows      int
		Rates     map[string]json.RawMessage
		Confusion [][]int
		Decisions []struct {
			Constraint string
			Bound      float64
			Value      *float64
			Test       *float64
			Interval   []float64
			Met        *bool
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.status != exitDone {
		t.Fatal(err, got)
	}
	if e.Rows != 300 || len(e.Confusion) != 2 || len(e.Decisions) != 2 || e.Decisions[0].Constraint != "gap(positive_rate, job) <= 0.9" ||
		len(e.Decisions[0].Interval) != 2 || e.Decisions[0].Value == nil || *e.Decisions[0].Test != *e.Decisions[0].Value || !*e.Decisions[0].Met {
		t.Errorf("%s", got.stdout)
	}
	for _, key := range []string{"overall", "by_group"} {
		if e.Rates[key] == nil {
			t.Errorf("no %s in rates: %s", key, got.stdout)
		}
	}
	table := with(members(300), "evaluate", run)
	for _, want := range []string{"300 rows", "positive_rate", "job=nurse", "rows by class  decided member=no", "gap(positive_rate, job) <= 0.9", "yes"} {
		if !strings.Contains(table.stdout, want) {
			t.Errorf("no %q in\n%s", want, table.stdout)
		}
	}
	if strings.Contains(table.stdout, "age<40") {
		t.Errorf("a group that was not asked for:\n%s", table.stdout)
	}
}

func TestEvaluateErrors(t *testing.T) {
	require.NoRace(t, "TestEvaluate runs the same goroutines")
	run := membersRun(t)
	o := session.Options{Data: session.Images{Dataset: "synthetic", RowsPerClass: 20}, Task: session.NeymanPearson{}, Model: &models.Spec{Hidden: []int{2}}}
	o.Settings.Iterations = 1
	pictures := trained(t, o, filepath.Join(t.TempDir(), "run"))
	for name, tc := range map[string]struct {
		stdin  string
		args   []string
		status int
		says   string
	}{
		"no label":      {"age,job\n1,nurse\n", []string{run}, exitUsage, `no column "member"`},
		"unknown":       {"age,job,member\n1,pilot,no\n", []string{run}, exitUsage, "use --unknown ignore"},
		"by":            {members(9), []string{run, "--by", "sex"}, exitUsage, `no column "sex"`},
		"labels":        {members(9), []string{run, "--labels", "x"}, exitUsage, "--labels: the run is for tables"},
		"no labels":     {"", []string{pictures}, exitUsage, "--labels: the run is for pictures"},
		"labels' file":  {"", []string{pictures, "--labels", "none"}, exitUsage, "--labels: none: no such file"},
		"other options": {"", []string{run, "--unknown", "x"}, exitUsage, "must be refuse or ignore"},
	} {
		got := with(tc.stdin, append([]string{"evaluate"}, tc.args...)...)
		if got.status != tc.status || !strings.Contains(got.stderr, tc.says) {
			t.Errorf("%s: %+v, want %d: %s", name, got, tc.status, tc.says)
		}
	}
	if got := command(context.Background(), nil, "evaluate"); got.status != exitUsage {
		t.Errorf("%+v", got)
	}
}

// The table says which constraints hold, which hold only to one row, and which cannot be counted.
func TestPrintEvaluation(t *testing.T) {
	yes, no := true, false
	value := func(x float64) *float64 { return &x }
	e := &predictor.Evaluation{Rows: 8, Unknown: 2, Classes: []string{"no", "yes"}, Confusion: [][]float64{{3, 1}, {2, 2}},
		Rates: predictor.RateTable{Overall: results.Rates{"error": {Value: 0.375, Interval: &[2]float64{0.0852, 0.7551}, Rows: 8}}},
		Constraints: []predictor.Checked{
			{Constraint: "fpr <= 0.25", Bound: 0.25, Value: value(0.25), Interval: &[2]float64{0.0063, 0.8059}, Met: &yes},
			{Constraint: "fpr <= 0.2", Bound: 0.2, Value: value(0.25), Met: &yes},
			{Constraint: "tpr >= 0.6", Bound: 0.6, AtLeast: true, Value: value(0.5), Met: &yes},
			{Constraint: "tpr >= 0.4", Bound: 0.4, AtLeast: true, Value: value(0.5), Met: &yes},
			{Constraint: "error <= 0.1", Bound: 0.1, Value: value(0.375), Met: &no},
			{Constraint: "fnr[sex=*] <= 0.1", Bound: 0.1, Value: value(0.10004), Met: &no, State: constraints.NotJudged,
				Exceeded: &constraints.Exceeded{Groups: []string{"sex=Male"}, Rows: []int{7}, Values: []float64{0.10004}, MinRows: 50}},
			{Constraint: "churn(old.csv) <= 0.1", Bound: 0.1, Reason: "other file"},
		}}
	var out strings.Builder
	require.NoError(t, printEvaluation(&out, e))
	require.Golden(t, "testdata/evaluate.txt", out.String())
}

// A column whose name has a comma makes groups by its name in quotes, in train and in evaluate, and
// a table whose training left out rows is counted whole with a warning.
func TestEvaluateQuotedColumn(t *testing.T) {
	dir := t.TempDir()
	file, run := filepath.Join(dir, "people.csv"), filepath.Join(dir, "run")
	rows := strings.Replace(members(200), "age,", "\"age, years\",", 1)
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o600))
	group := `"age, years"<30`
	if got := forReal(t, "train", "--file", file, "--label", "member", "--group", group, "--subject-to", "fpr <= 0.5", "--iterations", "3", "--quiet",
		"--by-group", "--out", run); got.status != exitDone || !strings.Contains(got.stdout, "age, years<30") {
		t.Fatalf("%+v", got)
	}
	for by, want := range map[string]string{group: "age, years<30", `"age, years"<40`: "age, years<40", `"age, years"=25`: `"age, years"=25`} {
		if got := with(rows, "evaluate", run, "--by", by); got.status != exitDone || !strings.Contains(got.stdout, want) {
			t.Errorf("--by %s: %+v", by, got)
		}
	}
	text := require.Value(os.ReadFile(filepath.Join(run, "model.json")))(t)
	filtered := strings.Replace(string(text), `"dataset": "csv"`, `"dataset": "compas"`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(run, "model.json"), []byte(filtered), 0o600))
	renewed(t, run)
	if got := with(rows, "evaluate", run); !strings.Contains(got.stderr, "keeps 6,172 of the 7,214 rows of its file; evaluate counts all rows") {
		t.Errorf("%+v", got)
	}
}

// Evaluate counts the decisions in a file, writes a page, and names the flag that is wrong.
func TestEvaluatePredictions(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "scored.csv"), filepath.Join(dir, "page.html")
	require.NoError(t, os.WriteFile(file, []byte("job,late,p,said\nnurse,yes,0.9,yes\nnurse,no,0.2,no\nclerk,yes,0.1,no\nclerk,no,0.8,yes\n"), 0o644))
	base := []string{"evaluate", "--predictions", file, "--label", "late=yes"}
	run := func(more ...string) outcome { return with("", append(base, more...)...) }
	got := run("--score", "p", "--threshold", "0.5", "--by", "job", "--subject-to", "gap(tpr, job) <= 0.5", "--json", "--page", page)
	var e predictor.Evaluation
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.status != exitDone {
		t.Fatal(err, got)
	}
	if e.Rows != 4 || e.Rates.Overall["error"].Value != 0.5 || len(e.Comparisons) != 5 || *e.Constraints[0].Value != 1 || *e.Constraints[0].Met {
		t.Errorf("%s", got.stdout)
	}
	html := require.Value(os.ReadFile(page))(t)
	for _, want := range []string{"scored.csv", "The bound cannot be judged", "gap(tpr, job) &lt;= 0.5", "job=nurse", "missed", "Between groups", "difference"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if text := run("--decision", "said", "--by", "job").stdout; !strings.Contains(text, "between groups of") || !strings.Contains(text, "job=clerk") {
		t.Errorf("%s", text)
	}
	for want, flags := range map[string][]string{
		"--threshold: missing":          {"--score", "p"},
		"--threshold: needs one column": {"--decision", "said", "--threshold", "1"},
		"--input applies to a RUN":      {"--decision", "said", "--input", file},
		"--label: missing":              {"--decision", "said", "--label", ""},
		`--subject-to "tpr"`:            {"--decision", "said", "--subject-to", "tpr"},
		"line 1: invalid column":        {"--decision", "none"},
		"unexpected argument":           {"--decision", "said", "RUN"},
	} {
		if got := run(flags...); got.status != exitUsage || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: %d %s", flags, got.status, got.stderr)
		}
	}
	if got := with("", "evaluate", dir, "--score", "p"); got.status != exitUsage || !strings.Contains(got.stderr, "--score applies to --predictions") {
		t.Errorf("%+v", got)
	}
}
