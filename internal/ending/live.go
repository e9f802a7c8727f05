package ending

import (
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// Live returns the outcome of a run that is still going on, as far as a record has it: the counted
// decisions of the constraints. stated are the smooth constraints of the run in words. Live judges
// by the numbers alone; the run counts rows at its end.
func Live(stated []string, r *trainer.Record) *rundir.Outcome {
	o := &rundir.Outcome{BoundsOn: rundir.OnDecisions, Objective: rundir.ObjectiveOutcome{Name: "error", SplitValues: measured(r, "error")}}
	for _, text := range stated {
		words, _, _ := strings.Cut(text, ": ") // after a colon: a smooth part of the constraint
		c, err := constraints.Parse(words)
		if err != nil || slices.ContainsFunc(o.Constraints, func(other rundir.ConstraintOutcome) bool { return other.Constraint == words }) {
			continue
		}
		own := rundir.ConstraintOutcome{Constraint: words, Bound: c.Bound(), AtLeast: c.IsAtLeast(), SplitValues: measured(r, c.Measure().String()), State: constraints.Met}
		if own.Train == nil {
			continue
		}
		if own.Over(*own.Train) > rundir.Rounding {
			own.State = constraints.NotMet
		}
		o.Constraints = append(o.Constraints, own)
	}
	return o
}

// measured returns the values of a measure in a record.
func measured(r *trainer.Record, measure string) (v rundir.SplitValues) {
	for _, split := range rundir.Splits() {
		if x, known := r.Measured(rundir.MeasureKey(split, measure)); known {
			v.Set(split, x)
		}
	}
	return v
}
