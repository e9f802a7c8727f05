package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// A summary without a warning that follows from the settings, the data or the counts is a
// difference. The other warnings are listed with their texts.
func TestWarnings(t *testing.T) {
	require.NoRace(t, "it verifies many runs")
	two, three := table(2, false), table(3, false)
	for _, test := range []struct {
		name string
		data session.Source
		task session.Decisions
		want []string // the beginnings of warnings that are checked
	}{
		{"small groups", two, words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.05"), []string{"gap(tpr, sex) <= 0.05: one row of the smallest group"}},
		{"ratio", two, words(t, constraints.OnDecisions, "ratio(tpr, sex) >= 0.9"), []string{"ratio(tpr, sex) >= 0.9: one row of the smallest group"}},
		{"left out", two, words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.9", "gap(fpr, sex*a, min 13) <= 0.9"), []string{"gap(fpr, sex*a, min 13) <= 0.9: left out"}},
		{"classes", three, words(t, constraints.OnDecisions, "error[*] <= 0.01", "recall[red] >= 0.99"), []string{"no offsets of the classes"}},
		{"impossible", two, words(t, constraints.OnDecisions, "positive_rate <= 0.2", "tpr >= 0.9"), []string{"no threshold meets all bounds"}},
		{"few", two, words(t, constraints.OnDecisions, "positive_rate <= 0.05"), []string{"the model accepts only "}},
		{"costly", two, words(t, constraints.OnDecisions, "fpr <= 0.05"), []string{"the exact threshold costs "}},
		{"none", two, words(t, constraints.OnDecisions, "positive_rate <= 0"), []string{"the model rejects everybody"}},
		{"promise", two, confident(words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.1"), 0.9), []string{"gap(tpr, sex) <= 0.1 is not promised"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			iterations := 60
			if test.name == "costly" { // the round of the loss alone
				iterations = 1
			}
			options := func() session.Options {
				return session.Options{Data: test.data, Task: test.task, Model: &models.Spec{}, Settings: trainer.Settings{Iterations: iterations, RecordEvery: 20},
					Device: session.Device{Kind: session.CPU, Threads: 1}}
			}
			dir := trained(t, options())
			sum := require.Value(rundir.ReadSummary(dir.Summary()))(t)
			forge := func(list []string, codes []results.WarningCode) *Report {
				t.Helper()
				own := sum
				own.Warnings, own.WarningCodes = list, codes
				reseal(t, dir.Summary(), own)
				return require.Value(Run(t.Context(), string(dir), options()))(t)
			}
			for _, start := range test.want {
				if !slices.ContainsFunc(sum.Warnings, func(w string) bool { return strings.HasPrefix(w, start) }) {
					t.Fatalf("no warning begins with %q: %q", start, sum.Warnings)
				}
			}
			all := forge(sum.Warnings, sum.WarningCodes)
			if !all.Verified {
				t.Errorf("the run is not verified: %q", all.Problems)
			}
			for k, w := range sum.Warnings {
				alone := slices.Contains(all.Skipped, fmt.Sprintf("warnings[%d]: only the run knew it: %q", k, w))
				if slices.ContainsFunc(test.want, func(start string) bool { return strings.HasPrefix(w, start) }) && alone {
					t.Errorf("not checked: %q", w)
				}
				without := slices.Delete(slices.Clone(sum.Warnings), k, k+1)
				var codes []results.WarningCode
				for _, c := range sum.WarningCodes {
					at := c.Warning
					if at > k {
						c.Warning--
					}
					if at != k {
						codes = append(codes, c)
					}
				}
				if r := forge(without, codes); r.Verified != alone {
					t.Errorf("without %q: verified %t, want %t", w, r.Verified, alone)
				}
				if r := forge(without, sum.WarningCodes); r.Verified && len(codes) < len(sum.WarningCodes) {
					t.Errorf("without %q, but with its code, the run is verified", w)
				}
			}
			other := append(slices.Clone(sum.Warnings), "something else")
			if r := forge(other, sum.WarningCodes); !slices.Contains(r.Skipped, fmt.Sprintf("warnings[%d]: only the run knew it: %q", len(sum.Warnings), "something else")) {
				t.Errorf("a warning that nobody can check is not listed: %q", r.Skipped)
			}
		})
	}
}

// A run of any task and kind of model that decides nearly all training rows as one class says this
// in a warning, in the outcome and in the verdict, whatever the bounds hold for. No other run does.
// Each run also ends at weights whose last class has a large score.
func TestOneSided(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	alike := 0
	for name, options := range runs(t) {
		t.Run(name, func(t *testing.T) {
			dir := trained(t, options())
			oneSided(t, dir)
			in := require.Value(session.ReadInputs(t.Context(), options()))(t)
			m := require.Value(models.LoadFile(dir.Model(), in.Model))(t)
			x := require.Value(models.Stack(m.Architecture, m.Weights))(t)
			_, outputs := m.Architecture.Dims()
			offsets := make([]float64, outputs)
			offsets[outputs-1] = 40
			require.NoError(t, models.AddToScores(m.Architecture, x, offsets))
			m.Weights = require.Value(models.Unstack(m.Architecture, x))(t)
			o := options()
			o.Init = filepath.Join(t.TempDir(), "init.safetensors")
			require.NoError(t, models.SaveFile(o.Init, m, tensor.Float64))
			o.Settings = trainer.Settings{Iterations: -1}
			dir = trained(t, o)
			if oneSided(t, dir) {
				alike++
			}
			own := options()
			own.Init, own.Settings = o.Init, o.Settings
			if r := verified(t, dir, own); !r.Verified {
				t.Errorf("not verified: %q", r.Problems)
			}
		})
	}
	if alike < 20 {
		t.Errorf("%d runs decide all rows alike", alike)
	}
}

// oneSided reports whether a run decides all training rows as one class of several, and checks what
// the run says.
func oneSided(t *testing.T, dir rundir.Dir) bool {
	t.Helper()
	sum := require.Value(rundir.ReadSummary(dir.Summary()))(t)
	table := sum.Rates[results.Training]
	if table == nil {
		return false
	}
	var decided []string
	for k, class := range table.Classes {
		n, actual := 0.0, 0.0
		for a, row := range table.Confusion {
			n, actual = n+row[k], actual+table.Confusion[k][a]
		}
		if n >= 10 || n > 0 && n >= actual/10 {
			decided = append(decided, class)
		}
	}
	only := ""
	if len(decided) == 1 {
		only = decided[0]
	}
	warned := slices.ContainsFunc(sum.Warnings, func(w string) bool {
		return strings.Contains(w, "decides "+only+" for ") || strings.HasPrefix(w, "collapsed: ") || strings.HasPrefix(w, "the model accepts only ")
	})
	if o := sum.Outcome; o != nil && (o.Decides != only || only != "" && !warned || only != "" && o.GivenUp() == "") {
		t.Errorf("decides %q, want %q; warnings %q", o.Decides, only, sum.Warnings)
	}
	return only != ""
}
