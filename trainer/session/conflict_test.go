package session

import (
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// A session on contradictory bounds says so in its summary, with bounds on surrogates and on
// decisions: the error cannot be small and the positive rate large.
func TestConflictInSummary(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for _, on := range []constraints.BoundsOn{constraints.OnSurrogate, constraints.OnDecisions} {
		task := Decisions{SubjectTo: subject(t, "positive_rate <= 0.1", "tpr >= 0.9"), BoundsOn: on}
		o := onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.Settings.Iterations = 600 })
		s := require.Value(New(t.Context(), o))(t)
		defer s.Close()
		r := require.Value(s.Train(t.Context()))(t)
		require.NoError(t, s.Save(filepath.Join(t.TempDir(), "run")))
		sum := require.Value(rundir.ReadSummary(filepath.Join(s.Dir(), "summary.json")))(t)
		for _, w := range s.Warnings() {
			if strings.Contains(w, "no threshold") && strings.Contains(w, "--iterations") {
				t.Errorf("%s: the bounds conflict, and the warning advises more iterations: %s", on, w)
			}
		}
		i := sum.Infeasibility
		if sum.Status != string(trainer.Infeasible) || sum.Converged || i == nil || r.Outcome.Met() {
			t.Fatalf("%s: %s, converged %t, %+v", on, sum.Status, sum.Converged, i)
		}
		if len(i.Conflict) != 2 || i.Conflict[0].Share+i.Conflict[1].Share < 0.999 || !strings.Contains(sum.Verdict, "These constraints conflict: ") ||
			!strings.Contains(sum.Verdict, "positive_rate <= 0.1 (share ") || !strings.Contains(sum.Verdict, "tpr >= 0.9 (share ") {
			t.Errorf("%s: %s", on, sum.Verdict)
		}
		if i.Relaxation <= 0 || i.Relaxation > i.MaxViolation+1e-12 || i.MaxViolation > sum.MaxViolation+0.05 {
			t.Errorf("%s: %+v, violation of the run %v", on, i, sum.MaxViolation)
		}
	}
}

// A conflict of bounds on decisions is proven with a margin, for each number of iterations. At the
// end of these runs the sigmoids are steep, and v falls by less than its rounding errors.
func TestConflictIsProvenWithMargin(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for _, iterations := range []int{150, 300, 600} {
		task := Decisions{SubjectTo: subject(t, "positive_rate <= 0.05", "tpr >= 0.8"), BoundsOn: constraints.OnDecisions}
		s := require.Value(New(t.Context(), onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.Settings.Iterations = iterations })))(t)
		r := require.Value(s.Train(t.Context()))(t)
		if c := r.Training.Infeasible; c == nil || c.Stationarity > 0.01 {
			t.Errorf("%d iterations: %v, %+v", iterations, r.Training.Status, c)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
