package report

import (
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// Live returns the outcome of a run that is still going on, as far as a record has it: the counted
// decisions of the constraints. stated are the smooth constraints of the run in words. Live judges
// by the numbers alone; the run counts rows at its end.
func Live(stated []string, r *trainer.Record) *results.Outcome {
	o := &results.Outcome{BoundsOn: constraints.OnDecisions, Objective: results.ObjectiveOutcome{Name: "error", SplitValues: measured(r, "error")}}
	var list []constraints.Constraint
	for _, text := range stated {
		words, _, _ := strings.Cut(text, ": ") // after a colon: a smooth part of the constraint
		if c, err := constraints.Parse(words); err == nil && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	for j, name := range constraints.NameValues(list) {
		c := list[j]
		own := results.ConstraintOutcome{Constraint: c.String(), Bound: c.Bound(), AtLeast: c.IsAtLeast(), SplitValues: measured(r, name), State: constraints.Met}
		if own.Train == nil {
			continue
		}
		if own.Over(*own.Train) > results.Rounding {
			own.State = constraints.NotMet
		}
		o.Constraints = append(o.Constraints, own)
	}
	return o
}

// measured returns the values of a measure in a record.
func measured(r *trainer.Record, measure string) (v results.SplitValues) {
	for _, split := range results.Splits() {
		if x, known := r.Measured(results.MeasureKey(split, measure)); known {
			v.Set(split, x)
		}
	}
	return v
}
