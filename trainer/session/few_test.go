package session

import (
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer"
)

// TestFewAcceptedRows checks that fewer than 10 accepted rows, or 1% of the training rows, are a
// warning with advice, unless as few rows are positive.
func TestFewAcceptedRows(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for text, want := range map[string]bool{"positive_rate <= 0.006": true, "positive_rate <= 0.05": false} {
		o := Options{Data: Matrices{Train: applicants(1000, 1)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, text)},
			Settings: trainer.Settings{Iterations: 200}, Device: Device{Kind: CPU, Threads: 2}}
		r := trained(t, o)
		got := ""
		for _, w := range r.Training.Warnings {
			if w.Code == WarnFewPositive {
				got = w.Text
			}
		}
		if (got != "") != want || want && (!strings.Contains(got, " of 1000 training rows, and ") || !strings.HasSuffix(got, "looser bounds")) {
			t.Errorf("%s: warning %q at a rate of %v", text, got, *r.Outcome.AcceptanceRate.Train)
		}
	}
}
