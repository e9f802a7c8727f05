package report

import (
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// The example of a bound names what the language accepts: the column of a group of a value, the
// condition of another group.
func TestExampleBound(t *testing.T) {
	for group, want := range map[string]string{
		"":            "fpr <= 0.05",
		"sex=F":       "gap(positive_rate, sex) <= 0.05",
		"sex!=F":      "gap(positive_rate, sex!=F) <= 0.05",
		"pay>=1":      "gap(positive_rate, pay>=1) <= 0.05",
		"20<=age<40":  "gap(positive_rate, 20<=age<40) <= 0.05",
		"a, b=x (y)":  `gap(positive_rate, "a, b") <= 0.05`,
		"mean(x)<0.5": `gap(positive_rate, "mean(x)<0.5") <= 0.05`,
	} {
		table := &results.RateTable{}
		if group != "" {
			table.ByGroup = []results.GroupRates{{Group: group}}
		}
		if got := exampleBound(&results.Outcome{}, rateTables{results.Training: table}); got != want {
			t.Errorf("%q: %s, want %s", group, got, want)
		}
	}
	if got := exampleBound(&results.Outcome{Objective: results.ObjectiveOutcome{Name: "pair_loss"}}, nil); got != "gap(cross_pair_error, COLUMN) <= 0.05" {
		t.Errorf("a ranking: %s", got)
	}
}

// The sentence about promises leaves out bounds that no rows can change, and names one threshold or
// several.
func TestPromised(t *testing.T) {
	const rest = " on new rows from the same source, with 95% confidence; the validation rows chose the threshold for it."
	kept, failed, weights := &results.Promise{Holds: true, Rows: 9}, &results.Promise{Rows: 9}, &results.Promise{Holds: true}
	for want, promises := range map[string][]*results.Promise{
		"a" + rest: {kept},
		"b" + rest: {weights, kept},
		"a" + rest + " The other bounds are not promised: see the warnings.":       {kept, failed},
		"No bound is promised for new rows with 95% confidence: see the warnings.": {weights, failed},
		"The bounds do not depend on rows.":                                        {weights},
	} {
		o := &results.Outcome{Confidence: 0.95}
		for k, p := range promises {
			o.Constraints = append(o.Constraints, results.ConstraintOutcome{Constraint: string("ab"[k]), Promise: p})
		}
		if got := promised(o); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	o := &results.Outcome{Confidence: 0.95, Constraints: []results.ConstraintOutcome{{Constraint: "a", Promise: kept}}, Thresholds: &results.Thresholds{Groups: make([]results.GroupThreshold, 2)}}
	if got, want := promised(o), strings.Replace("a"+rest, "threshold", "thresholds", 1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The outcome of a record has each counted constraint once, with its state by the training rows. A
// smooth constraint and a constraint without a measure in the record have no row.
func TestLive(t *testing.T) {
	stated := []string{"gap(tpr, sex) <= 0.05: tpr[sex=F] - tpr[sex=M]", "gap(tpr, sex) <= 0.05: tpr[sex=M] - tpr[sex=F]", "recall >= 0.7", "trouser <= 0.2", "fpr <= 0.1"}
	o := Live(stated, &trainer.Record{Measures: map[string]float64{"train_gap(tpr, sex)": 0.08, "test_gap(tpr, sex)": 0.04, "train_recall": 0.75, "test_error": 0.3}})
	if len(o.Constraints) != 2 {
		t.Fatalf("%+v", o.Constraints)
	}
	v := NewView(o, nil)
	if g := &v.Rows[0]; g.Name != "gap(tpr, sex)" || g.Bound != "<= 0.05" || g.Of("train") != "0.0800" || g.Of("test") != "0.0400" || g.Standing.State != constraints.NotMet {
		t.Errorf("%+v", g)
	}
	if r := &v.Rows[1]; r.Bound != ">= 0.7" || r.Cell != "yes" {
		t.Errorf("%+v", r)
	}
	if v.Objective.Of("test") != "0.3000" {
		t.Errorf("%+v", v.Objective)
	}
}
