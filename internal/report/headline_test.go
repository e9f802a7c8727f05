package report

import (
	"fmt"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/trainer/session/results"
)

// The status says how the run ended.
func TestStatus(t *testing.T) {
	met := func(n, unmet int) *results.Outcome {
		o := &results.Outcome{BoundsOn: constraints.OnDecisions}
		for k := range n {
			o.Constraints = append(o.Constraints, results.ConstraintOutcome{Constraint: fmt.Sprint(k), Met: k >= unmet})
		}
		return o
	}
	for _, c := range []struct {
		summary results.Summary
		want    Status
	}{
		{results.Summary{Status: "failed", Error: "the objective is NaN"}, Status{Kind: "bad", Text: "The run failed", Exit: "1"}},
		{results.Summary{Status: "interrupted"}, Status{Kind: "open", Text: "Interrupted", Exit: "130"}},
		{results.Summary{Outcome: met(1, 0)}, Status{Kind: "good", Text: "The bound is met on the training decisions", Exit: "0"}},
		{results.Summary{Outcome: met(2, 0)}, Status{Kind: "good", Text: "Both bounds are met on the training decisions", Exit: "0"}},
		{results.Summary{Outcome: met(3, 0)}, Status{Kind: "good", Text: "All 3 bounds are met on the training decisions", Exit: "0"}},
		{results.Summary{Outcome: met(1, 1)}, Status{Kind: "bad", Text: "The bound is not met", Exit: "3"}},
		{results.Summary{Outcome: met(3, 1)}, Status{Kind: "bad", Text: "1 of 3 bounds is not met", Exit: "3"}},
		{results.Summary{Outcome: met(3, 2)}, Status{Kind: "bad", Text: "2 of 3 bounds are not met", Exit: "3"}},
		{results.Summary{Outcome: met(2, 2)}, Status{Kind: "bad", Text: "Neither bound is met", Exit: "3"}},
		{results.Summary{Outcome: met(3, 3)}, Status{Kind: "bad", Text: "None of the 3 bounds is met", Exit: "3"}},
		{results.Summary{MaxViolation: 1}, Status{Kind: "bad", Text: "Finished, but a constraint is violated", Exit: "0"}},
		{results.Summary{}, Status{Kind: "good", Text: "Finished", Exit: "0"}},
	} {
		got := endedStatus(&c.summary, 1e-3)
		got.Exit, _, _ = strings.Cut(got.Exit, ":")
		got.Lead = ""
		if got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// TestHeadlines names the number of bounds and the worst held-out value of several bounds.
func TestHeadlines(t *testing.T) {
	bound := func(state constraints.State, test float64) results.ConstraintOutcome {
		return results.ConstraintOutcome{Constraint: "fpr <= 0.1", Bound: 0.1, State: state, SplitValues: results.SplitValues{Test: &test}}
	}
	met, beyond := bound(constraints.Met, 0.1), bound(constraints.Met, 0.2)
	unjudged, missed := bound(constraints.NotJudged, 0.1), bound(constraints.NotMet, 0.1)
	for want, list := range map[string][]results.ConstraintOutcome{
		"Both bounds are met on the training decisions":                                                                             {met, met},
		"Both bounds are met on the training decisions, but fpr is beyond its bound on the test rows: 0.2000":                       {met, beyond},
		"All 3 bounds are met on the training decisions, but 2 of them are missed on held-out rows: fpr is 0.2000 on the test rows": {beyond, met, beyond},
		"1 of 2 bounds cannot be judged": {met, unjudged},
		"2 of 3 bounds are not met":      {met, unjudged, missed},
		"Neither bound is met":           {missed, unjudged},
	} {
		o := &results.Outcome{BoundsOn: constraints.OnDecisions, Constraints: list}
		if got := headline(o, decisions(o)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	o := &results.Outcome{BoundsOn: constraints.OnDecisions, Confidence: 0.95, Constraints: []results.ConstraintOutcome{met}}
	if got, want := headline(o, decisions(o)), "The bound is promised for new rows with 95% confidence, and met on the training decisions"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	met.Promise = &results.Promise{}
	unpromised := &results.Outcome{BoundsOn: constraints.OnDecisions, Confidence: 0.9, Constraints: []results.ConstraintOutcome{met}}
	if got, want := headline(unpromised, ""), "The bound is not promised for new rows with 90% confidence, although the training decisions meet it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	unpromised.Constraints = append(unpromised.Constraints, missed)
	if got, want := headline(unpromised, ""), "Neither bound is met"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	met.Promise = nil
	if got := countedStatus(&results.Outcome{BoundsOn: constraints.OnDecisions, Constraints: []results.ConstraintOutcome{missed, missed, met}}).Text; got != "2 of 3 bounds are not met" {
		t.Errorf("%q", got)
	}
	yes, all := true, 1.0
	met.SurrogateMet = &yes
	o = &results.Outcome{BoundsOn: constraints.OnSurrogate, Constraints: []results.ConstraintOutcome{met},
		Objective: results.ObjectiveOutcome{Name: "error[a]", SplitValues: results.SplitValues{Train: &all}}}
	got := headline(o, decisions(o))
	if want := "The bound is met on the surrogates of the training rows, although the model decides nearly all training rows of the minimised error[a] wrongly"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A run whose bounds are met by one decision for all rows is not green.
func TestEndedOneSided(t *testing.T) {
	for decides, want := range map[string]Status{
		"":  {Kind: "good", Text: "The bound is met on the training decisions"},
		"a": {Kind: "warn", Text: "The bound is met on the training decisions, although the model decides a for nearly every training row"},
	} {
		sum := &results.Summary{Outcome: &results.Outcome{Decides: decides, Constraints: []results.ConstraintOutcome{{Met: true, State: constraints.Met}}}}
		if got := endedStatus(sum, 0); got.Kind != want.Kind || got.Text != want.Text {
			t.Errorf("%q: %+v, want %+v", decides, got, want)
		}
	}
}

// The certificate is that of the weights before the step which the run can take: a ranking has no
// threshold.
func TestCertifiedBefore(t *testing.T) {
	for rate, step := range map[string]string{"error": "threshold step", "pair_error": "exact step"} {
		o := &results.Outcome{BoundsOn: constraints.OnDecisions, Objective: results.ObjectiveOutcome{Name: rate}}
		if got := certified(&results.Summary{Converged: true, Certificate: &results.Certificate{}, Outcome: o}); !strings.Contains(got, "the weights before the "+step+" are") {
			t.Errorf("%s: %s", rate, got)
		}
	}
}
