package cmd

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/require"
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
	racing.Skip(t, "TestTrainForReal runs the same goroutines")
	file := filepath.Join("..", "testdata", "flowers.csv")
	got := forReal(t, "train", "--quiet", "--iterations", "300", "--problem", "mnpc", "--file", file, "--label", "species", "--classes", "lily,rose,iris",
		"--missing", "impute", "--model", "linear", "--kappa", "0.4,0.5", "--split", "60/20/20", "--out", filepath.Join(t.TempDir(), "run"))
	for _, want := range []string{"alm on flowers.csv, mnpc", "error[rose]              0.4", "error[iris]              0.5", "error[lily] (minimised)"} {
		if got.status != exitDone || !strings.Contains(got.stdout, want) {
			t.Errorf("%d: no %q in\n%s%s", got.status, want, got.stdout, got.stderr)
		}
	}
}
