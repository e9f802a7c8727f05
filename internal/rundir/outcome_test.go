package rundir

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// value returns a pointer to x.
func value[T any](x T) *T { return &x }

// An outcome in summary.json has the expected keys, and reads back with the same values.
func TestOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	want := results.Summary{Schema: Schema, Warnings: []string{}, Notes: []string{}, Outcome: &results.Outcome{
		BoundsOn: constraints.OnDecisions,
		Constraints: []results.ConstraintOutcome{{Constraint: "gap(positive_rate, sex) <= 0.01", Bound: 0.01, Interval: &[2]float64{0, 0.03}, Met: true,
			SplitValues: results.SplitValues{Train: value(0.009), Test: value(0.012)}}},
		Objective:      results.ObjectiveOutcome{Name: "error", SplitValues: results.SplitValues{Train: value(0.16)}},
		AcceptanceRate: &results.SplitValues{Train: value(0.2)}, Threshold: 0.25, BoundShifts: []float64{0.001}, GradientEvaluations: 300,
	}}
	require.NoError(t, WriteSummary(path, &want))
	got := require.Value(ReadSummary(path))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data := require.Value(os.ReadFile(path))(t)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &all))
	for _, key := range strings.Fields("decisions objective_on_decisions acceptance_rate threshold bound_shifts gradient_evaluations bounds_on objective constraints") {
		if all[key] == nil {
			t.Errorf("no key %s", key)
		}
	}
	var decisions []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(all["decisions"], &decisions))
	if diff := cmp.Diff(strings.Fields("bound constraint interval met multiplier state test tolerance train validation"), slices.Sorted(maps.Keys(decisions[0]))); diff != "" {
		t.Error(diff)
	}
	if string(decisions[0]["validation"]) != "null" || string(decisions[0]["interval"]) != "[\n        0,\n        0.03\n      ]" {
		t.Errorf("%s", all["decisions"])
	}
}
