package ending

import (
	"testing"

	"ppal/constraints"
	"ppal/trainer"
)

// The outcome of a record has each counted constraint once, with its state by the training rows. A
// smooth constraint and a constraint without a measure in the record have no row.
func TestLive(t *testing.T) {
	stated := []string{"gap(tpr, sex) <= 0.05: tpr[sex=F] - tpr[sex=M]", "gap(tpr, sex) <= 0.05: tpr[sex=M] - tpr[sex=F]", "recall >= 0.7", "trouser <= 0.2", "fpr <= 0.1"}
	o := Live(stated, &trainer.Record{Measures: map[string]float64{"train_gap(tpr, sex)": 0.08, "test_gap(tpr, sex)": 0.04, "train_recall": 0.75, "test_error": 0.3}})
	if len(o.Constraints) != 2 {
		t.Fatalf("%+v", o.Constraints)
	}
	v := New(o, nil)
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
