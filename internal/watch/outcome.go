package watch

import (
	"fmt"

	"ppal/internal/rundir"
)

// mostOutcomes is the largest number of constraints in the outcome.
const mostOutcomes = 12

// outcome describes the result of a run.
func outcome(sum *rundir.Summary, r *run) (lines []string) {
	if sum.Verdict != "" { // what a reader must know first
		lines = append(lines, sum.Verdict)
	}
	lines = append(lines, fmt.Sprintf("%s: finished after %d iterations (%s), %s in all", r.title, sum.Iterations, sum.Status, span(sum.SecondsTotal)))
	if o := sum.Outcome; o != nil {
		for j := range o.Constraints {
			if j == mostOutcomes {
				lines = append(lines, fmt.Sprintf("  and %d more constraints; %d of %d are not met", len(o.Constraints)-j, len(o.Unmet()), len(o.Constraints)))
				break
			}
			lines = append(lines, "  "+ofConstraint(o, &o.Constraints[j]))
		}
		lines = append(lines, "  "+o.Objective.Name+" (minimised): "+splits(&o.Objective.SplitValues, number))
	} else {
		lines = append(lines, fmt.Sprintf("  objective %.4g, worst violation %.2g", sum.Objective, sum.MaxViolation))
	}
	return append(lines, fmt.Sprintf("  KKT epsilon %.2g; the whole result is in %s", sum.Certificate.Epsilon, r.dir.Summary()))
}

// ofConstraint describes the result of a constraint.
func ofConstraint(o *rundir.Outcome, c *rundir.ConstraintOutcome) string {
	return fmt.Sprintf("%s: %s; %s", c.Constraint, o.Standing(c), splits(&c.SplitValues, c.Number))
}

// number formats a value without a bound.
func number(x *float64) string { return rundir.Number(*x, 4) }

// splits lists the values on the splits. number formats a value.
func splits(v *rundir.SplitValues, number func(*float64) string) (text string) {
	for _, split := range rundir.Splits() {
		if x := v.Of(split); x != nil {
			if text != "" {
				text += ", "
			}
			text += string(split) + " " + number(x)
		}
	}
	return text
}
