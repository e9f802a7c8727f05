package session

import (
	"math"

	"ppal/trainer"
)

// takeValidationRows says how a run gets validation rows.
const takeValidationRows = "take some with --split, as in 70/15/15 for tables and 90/10/0 for pictures"

// checkSelection refuses a choice on validation rows without such rows.
func (a *assembly) checkSelection() error {
	if a.part(Validation) != nil {
		return nil
	}
	switch {
	case a.options.Settings.Output == trainer.OutputBestValidation:
		return &OptionError{Option: "select", Problem: "is best-validation, but there are no validation rows; " + takeValidationRows}
	case a.options.Settings.Patience > 0:
		return &OptionError{Option: "patience", Problem: "waits for the measures on validation rows, but there are none; " + takeValidationRows}
	}
	return nil
}

// part returns the split with the name, or nil.
func (a *assembly) part(name Split) *split {
	for _, s := range a.data.splits {
		if s.name == name {
			return s
		}
	}
	return nil
}

// validationMerit returns the merit of the iterate that measure has just measured, on the
// validation rows: the objective and the violation of the bounds by the values that the task
// bounds. A violation counts beyond the feasibility tolerance, and beyond one row of the smallest
// class (of each group, on tables).
func (a *assembly) validationMerit() trainer.Merit {
	tolerance := a.options.Settings.FeasibilityTolerance
	if tolerance == 0 {
		tolerance = trainer.DefaultFeasibilityTolerance
	}
	smallest := math.MaxInt
	for _, rows := range a.part(Validation).strata {
		smallest = min(smallest, len(rows))
	}
	values := a.onValidation.Values
	if d := a.builder.statement.decided(); d != nil && d.on == OnDecisions {
		values = a.onValidation.Decisions
	}
	g := make([]float64, len(values)-1)
	for j, c := range a.builder.statement.Constraints {
		g[j] = values[1+j] - c.Bound
	}
	return trainer.MeritOf(values[0], g, max(tolerance, 1/float64(smallest)))
}
