package predictor_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// constrained trains under constraints on people, and returns the model.
func constrained(t *testing.T, file string, texts ...string) *predictor.Model {
	t.Helper()
	var list []constraints.Constraint
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		list = append(list, c)
	}
	source := session.CSV(file, "member")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.Decisions{SubjectTo: list})
	return load(t, dir)
}

// Evaluate returns the same rates, confusion matrix and constraints as a count by hand.
func TestEvaluate(t *testing.T) {
	text := strings.ReplaceAll(people(3000), ",NA,", ",baker,")
	m := constrained(t, write(t, text), "gap(positive_rate, job) <= 0.05", "fpr[clerk] <= 0.3", "ratio(tpr, job) >= 0.8", "l1(weights) <= 100", "loss <= 5")
	e, err := m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{"age<40"}})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	var confusion [2][2]float64
	rows, accepted := map[string]int{}, map[string]int{}
	positives, hits := map[string]int{}, map[string]int{}
	clerks, wrong := 0, 0
	err = m.Read(strings.NewReader(text), "people", predictor.Options{}, func(b *predictor.Batch) error {
		for i, d := range b.Decisions {
			fields := strings.Split(lines[b.First+i], ",")
			y, job := indicatorInt(fields[4] == "yes"), fields[3]
			confusion[y][d]++
			rows[job]++
			accepted[job] += d
			positives[job] += y
			hits[job] += y * d
			if job == "clerk" && y == 0 {
				clerks++
				wrong += d
			}
		}
		return nil
	})
	require.NoError(t, err)
	for y := range confusion {
		if !slices.Equal(e.Confusion[y], confusion[y][:]) {
			t.Errorf("confusion %v, want %v", e.Confusion, confusion)
		}
	}
	if want := float64(confusion[0][1]+confusion[1][0]) / float64(len(lines)); e.Rows != len(lines) || e.Rates.Overall["error"].Value != want {
		t.Errorf("%d rows with error %v, want %v", e.Rows, e.Rates.Overall["error"], want)
	}
	spread := func(of, all map[string]int) (low, high float64) {
		low, high = math.Inf(1), math.Inf(-1)
		for job := range all {
			r := float64(of[job]) / float64(all[job])
			low, high = min(low, r), max(high, r)
		}
		return low, high
	}
	low, high := spread(accepted, rows)
	tprLow, tprHigh := spread(hits, positives)
	for j, want := range []float64{high - low, float64(wrong) / float64(clerks), tprLow / tprHigh} {
		c := e.Constraints[j]
		if c.Value == nil || math.Abs(*c.Value-want) > 1e-12 || c.Interval == nil || c.Interval[0] > want || c.Interval[1] < want || c.Met == nil {
			t.Errorf("%s: %+v, want %v", c.Constraint, c, want)
		}
		if held := *c.Value <= c.Bound+0.01; !c.AtLeast && *c.Met && !held {
			t.Errorf("%s: met with %v", c.Constraint, *c.Value)
		}
	}
	norm := 0.0
	for _, x := range m.Weights().Weights[0].Data {
		norm += math.Abs(x)
	}
	if c := e.Constraints[3]; c.Value == nil || math.Abs(*c.Value-norm) > 1e-9 || c.Interval != nil || !*c.Met {
		t.Errorf("%+v, want %v", c, norm)
	}
	if c := e.Constraints[4]; c.Value == nil || *c.Value <= 0 || c.Interval != nil {
		t.Errorf("%+v", c)
	}
	var groups []string
	for _, g := range e.Rates.ByGroup {
		groups = append(groups, g.Group)
	}
	if want := []string{"job=baker", "job=clerk", "job=nurse", "age<40", "age<40=the rest"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
}

// The test evaluates a file whose rows do not determine a constraint, and constraints that are not
// met.
func TestEvaluateOtherRows(t *testing.T) {
	text := people(1000)
	m := constrained(t, write(t, text), "gap(tpr, job) <= 0.05")
	one := "age,income,job,member\n50,1,clerk,yes\n20,2,clerk,no\n30,,clerk,no\n"
	e, err := m.Evaluate(strings.NewReader(one), "one", predictor.EvaluateOptions{})
	require.NoError(t, err)
	if c := e.Constraints[0]; c.Value != nil || c.Met != nil || c.Reason == "" || len(e.Unmet()) != 0 {
		t.Errorf("a gap of one group: %+v", c)
	}
	never, err := constraints.Parse("positive_rate <= 0.0001")
	require.NoError(t, err)
	e, err = m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{Subject: []constraints.Constraint{never}})
	if err != nil || len(e.Unmet()) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	for name, tc := range map[string]struct {
		text string
		o    predictor.EvaluateOptions
		want error
		says string
	}{
		"no label":  {"age,income,job\n50,1,clerk\n", predictor.EvaluateOptions{}, dataerr.ErrColumn, `no column "member"`},
		"label":     {"age,income,job,member\n50,1,clerk,maybe\n", predictor.EvaluateOptions{}, dataerr.ErrLabel, `row 1: label out of range: "maybe", want one of yes, no`},
		"attribute": {one, predictor.EvaluateOptions{By: []string{"sex"}}, dataerr.ErrColumn, `no column "sex"`},
		"condition": {one, predictor.EvaluateOptions{By: []string{"job=pilot"}}, dataerr.ErrGroup, `job is never "pilot"`},
	} {
		if _, err := m.Evaluate(strings.NewReader(tc.text), "file", tc.o); !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Adult has sparse rows, and its attribute sex is a block of features. Evaluate counts the same
// rates of the test rows as the session.
func TestEvaluateAdult(t *testing.T) {
	data := os.Getenv(datasets.EnvData)
	if data == "" {
		t.Skip(datasets.EnvData + " is not set")
	}
	c := require.Value(constraints.Parse("gap(positive_rate, sex) <= 0.02"))(t)
	dir, _ := train(t, session.Table{Dataset: "adult", Dir: data}, session.Decisions{SubjectTo: []constraints.Constraint{c}})
	m := load(t, dir)
	f := require.Value(os.Open(filepath.Join(data, "adult/a9a.t")))(t)
	defer f.Close()
	e := require.Value(m.Evaluate(f, f.Name(), predictor.EvaluateOptions{By: []string{"race"}}))(t)
	if e.Rows != 16281 || len(e.Rates.ByGroup) != 7 || e.Constraints[0].Value == nil {
		t.Errorf("%d rows, %d groups, %+v", e.Rows, len(e.Rates.ByGroup), e.Constraints)
	}
	rates := map[string]float64{}
	for _, g := range e.Rates.ByGroup {
		rates[g.Group] = g.Rates["positive_rate"].Value
	}
	if want := math.Abs(rates["sex=Female"] - rates["sex=Male"]); math.Abs(*e.Constraints[0].Value-want) > 1e-12 {
		t.Errorf("%v, want %v", *e.Constraints[0].Value, want)
	}
}

// Pictures take their labels from a second file.
func TestEvaluatePictures(t *testing.T) {
	c := require.Value(constraints.Parse("recall[*] >= 0.1"))(t)
	dir, _ := train(t, session.Images{Dataset: "synthetic", RowsPerClass: 40}, session.Decisions{SubjectTo: []constraints.Constraint{c}}, 4)
	m := load(t, dir)
	pixels := m.Description().Input.Features
	idx := func(rows int) string {
		return string([]byte{0, 0, 8, 2, 0, 0, 0, byte(rows), 0, 0, byte(pixels >> 8), byte(pixels)}) + strings.Repeat("\x07", rows*pixels)
	}
	e, err := m.Evaluate(strings.NewReader(idx(5)), "idx", predictor.EvaluateOptions{Labels: []byte{0, 1, 2, 3, 200}})
	if err != nil || e.Rows != 4 || len(e.Confusion) != 4 || len(e.Constraints) != 1 || e.Constraints[0].Value == nil {
		t.Errorf("%+v, %v", e, err)
	}
	// The five pictures are equal, so the model decides the same class for each. The fourth picture is
	// of another class than the model's, and the third has no earlier decision.
	same, other := m.Classes()[0], m.Classes()[1]
	if e.Confusion[0][0] == 0 {
		same, other = m.Classes()[slices.Index(e.Confusion[0], 1)], m.Classes()[0]
	}
	old := write(t, "row,class\n1,"+same+"\n2,"+same+"\n4,"+other+"\n5,"+other+"\n")
	o := predictor.EvaluateOptions{Labels: []byte{0, 1, 2, 200, 3}, Subject: []constraints.Constraint{constraints.Churn("before.csv").AtMost(0.1)}}
	for _, tc := range []struct {
		earlier map[string]string
		counted bool
		err     error
	}{
		{nil, false, nil}, {map[string]string{"": old}, true, nil}, {map[string]string{"before.csv": old}, true, nil},
		{map[string]string{"else.csv": old}, false, dataerr.ErrOption}, {map[string]string{"": old + "x"}, false, os.ErrNotExist},
	} {
		o.Earlier = tc.earlier
		e, err := m.Evaluate(strings.NewReader(idx(5)), "idx", o)
		switch {
		case tc.err != nil || err != nil:
			if tc.err == nil || !errors.Is(err, tc.err) {
				t.Errorf("%v: %v, want %v", tc.earlier, err, tc.err)
			}
		case !tc.counted && e.Constraints[0].Reason == "", tc.counted && (*e.Constraints[0].Value != 1./3 || e.Constraints[0].Interval == nil):
			t.Errorf("%v: %+v", tc.earlier, e.Constraints[0])
		}
	}
	for _, labels := range [][]byte{{0, 1}, {0, 1, 2, 3, 0, 1}} {
		if _, err := m.Evaluate(strings.NewReader(idx(5)), "idx", predictor.EvaluateOptions{Labels: labels}); !errors.Is(err, dataerr.ErrMismatch) {
			t.Errorf("%d labels: %v", len(labels), err)
		}
	}
}

// On the test rows alone, which rows.csv names, Evaluate counts the same rates as the session,
// because the saved weights include the threshold.
func TestEvaluateTestRows(t *testing.T) {
	text := strings.ReplaceAll(people(3000), ",NA,", ",baker,")
	texts := []string{"gap(positive_rate, job) <= 0.05", "fpr <= 0.2", "excess(error, groups) <= 0.1", "distance(tpr, job) <= 0.1", "error[*] <= 0.4"}
	var list []constraints.Constraint
	for _, s := range texts {
		c := require.Value(constraints.Parse(s))(t)
		list = append(list, c)
	}
	source := session.CSV(write(t, text), "member")
	source.Ignore, source.Missing, source.Groups = []string{"id"}, tabular.MissingImputed, []string{"job=clerk", "job!=nurse"}
	dir, result := train(t, source, session.Decisions{SubjectTo: list})
	m := load(t, dir)
	if m.Description().Decision.Threshold != result.Outcome.Threshold {
		t.Errorf("threshold %v, want %v", m.Description().Decision.Threshold, result.Outcome.Threshold)
	}
	rows := require.Value(rundir.Dir(dir).ReadRows(m.Description().Rows))(t)
	lines := strings.Split(text, "\n")
	only := lines[0] + "\n"
	for _, r := range rows {
		if r.Split == results.Test {
			only += lines[r.Number] + "\n"
		}
	}
	e := require.Value(m.Evaluate(strings.NewReader(only), "test rows", predictor.EvaluateOptions{}))(t)
	for j, c := range result.Outcome.Constraints {
		got := e.Constraints[j]
		if got.Constraint != texts[j] || got.Value == nil || math.Abs(*got.Value-*c.Test) > 1e-12 {
			t.Errorf("%s: %v, the session counted %v", got.Constraint, got.Value, *c.Test)
		}
		if got.Interval == nil || math.Abs(got.Interval[0]-c.Interval[0]) > 1e-12 || math.Abs(got.Interval[1]-c.Interval[1]) > 1e-12 {
			t.Errorf("%s: interval %v, the session's is %v", got.Constraint, got.Interval, c.Interval)
		}
	}
}

const page = "../../docs/guides/using-a-model.md"

// The page's table lists the files of a run that a model needs.
func TestPageFiles(t *testing.T) {
	text := require.Value(os.ReadFile(page))(t)
	source := session.CSV(write(t, people(300)), "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{})
	names := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(names) != 6 {
		t.Fatalf("the table lists %d files", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name[1])); err != nil {
			t.Error(err)
		}
	}
	if m, err := rundir.Dir(dir).ReadModel(); err != nil || m.Rows != "rows.csv" {
		t.Errorf("%+v, %v", m, err)
	}
}

// The Go code of the page equals the code of the example.
func TestPageGo(t *testing.T) {
	text := require.Value(os.ReadFile(page))(t)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(text))
	example, err := os.ReadFile("example_test.go")
	if block == nil || err != nil {
		t.Fatal(block, err)
	}
	for _, call := range regexp.MustCompile(`(predictor\.\w+|m\.\w+|b\.\w+)`).FindAllString(block[1], -1) {
		if call != "b.Scores" && !strings.Contains(string(example), call) {
			t.Errorf("the example does not use %s", call)
		}
	}
}
