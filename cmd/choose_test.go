package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/config"
	"ppal/internal/require"
	"ppal/internal/study"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// crowdedTable writes a table with a split column and few training rows for each weight. With
// other, the labels and the values of its test rows are different.
func crowdedTable(t *testing.T, other bool) string {
	t.Helper()
	const columns = 16
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for j := range columns {
		fmt.Fprintf(&text, "x%d,", j)
	}
	text.WriteString("sex,part,y\n")
	for i := range 420 {
		part := []string{"train", "train", "train", "validation", "validation", "test"}[i%6]
		sum := rng.NormFloat64() * 2
		for j := range columns {
			x := rng.NormFloat64()
			if sum += x * float64(j%3); other && part == "test" {
				x = 7 - x
			}
			fmt.Fprintf(&text, "%.4g,", x)
		}
		y := sum > 0
		if other && part == "test" {
			y = !y
		}
		fmt.Fprintf(&text, "%s,%s,%v\n", []string{"a", "b"}[rng.IntN(2)], part, y)
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// trainCrowded trains on a table, and returns the run's directory and output.
func trainCrowded(t *testing.T, file string, flags ...string) (string, outcome) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, append([]string{"train", "--file", file, "--label", "y=true", "--ignore", "part",
		"--split-column", "part", "--subject-to", "gap(positive_rate, sex) <= 0.05", "--allow-violation", "--out", dir}, flags...)...)
	if got.status != exitDone {
		t.Fatalf("%v: %+v", flags, got)
	}
	return dir, got
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(elements...)))(t)
	return string(text)
}

// With few training rows for each weight, the validation rows choose the weight of the regularizer.
// The run is the run with this weight, bit for bit, is verified, and repeats from its config.yaml.
func TestWeightOfCrowdedTable(t *testing.T) {
	file := crowdedTable(t, false)
	dir, got := trainCrowded(t, file)
	tried, err := readChoice(dir)
	if err != nil || len(tried) < 3 {
		t.Fatalf("tried %v, %v", tried, err)
	}
	k := slices.IndexFunc(tried, func(t study.Tried) bool { return t.Chosen })
	weight := strings.TrimPrefix(tried[k].Settings, nameWeight+" ")
	if !strings.Contains(got.stdout, "chosen") || !strings.Contains(got.stderr, "chose "+tried[k].Settings+" of ") {
		t.Errorf("the output does not name the choice:\n%s%s", got.stderr, got.stdout)
	}
	if config := read(t, dir, "config.yaml"); !strings.Contains(config, "regularizer-weight: "+weight+" # chosen among 1e-05, 0.0001,") {
		t.Errorf("config.yaml does not say what was chosen:\n%.600s", config)
	}
	given, _ := trainCrowded(t, file, "--regularizer-weight", weight)
	again, _ := trainCrowded(t, file, "--config", filepath.Join(dir, "config.yaml"))
	asked, _ := trainCrowded(t, file, "--regularizer-weight", automatic)
	for _, other := range []string{given, again, asked} {
		if read(t, other, "model.safetensors") != read(t, dir, "model.safetensors") {
			t.Errorf("%s has other weights than the run that chose", other)
		}
	}
	if more, err := readChoice(again); more != nil || err != nil {
		t.Errorf("config.yaml chooses again: %v, %v", more, err)
	}
	if got := with("", "verify", dir); got.status != exitDone {
		t.Errorf("%+v", got)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "choice.jsonl"), []byte(read(t, dir, "choice.jsonl")+"{}\n"), 0o600))
	if got := with("", "verify", dir); got.status == exitDone || !strings.Contains(got.stdout+got.stderr, "choice.jsonl has been changed") {
		t.Errorf("%+v", got)
	}
}

// Neither the labels nor the values of the test rows change a choice or the weights.
func TestTestRowsChooseNothing(t *testing.T) {
	for _, flags := range [][]string{nil, {"--folds", "3", "--regularizer-weight", "auto", "--iterations", "40"}, {"--choose", "hidden=0,3", "--iterations", "40"}} {
		dir, _ := trainCrowded(t, crowdedTable(t, false), flags...)
		other, _ := trainCrowded(t, crowdedTable(t, true), flags...)
		for _, name := range []string{"choice.jsonl", "model.safetensors"} {
			if read(t, dir, name) != read(t, other, name) {
				t.Errorf("%v: the test rows change %s", flags, name)
			}
		}
	}
}

// Settings of the model are chosen like the weight; folds give a spread, and go with a confidence.
func TestChosenSettings(t *testing.T) {
	file := crowdedTable(t, false)
	dir, got := trainCrowded(t, file, "--choose", "hidden=0,4x2; regularizer-weight=0.01,0.1", "--folds", "2", "--iterations", "30", "--confidence", "0.8")
	tried, err := readChoice(dir)
	if err != nil || len(tried) < 3 || tried[0].Settings != "hidden 0, regularizer-weight 0.01" || tried[0].Spread == 0 || tried[0].Bounds[0].Spread == 0 {
		t.Fatalf("tried %+v, %v", tried, err)
	}
	if !strings.Contains(got.stdout, " ± ") || !strings.Contains(got.stderr, "on 2 folds of the training rows") {
		t.Errorf("no spread in\n%s%s", got.stderr, got.stdout)
	}
}

// A run says if the best weight is the last that it tried, and what to do; config.yaml names only
// the weights that were tried.
func TestLastWeightIsBest(t *testing.T) {
	dir, got := trainCrowded(t, crowdedTable(t, false), "--choose", "regularizer-weight=10,0.1", "--iterations", "30")
	const last = "The best weight, 0.1, is the last of the list, and one beyond it may be better: try --choose regularizer-weight=0.1,... with weights beyond it."
	if config := read(t, dir, "config.yaml"); !strings.Contains(got.stdout, last) || !strings.Contains(got.stderr, last) || !strings.Contains(config, last) {
		t.Errorf("%s%s", got.stderr, got.stdout)
	}
	c := &choosing{points: []config.Values{{}}}
	require.NoError(t, errors.Join(c.cross("hidden=0,3"), c.cross(nameWeight+"=0.1,1,10")))
	names, follows := c.candidates()
	for _, k := range []struct {
		chosen int
		later  bool
		want   string
	}{{0, true, ""}, {1, true, ""}, {1, false, "allowed, and a later one may be better: try --choose regularizer-weight=1,10."}, {2, false, "The best weight, 10, is the last of the list"},
		{5, false, "The best weight, 10, is the last of the list"}} {
		if got := c.beyond(k.chosen, k.later, follows); !strings.Contains(got, k.want) || (got == "") != (k.want == "") {
			t.Errorf("%+v: %q", k, got)
		}
	}
	if got := (&choosing{points: []config.Values{{"hidden": "3"}, {"hidden": "0"}}}).beyond(1, false, []bool{false, false}); got != "" {
		t.Errorf("settings without an order: %q", got)
	}
	var o session.Options
	c.chosenNotes(&o, []study.Tried{{Settings: names[0], Chosen: true}, {Settings: names[1]}})
	if !slices.ContainsFunc(o.Files.Settings, func(s session.Setting) bool { return s.Name == nameWeight && s.Note == "chosen among 0.1, 1" }) {
		t.Errorf("%+v", o.Files.Settings)
	}
}

// Each bound keeps its column in the table if no row that judges a candidate counts for the bound.
func TestPrintedChoice(t *testing.T) {
	one, two := 0.25, 0.5
	bounds := func(a, b *float64) []study.TriedBound {
		return []study.TriedBound{{Constraint: "fpr <= 0.1", Value: a}, {Constraint: "fnr <= 0.2", Value: b}}
	}
	var out strings.Builder
	printChoice(&out, []study.Tried{{Settings: "a", Objective: "error", Bounds: bounds(nil, &one), Gradients: 30}, {Settings: "b", Objective: "error", Bounds: bounds(&two, &one), Gradients: 12, Chosen: true}}, nil)
	lines := strings.Split(out.String(), "\n")
	if len(lines) < 4 || strings.Index(lines[1], "fnr") != strings.Index(lines[2], "0.25") || strings.Index(lines[1], "fpr") != strings.Index(lines[3], "0.50") || !strings.Contains(out.String(), "took 42 gradients") {
		t.Errorf("%s", out.String())
	}
}

// If another try was better than the run, the table says where: in bounds on the training rows, or
// on the validation rows.
func TestBetterTry(t *testing.T) {
	for state, want := range map[constraints.State]string{constraints.NotMet: "The run misses bounds on the training rows that the try with a met:", constraints.Met: "On the validation rows, the run is worse than the try with a:"} {
		run := &results.Outcome{Constraints: []results.ConstraintOutcome{{}}}
		run.Objective.Set(results.Validation, 0.3)
		run.Constraints[0].Judge(constraints.Judgement{State: state})
		var out strings.Builder
		printChoice(&out, []study.Tried{{Settings: "a", Value: 0.2}, {Settings: "b", Warm: true, Chosen: true}}, run)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", state, out.String())
		}
	}
}

// Without validation rows the weight is the default, in one line.
func TestWeightWithoutValidationRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, "train", "--file", crowdedTable(t, false), "--label", "y=true", "--ignore", "part",
		"--split", "80/0/20", "--regularizer-weight", "auto", "--iterations", "30", "--out", dir)
	if got.status != exitDone || !strings.Contains(got.stderr, "no validation rows can choose --regularizer-weight, so it is 1e-05, the default") {
		t.Fatalf("%+v", got)
	}
	if config := read(t, dir, "config.yaml"); !strings.Contains(config, "regularizer-weight: 1e-05") {
		t.Errorf("%.600s", config)
	}
}

// What cannot be chosen is refused in one line.
func TestChoiceRefused(t *testing.T) {
	table := []string{"train", "--file", "../testdata/rows.csv", "--label", "outcome=yes", "--missing", "impute"}
	for _, c := range []struct{ flags, want string }{
		{"--choose hidden", `--choose: "hidden": want NAME=VALUE,VALUE`},
		{"--choose hiden=3", "unknown setting --hiden; did you mean --hidden?"},
		{"--choose minimize=fnr,fpr", "--choose: minimize changes the rows, the problem or the output"},
		{"--choose hidden=3;hidden=4", "--choose: hidden is given twice"},
		{"--choose hidden=-1", "--hidden -1: must be"},
		{"--choose heads=separate", "--heads separate:"},
		{"--choose hidden=1,2 --time-limit 9s", "--choose: trains several models"},
		{"--regularizer-weight auto --subject-to fpr<=0.5 --confidence 0.9", "--regularizer-weight auto: the validation rows of --confidence must not choose settings; add --folds 5"},
		{"--folds 1", "--folds: want at least 2"},
		{"--choose hidden=1,2 --split 90/0/10", "--choose: needs validation rows: make some"},
	} {
		got := commandOn(t.Context(), func(a *app) { a.open = session.New }, append(slices.Clone(table), strings.Fields(c.flags)...)...)
		if got.status != exitUsage || !strings.Contains(got.stderr, c.want) || strings.Count(got.stderr[strings.Index(got.stderr, "ppal: "):], "\n") != 1 {
			t.Errorf("%s: status %d, %s", c.flags, got.status, got.stderr)
		}
	}
	if got := with("", "sweep", "--over", "fpr", "--values", "0.1,0.05", "--dataset", "synthetic-compas", "--regularizer-weight", "auto"); got.status != exitUsage ||
		!strings.Contains(got.stderr, "only ppal train chooses the weight; give a number") {
		t.Errorf("%+v", got)
	}
}
