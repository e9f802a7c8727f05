package cmd

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/session"
)

// A table with three classes trains, predicts, evaluates and exports by the commands alone. --file
// implies --dataset csv.
func TestClassesOfTable(t *testing.T) {
	dir := t.TempDir()
	run, file := filepath.Join(dir, "run"), filepath.Join("..", "testdata", "flowers.csv")
	flags := []string{"--file", file, "--label", "species", "--classes", "rose,lily,iris", "--missing", "impute", "--split", "60/20/20"}
	got := forReal(t, append([]string{"train", "--quiet", "--iterations", "200", "--out", run, "--by-group",
		"--subject-to", "error[lily] <= 0.2; gap(tpr[rose], place) <= 0.5"}, flags...)...)
	if got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"error[lily]", "gap(tpr[rose], place)", "class  rows  recall", "group        rows  error", "place=south", "recall[rose]"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in %s", want, got.stdout)
		}
	}
	got = with("", "predict", run, "--input", file)
	records, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil || got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	header := []string{"row", "class", "score_rose", "score_lily", "score_iris", "probability_rose", "probability_lily", "probability_iris"}
	if len(records) != 61 || !slices.Equal(records[0], header) {
		t.Errorf("%d records, %q", len(records), records[0])
	}
	got = with("", "evaluate", run, "--input", file, "--json")
	var e struct {
		Rows      int
		Classes   []string
		Confusion [][]int
		Decisions []struct{ Value *float64 }
	}
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	// the confusion matrix equals a count of the predictions, without the oaks
	text := require.Value(os.ReadFile(file))(t)
	want, rows := [][]int{make([]int, 3), make([]int, 3), make([]int, 3)}, 0
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		if a := slices.Index(e.Classes, line[strings.LastIndexByte(line, ',')+1:]); a >= 0 {
			want[a][slices.Index(e.Classes, records[1+i][1])]++
			rows++
		}
	}
	for a := range want {
		if !slices.Equal(want[a], e.Confusion[a]) {
			t.Errorf("%v decided, want %v", e.Confusion[a], want[a])
		}
	}
	lilies := want[1][0] + want[1][1] + want[1][2]
	if v := e.Decisions[0].Value; e.Rows != rows || v == nil || *v != 1-float64(want[1][1])/float64(lilies) && *v != float64(lilies-want[1][1])/float64(lilies) {
		t.Errorf("%d rows, want %d; %s", e.Rows, rows, got.stdout)
	}
	if got = with("", "export", run, "--onnx", filepath.Join(dir, "m.onnx")); got.status != exitDone {
		t.Errorf("%+v", got)
	}
	// the run's own configuration repeats the run
	again := forReal(t, "train", "--quiet", "--config", filepath.Join(run, "config.yaml"), "--out", filepath.Join(dir, "again"))
	first, err1 := os.ReadFile(filepath.Join(run, "model.safetensors"))
	second, err2 := os.ReadFile(filepath.Join(dir, "again", "model.safetensors"))
	if again.status != exitDone || err1 != nil || err2 != nil || !slices.Equal(first, second) {
		t.Errorf("%+v, %v, %v", again, err1, err2)
	}
}

// The published problem takes a table's classes by name.
func TestNeymanPearsonOfTable(t *testing.T) {
	require.NoRace(t, "TestTrainForReal runs the same goroutines")
	file := filepath.Join("..", "testdata", "flowers.csv")
	got := forReal(t, "train", "--quiet", "--iterations", "300", "--problem", "mnpc", "--file", file, "--label", "species", "--classes", "lily,rose,iris",
		"--missing", "impute", "--model", "linear", "--kappa", "0.4,0.5", "--split", "60/20/20", "--out", filepath.Join(t.TempDir(), "run"))
	for _, want := range []string{"alm on flowers.csv, mnpc", "error[rose]              0.4", "error[iris]              0.5", "error[lily] (minimised)"} {
		if got.status != exitDone || !strings.Contains(got.stdout, want) {
			t.Errorf("%d: no %q in\n%s%s", got.status, want, got.stdout, got.stderr)
		}
	}
}

// TestConstraintsOfTheCommandLine trains under constraints given as text, and repeats the run from
// its config.yaml.
func TestConstraintsOfTheCommandLine(t *testing.T) {
	require.NoRace(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	train := func(args ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
	}
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	flags := []string{"train", "--dataset", "synthetic-adult", "--subject-to", "gap(tpr, sex) <= 5%", "--subject-to", "fpr[Female] <= 0.2; l1(weights) <= 20",
		"--minimize", "error", "--bounds-on", "surrogate", "--iterations", "20", "--quiet", "--out", first}
	if o := train(flags...); o.status != exitDone && o.status != exitUnmet {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	config := require.Value(os.ReadFile(filepath.Join(first, "config.yaml")))(t)
	for _, want := range []string{"problem: rates", "minimize: error", "gap(tpr, sex) <= 0.05", "fpr[Female] <= 0.2", "l1(weights) <= 20", "bounds-on: surrogate"} {
		if !strings.Contains(string(config), want) {
			t.Errorf("no %q in\n%s", want, config)
		}
	}
	if o := train("train", "--config", filepath.Join(first, "config.yaml"), "--quiet", "--out", second); o.status != exitDone && o.status != exitUnmet {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	var texts [2][]string
	for k, run := range []string{first, second} {
		data := require.Value(os.ReadFile(filepath.Join(run, "summary.json")))(t)
		var summary struct {
			Decisions []struct {
				Constraint string
				Train      *float64
			}
		}
		require.NoError(t, json.Unmarshal(data, &summary))
		for _, d := range summary.Decisions {
			if d.Train == nil {
				t.Errorf("%s has no value", d.Constraint)
			}
			texts[k] = append(texts[k], d.Constraint)
		}
	}
	if got := strings.Join(texts[0], "; "); got != "gap(tpr, sex) <= 0.05; fpr[Female] <= 0.2; l1(weights) <= 20" || got != strings.Join(texts[1], "; ") {
		t.Errorf("%q, and again %q", got, texts[1])
	}
}

// Predict ranks consecutive documents of a query, across the batches of the input, and evaluate
// prints the errors of pairs; a run on rankings is verified.
func TestRankingCommands(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var text strings.Builder
	text.WriteString("id,q,grade,site,x\n")
	rows := 0
	for q := range 50 {
		for range 5 + rng.IntN(8) {
			x := rng.NormFloat64()
			grade := 0
			if x+rng.NormFloat64() > 0.3 {
				grade = 1
			}
			fmt.Fprintf(&text, "d%d,q%d,%d,%s,%.1f\n", rows, q, grade, []string{"a", "b"}[rng.IntN(2)], x)
			rows++
		}
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "documents.csv"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	must := func(args ...string) string {
		t.Helper()
		o := forReal(t, args...)
		if o.status != 0 {
			t.Fatalf("%v: status %d, %s", args, o.status, o.stderr)
		}
		return o.stdout
	}
	must("train", "--file", file, "--query", "q", "--label", "grade", "--ignore", "id", "--iterations", "60",
		"--subject-to", "gap(cross_pair_error, site) <= 0.05", "--out", out, "--quiet")
	must("verify", out)
	lines := strings.Split(strings.TrimSpace(must("predict", out, "--input", file, "--keep", "id")), "\n")
	if len(lines) != rows+1 || lines[0] != "row,query,score,rank,id" {
		t.Fatalf("%d lines, the first is %s", len(lines), lines[0])
	}
	above := map[string]map[int]int{} // of each query, the documents of each rank
	for i, line := range lines[1:] {
		f := strings.Split(line, ",")
		rank, err := strconv.Atoi(f[3])
		if err != nil || f[0] != strconv.Itoa(i+1) || f[4] != "d"+strconv.Itoa(i) {
			t.Fatalf("line %d: %s", i+2, line)
		}
		if above[f[1]] == nil {
			above[f[1]] = map[int]int{}
		}
		above[f[1]][rank]++
	}
	for query, ranks := range above {
		next := 1
		for range ranks {
			if ranks[next] == 0 {
				t.Errorf("%s: the ranks are %v", query, ranks)
				break
			}
			next += ranks[next]
		}
	}
	for _, want := range []string{"of 50 queries", "NDCG@10", "site=a", "gap(cross_pair_error, site) <= 0.05"} {
		if table := must("evaluate", out, "--input", file); !strings.Contains(table, want) {
			t.Errorf("evaluate lacks %q:\n%s", want, table)
		}
	}
}

// TestPlainModel checks that a table without a bound trains a plain model: unconstrained, linear,
// with the rates of every group and advice how to add a bound. The advice itself works.
func TestPlainModel(t *testing.T) {
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
	for k, c := range []struct{ flags, method, minimised string }{
		{"--dataset synthetic-compas", "unconstrained", "loss"},
		{"--dataset synthetic-compas --minimize loss", "unconstrained", "loss"},
		{"--dataset synthetic-compas --minimize error", "unconstrained", "error"},
		{"--dataset synthetic-compas --method unconstrained", "unconstrained", "loss"},
		{"--dataset synthetic-compas --method alm", "alm", "loss"},
		{"--dataset synthetic-compas --model mlp --hidden 4", "unconstrained", "loss"},
	} {
		run := filepath.Join(t.TempDir(), "run")
		got := forReal(t, append([]string{"train", "--quiet", "--iterations", "30", "--out", run}, strings.Fields(c.flags)...)...)
		if got.status != exitDone || !strings.Contains(got.stdout, c.method+" on synthetic-compas, rates:") ||
			!strings.Contains(got.stdout, c.minimised+" (minimised)") || !strings.Contains(got.stdout, "\nrace=African-Amer") || strings.Contains(got.stdout, "promised") {
			t.Fatalf("%s: %+v", c.flags, got)
		}
		_, advice, found := strings.Cut(got.stdout, "--subject-to '")
		bound, _, _ := strings.Cut(advice, "'")
		if !found || bound != "gap(positive_rate, race) <= 0.05" {
			t.Fatalf("%s: no advice: %s", c.flags, got.stdout)
		}
		if k > 0 && k < 5 { // a linear model and a network are enough
			continue
		}
		if verified := forReal(t, "verify", run); verified.status != exitDone {
			t.Errorf("%s: verify: %+v", c.flags, verified)
		}
		if page := forReal(t, "report", run); page.status != exitDone {
			t.Errorf("%s: report: %+v", c.flags, page)
		}
	}
}
