package decisions

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/study"
)

// standIn is a table that needs no files, with the columns of COMPAS.
var standIn = Dataset{Name: "synthetic-compas", Group: "race=African-American", Attribute: "race=African-American"}

// The counts of a run of ppal give the values and the judgements of its outcome.
func TestJudgedAsTrained(t *testing.T) {
	rows := require.Value(loadRows("", standIn, 1))(t)
	rows.scores = make([]float32, len(rows.labels))
	for i, y := range rows.labels {
		rows.scores[i] = float32(i%10) + 3*float32(y) + 2*float32(rows.groups[i])
	}
	for _, p := range []Problem{{demographicParity, standIn, 0.05, false}, {equalizedOdds, standIn, 0.05, false}, {equalizedOdds, standIn, 0.001, false},
		{neymanPearson, standIn, 0.1, false}, {demographicParity, standIn, 0.05, true}, {equalizedOdds, standIn, 0.05, true}} {
		fit := Fit{Kind: p.Kind, Dataset: p.Data.Name, Bound: p.Bound, Split: 1}
		o := require.Value(train(t.Context(), p, rows, 1, &fit))(t)
		accepted := fit.Points[0].Accepted
		for k, want := range o.Constraints {
			got, m := p.judged(rows.Totals(), accepted)[k], measure(p.Kind, rows.Totals(), accepted, 0)
			if got.State != want.State || math.Abs(got.Tolerance-want.Tolerance) > 1e-12 || math.Abs(m.Rates[k]-*want.Train) > 1e-12 {
				t.Errorf("%s: %v with tolerance %v at %v, and the run says %v with %v at %v", want.Constraint, got.State, got.Tolerance, m.Rates[k],
					want.State, want.Tolerance, *want.Train)
			}
		}
	}
}

// The files have NumPy's format, and hold the rows of all splits in order.
func TestRowsWrite(t *testing.T) {
	rows := require.Value(loadRows("", standIn, 1))(t)
	dir := t.TempDir()
	require.NoError(t, rows.Write(dir))
	read := func(name, header string) []byte {
		data := require.Value(os.ReadFile(filepath.Join(dir, name)))(t)
		length := 10 + int(binary.LittleEndian.Uint16(data[8:]))
		if !bytes.HasPrefix(data, []byte("\x93NUMPY\x01\x00")) || length%64 != 0 || data[length-1] != '\n' || !bytes.Contains(data[:length], []byte(header)) {
			t.Errorf("%s: header %q, want %s", name, data[:length], header)
		}
		return data[length:]
	}
	n := len(rows.labels)
	_, cols := rows.Tables.Train.Features.Dims()
	features := read("features.npy", "'descr': '<f8'")
	if len(features) != 8*n*cols {
		t.Fatalf("%d bytes of features, want %d rows of %d numbers", len(features), n, cols)
	}
	row := make([]float64, cols)
	rows.Tables.Test.Features.Float64(row, 0, 1)
	at := (rows.Tables.Train.Rows() + rows.Tables.Validation.Rows()) * cols
	for j, want := range row {
		if got := math.Float64frombits(binary.LittleEndian.Uint64(features[8*(at+j):])); got != want {
			t.Errorf("column %d of the first test row is %v, want %v", j, got, want)
		}
	}
	labels, groups, splits := read("labels.npy", "'|u1'"), read("groups.npy", "'|u1'"), read("splits.npy", "'|u1'")
	var totals Counts
	for i := range labels {
		totals[splits[i]][groups[i]][labels[i]]++
	}
	if len(labels) != n || totals != rows.Totals() {
		t.Errorf("%d rows with %v, want %d with %v", len(labels), totals, n, rows.Totals())
	}
	if protected := rows.Tables.Train.Groups[0]; protected.Name != standIn.Group || groups[protected.Rows[0]] != 1 {
		t.Errorf("group %s of row %d is %d, want 1 for %s", protected.Name, protected.Rows[0], groups[protected.Rows[0]], standIn.Group)
	}
}

// stubLibrary writes a program that answers like a worker. In its answer every fit accepts the same
// rows.
func stubLibrary(t *testing.T, answer string) *study.Python {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for Python is a shell script")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\necho '{\"result\": {\"library\": \"1.0\"}}'\nwhile read -r line; do echo \"$line\" >> " + filepath.Join(dir, "requests") + "; echo '" + answer + "'; done\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python"), []byte(script), 0o755))
	return &study.Python{Interpreter: filepath.Join(dir, "python"), Modules: dir, Threads: 1, Log: filepath.Join(dir, "log")}
}

const accepting = `{"result": {"seconds": 3, "cpu": 2, "notes": ["slow"], "points": [{"name": "last", "models": 2,
 "accepted": [[[1, 2], [3, 4]], [[0, 1], [0, 1]], [[0, 0], [1, 1]]]}]}}`

// A study of one problem on a stand-in runs the search and the repeated fits. The same call again
// runs nothing.
func TestRun(t *testing.T) {
	p := Problem{Kind: demographicParity, Data: standIn, Bound: 0.01}
	python := stubLibrary(t, strings.ReplaceAll(accepting, "\n", ""))
	contender := Contender{Name: "library", Worker: "fairlearn", Call: "fitted", grid: func(Problem) []Axis { return []Axis{numbers("rate", 1, 2, 3)} }, wider: "rate"}
	last := 0.0
	o := Options{Problems: []Problem{p}, Contenders: []Contender{contender}, Splits: 1, Threads: 1, Out: t.TempDir(), Python: python,
		Progress: func(done float64, total int, _ string) { last = done / float64(total) }}
	outcome, err := Run(t.Context(), o)
	require.NoError(t, err)
	// runs of the search, of ppal, and of the best setting and the next larger one
	if want := 3 + ownRepeats + 2; len(outcome.Fits) != want || last != 1 {
		t.Errorf("%d runs, want %d; progress %v", len(outcome.Fits), want, last)
	}
	rows := outcome.Table(p)
	if len(rows) != 2 || rows[0].Met != 1 || rows[1].Seconds[0] != 3 || rows[1].CPU[0] != 2 || rows[1].Models[0] != 2 || rows[1].Notes[0] != "slow" {
		t.Errorf("%+v", rows)
	}
	if outcome.Versions["library"] != "1.0" {
		t.Error(outcome.Versions)
	}
	requests, err := os.ReadFile(filepath.Join(filepath.Dir(python.Log), "requests"))
	require.NoError(t, err)
	for _, want := range []string{`"call":"fit"`, `"contender":"fitted"`, `"kind":"dp"`, `"bound":0.01`, `"setting":{"rate":3}`, `synthetic-compas-1"`} {
		if !strings.Contains(string(requests), want) {
			t.Errorf("no %s in %s", want, requests)
		}
	}
	before, err := os.ReadFile(filepath.Join(o.Out, resultsFile))
	require.NoError(t, err)
	_, err = Run(t.Context(), o)
	if after, readErr := os.ReadFile(filepath.Join(o.Out, resultsFile)); err != nil || readErr != nil || !bytes.Equal(before, after) {
		t.Errorf("%v, %v; runs were repeated", err, readErr)
	}
}

// A library that fails is a result. A process that ends is an error.
func TestFailures(t *testing.T) {
	p := Problem{Kind: demographicParity, Data: standIn, Bound: 0.01}
	contender := Contender{Name: "library", Worker: "w", grid: func(Problem) []Axis { return []Axis{fixed("rate", 1.)} }}
	o := Options{Problems: []Problem{p}, Contenders: []Contender{contender}, Splits: 0, Threads: 1, Out: t.TempDir(), Python: stubLibrary(t, `{"error": "ValueError: no"}`)}
	outcome, err := Run(t.Context(), o)
	if err != nil || len(outcome.Fits) != 1 || outcome.Fits[0].Failure != "w: ValueError: no" {
		t.Errorf("%v %+v", err, outcome)
	}
	o.Python, o.Out = stubLibrary(t, "half a"), t.TempDir()
	if _, err := Run(t.Context(), o); err == nil {
		t.Error("an answer that is not JSON is not an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Python, o.Out = stubLibrary(t, accepting), t.TempDir()
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the call was cancelled", err)
	}
}
