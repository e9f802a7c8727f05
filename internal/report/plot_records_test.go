package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/trainer"
)

// sample returns a run of four classes that becomes feasible.
func sample(constraintPlots []string) PlottedRun {
	run := PlottedRun{Title: "mnpc, ppala", Objective: "T-shirt/top", Constraints: constraintPlots}
	for range constraintPlots {
		run.Bounds = append(run.Bounds, 0.2)
	}
	for k := 0; k <= 1000; k += 5 {
		t := float64(k)
		r := trainer.Record{Iteration: k, Seconds: t / 40, Objective: 1.5*math.Exp(-t/60) + 2e-3,
			Stationarity: 0.5*math.Exp(-t/100) + 1e-5, Complementarity: 1e-2 * math.Exp(-t/80)}
		for j := range constraintPlots {
			g := 1.3*math.Exp(-t/(40+20*float64(j))) - 0.02*float64(j)
			r.Constraints = append(r.Constraints, g)
			r.Infeasibility = max(r.Infeasibility, g)
			r.Multipliers = append(r.Multipliers, 0.3*float64(j)*(1-math.Exp(-t/90)))
			r.Auxiliary = append(r.Auxiliary, 0.3*float64(j)*(1-math.Exp(-t/130)))
		}
		run.Records = append(run.Records, r)
	}
	return run
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	run := sample([]string{"Trouser", "Pullover", "Dress"})
	run.Bounded = []string{"Trouser <= 0.2", "Pullover <= 0.2", "Dress <= 0.2"}
	got := require.Value(WritePlots(dir, run))(t)
	want := []string{
		"objective-iterations.svg", "objective-seconds.svg", "violations-iterations.svg", "violations-seconds.svg",
		"residuals-iterations.svg", "residuals-seconds.svg", "multipliers-iterations.svg", "multipliers-seconds.svg", "overview.svg",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, texts := range map[string][]string{
		"objective-iterations.svg":  {"Objective and bounded values", "T-shirt/top", "Trouser", "Pullover", "Dress", "bound 0.2", "iteration"},
		"violations-seconds.svg":    {"Trouser &lt;= 0.2", "≤ ", "seconds of training"},
		"residuals-iterations.svg":  {"stationarity", "infeasibility", "complementarity"},
		"multipliers-seconds.svg":   {"Dress", "dashed the auxiliary multiplier mu"},
		"overview.svg":              {"KKT residuals", "Multipliers", "Violations", "mnpc, ppala"},
		"violations-iterations.svg": {"exceeds its bound"},
	} {
		content := wellFormed(t, filepath.Join(dir, name))
		for _, text := range texts {
			if !strings.Contains(content, text) {
				t.Errorf("%s lacks %q", name, text)
			}
		}
		if strings.Contains(content, "its mu") {
			t.Errorf("the legend of %s lists mu", name)
		}
	}
}

// The charts name a constraint with its bound once, and no constraint whose bound is in its name
// gets a second one.
func TestBoundsInNames(t *testing.T) {
	run := sample([]string{"Trouser", "gap(tpr, sex) <= 0.2: tpr[sex=F] - tpr[sex=M]"})
	run.Bounded = []string{"Trouser <= 0.2", run.Constraints[1]}
	charts := run.Charts()
	var names []string
	for _, l := range named(charts, "violations")[0].Lines {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff(run.Bounded, names); diff != "" {
		t.Error(diff)
	}
	if levels := named(charts, "objective")[0].Levels; len(levels) != 1 || levels[0].Value != 0.2 {
		t.Errorf("levels %+v", levels)
	}
}

// The charts of a run whose records measure a sample say so, and those of other runs do not.
func TestSampledRecords(t *testing.T) {
	run := sample([]string{"Trouser"})
	for _, rows := range []int{0, 1024} {
		for i := range run.Records {
			run.Records[i].Sample = rows
		}
		for _, c := range run.Charts() {
			want := rows > 0 && c.Name != "multipliers"
			if strings.Contains(c.Note, "All points but the last measure a random sample of each split, of 1024 training rows.") != want {
				t.Errorf("%d rows, %s: %q", rows, c.Name, c.Note)
			}
		}
	}
}

// A run with many constraints shows those with the largest final values.
func TestManyConstraints(t *testing.T) {
	run := sample(strings.Split(strings.Repeat("c ", 20), " ")[:20])
	c := named(run.Charts(), "violations")[0]
	if len(c.Lines) != mostShown || !strings.Contains(c.Note, "12 constraints closest to their bounds, of 20") {
		t.Errorf("%d lines: %s", len(c.Lines), c.Note)
	}
	if run.last().Constraints[0] = -1; run.shown()[0] != 1 {
		t.Errorf("shown %v", run.shown())
	}
}

// wellFormed checks an XML file and returns its content.
func wellFormed(t *testing.T, path string) string {
	t.Helper()
	data := require.Value(os.ReadFile(path))(t)
	for d := xml.NewDecoder(strings.NewReader(string(data))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return string(data)
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// WritePlots accepts runs of methods without multipliers, and runs with a single record, only
// zeros, or many records.
func TestWriteEdges(t *testing.T) {
	bare := sample([]string{"b"})
	for i := range bare.Records {
		bare.Records[i].Multipliers, bare.Records[i].Auxiliary = nil, nil
	}
	single := sample([]string{"b", "c"})
	single.Records = single.Records[:1]
	zero := sample([]string{"b"})
	zero.Records = []trainer.Record{{Constraints: []float64{-0.2}}, {Iteration: 1, Constraints: []float64{-0.2}}}
	many := sample(strings.Split("b c d e f g h i j", " "))
	for len(many.Records) < 5000 {
		many.Records = append(many.Records, many.Records...)
	}
	for name, tc := range map[string]struct {
		run   PlottedRun
		files int
	}{"no multipliers": {bare, 7}, "one record": {single, 9}, "zeros": {zero, 7}, "many": {many, 9}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			names := require.Value(WritePlots(dir, tc.run))(t)
			if len(names) != tc.files {
				t.Errorf("%d files, want %d: %v", len(names), tc.files, names)
			}
			for _, n := range names {
				if content := wellFormed(t, filepath.Join(dir, n)); strings.Contains(content, "NaN") {
					t.Errorf("%s holds a NaN", n)
				}
			}
		})
	}
}

func TestThin(t *testing.T) {
	records := make([]trainer.Record, 4321)
	for i := range records {
		records[i].Iteration = i
	}
	got := thin(records, mostPoints)
	if len(got) > mostPoints || got[0].Iteration != 0 || got[len(got)-1].Iteration != 4320 {
		t.Errorf("%d records from %d to %d", len(got), got[0].Iteration, got[len(got)-1].Iteration)
	}
}
