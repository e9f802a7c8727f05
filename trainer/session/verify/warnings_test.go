package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session"
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
			forge := func(list []string) *Report {
				t.Helper()
				own := sum
				own.Warnings = list
				reseal(t, dir.Summary(), own)
				return require.Value(Run(t.Context(), string(dir), options()))(t)
			}
			for _, start := range test.want {
				if !slices.ContainsFunc(sum.Warnings, func(w string) bool { return strings.HasPrefix(w, start) }) {
					t.Fatalf("no warning begins with %q: %q", start, sum.Warnings)
				}
			}
			all := forge(sum.Warnings)
			if !all.Verified {
				t.Errorf("the run is not verified: %q", all.Problems)
			}
			for k, w := range sum.Warnings {
				alone := slices.Contains(all.Skipped, fmt.Sprintf("warnings[%d]: only the run knew it: %q", k, w))
				if slices.ContainsFunc(test.want, func(start string) bool { return strings.HasPrefix(w, start) }) && alone {
					t.Errorf("not checked: %q", w)
				}
				if r := forge(slices.Delete(slices.Clone(sum.Warnings), k, k+1)); r.Verified != alone {
					t.Errorf("without %q: verified %t, want %t", w, r.Verified, alone)
				}
			}
			other := append(slices.Clone(sum.Warnings), "something else")
			if r := forge(other); !slices.Contains(r.Skipped, fmt.Sprintf("warnings[%d]: only the run knew it: %q", len(sum.Warnings), "something else")) {
				t.Errorf("a warning that nobody can check is not listed: %q", r.Skipped)
			}
		})
	}
}
