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
)

// value returns a pointer to x.
func value[T any](x T) *T { return &x }

// An outcome in summary.json has the expected keys, and reads back with the same values.
func TestOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	want := Summary{Schema: Schema, Warnings: []string{}, Notes: []string{}, Outcome: &Outcome{
		BoundsOn: OnDecisions,
		Constraints: []ConstraintOutcome{{Constraint: "gap(positive_rate, sex) <= 0.01", Bound: 0.01, Interval: &[2]float64{0, 0.03}, Met: true,
			SplitValues: SplitValues{Train: value(0.009), Test: value(0.012)}}},
		Objective:      ObjectiveOutcome{Name: "error", SplitValues: SplitValues{Train: value(0.16)}},
		AcceptanceRate: &SplitValues{Train: value(0.2)}, Threshold: 0.25, BoundShifts: []float64{0.001}, GradientEvaluations: 300,
	}}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSummary(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("decisions objective_on_decisions acceptance_rate threshold bound_shifts gradient_evaluations bounds_on objective constraints") {
		if all[key] == nil {
			t.Errorf("no key %s", key)
		}
	}
	var decisions []map[string]json.RawMessage
	if err := json.Unmarshal(all["decisions"], &decisions); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields("bound constraint interval met multiplier state test tolerance train validation"), slices.Sorted(maps.Keys(decisions[0]))); diff != "" {
		t.Error(diff)
	}
	if string(decisions[0]["validation"]) != "null" || string(decisions[0]["interval"]) != "[\n        0,\n        0.03\n      ]" {
		t.Errorf("%s", all["decisions"])
	}
}

// Unmet judges bounds on decisions by the decisions, and bounds on surrogates by the surrogates.
func TestUnmet(t *testing.T) {
	yes, no := value(true), value(false)
	for _, c := range []struct {
		on        BoundsOn
		decisions bool
		surrogate *bool
		met       bool
		name      string
	}{
		{on: OnDecisions, decisions: true, met: true, name: "met"},
		{on: OnDecisions, decisions: false, met: false, name: "missed"},
		{on: OnDecisions, decisions: false, surrogate: yes, met: false, name: "the surrogate does not help"},
		{on: OnSurrogate, decisions: false, surrogate: yes, met: true, name: "surrogate met"},
		{on: OnSurrogate, decisions: true, surrogate: no, met: false, name: "surrogate missed"},
	} {
		o := &Outcome{BoundsOn: c.on, Constraints: []ConstraintOutcome{{Met: c.decisions, SurrogateMet: c.surrogate}}}
		if o.Met() != c.met || len(o.Unmet()) == 1 == c.met {
			t.Errorf("%s: met %v, want %v", c.name, o.Met(), c.met)
		}
	}
}
