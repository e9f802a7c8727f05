package ending

import (
	"testing"

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
		if got := exampleBound(&results.Outcome{}, Rates{results.Training: table}); got != want {
			t.Errorf("%q: %s, want %s", group, got, want)
		}
	}
	if got := exampleBound(&results.Outcome{Objective: results.ObjectiveOutcome{Name: "pair_loss"}}, nil); got != "gap(cross_pair_error, COLUMN) <= 0.05" {
		t.Errorf("a ranking: %s", got)
	}
}
