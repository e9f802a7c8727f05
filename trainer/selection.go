package trainer

import (
	"fmt"
	"math"
	"slices"

	"ppal/trainer/problem"
)

// Merit measures how good a recorded iterate is on a set of rows.
type Merit struct {
	// Violation is the largest violation beyond the tolerance, max(0, max_j g_j - tolerance). NaN
	// counts as infinite.
	Violation float64
	// Objective is the objective. NaN counts as infinite.
	Objective float64
}

// Better reports whether m is better than other: the smaller violation is better, and among equal
// violations the smaller objective.
func (m Merit) Better(other Merit) bool {
	if a, b := orInf(m.Violation), orInf(other.Violation); a != b {
		return a < b
	}
	return orInf(m.Objective) < orInf(other.Objective)
}

// orInf returns x, or infinity if x is NaN.
func orInf(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}

// MeritOf returns the merit of an objective and constraints g at a tolerance.
func MeritOf(objective float64, g []float64, tolerance float64) Merit {
	m := Merit{Objective: objective}
	for _, v := range g {
		m.Violation = max(m.Violation, v-tolerance) // NaN if v is NaN
	}
	return m
}

// selection keeps the iterate that Settings.Output selects, and counts the checks without an
// improvement on the validation rows. It sees the iterates of the checks and the last iterate.
type selection struct {
	at        problem.Vector // copy of the selected iterate; problem.Iterate: no copy
	nu        []float64      // certified multiplier of the selected iterate
	iteration int
	chosen    bool  // an iterate is selected
	merit     Merit // merit of the selected iterate
	started   bool  // the selected iterate is not the start

	validation Merit // best merit on the validation rows after the start
	waited     int   // checks since the best merit
}

// newSelection returns the selection of a run. If Settings.Output selects an iterate, the selection
// has a vector for the copy.
func newSelection(p problem.Problem, s *Settings) *selection {
	c := &selection{validation: Merit{math.Inf(1), math.Inf(1)}}
	if s.Incumbent != nil {
		c.validation = *s.Incumbent
	}
	switch s.Output {
	case OutputBest, OutputBestTrain, OutputBestValidation:
		c.at = p.Space().New()
	}
	return c
}

// Selects returns Output, or the default: OutputBestValidation with a Patience, else OutputLast.
func (s *Settings) Selects() Output {
	switch {
	case s.Output != "":
		return s.Output
	case s.Patience > 0:
		return OutputBestValidation
	}
	return OutputLast
}

// withOutput sets Output to Selects. The error wraps problem.ErrSettings if Patience is negative or
// ValidationMerit is missing.
func (s Settings) withOutput() (Settings, error) {
	s.Output = s.Selects()
	switch {
	case s.Patience < 0:
		return s, fmt.Errorf("trainer: %w: a patience of %d checks, want a number of at least 0", problem.ErrSettings, s.Patience)
	case s.ValidationMerit == nil && s.Patience > 0:
		return s, fmt.Errorf("trainer: %w: a patience of %d checks needs ValidationMerit", problem.ErrSettings, s.Patience)
	case s.ValidationMerit == nil && s.Output == OutputBestValidation:
		return s, fmt.Errorf("trainer: %w: the output %s needs ValidationMerit", problem.ErrSettings, s.Output)
	}
	return s, nil
}

// selects updates the selection after a check. For the best merits, the next check always replaces
// the start, because trivial weights at the start can meet every constraint.
func (t *run) selects(r *Record, nu []float64) {
	tolerance := t.set.FeasibilityTolerance
	c, chosen, validation := t.selection, false, Merit{}
	if t.set.Patience > 0 || t.set.Output == OutputBestValidation {
		validation = t.set.ValidationMerit()
	}
	switch t.set.Output {
	case OutputBest:
		if chosen = r.Feasible(tolerance) && (!c.chosen || r.Objective < c.merit.Objective); chosen {
			c.merit = Merit{Objective: r.Objective}
		}
	case OutputBestTrain:
		merit := MeritOf(r.Objective, r.Constraints, tolerance)
		if t.set.TrainMerit != nil {
			merit = t.set.TrainMerit()
		}
		chosen = c.takes(r, merit)
	case OutputBestValidation:
		chosen = c.takes(r, validation)
	}
	if chosen {
		c.chosen, c.iteration, c.nu = true, r.Iteration, slices.Clone(nu)
		t.p.Space().Combine(c.at, 1, problem.Iterate, 0, problem.Iterate)
	}
	if t.set.Patience > 0 {
		c.waits(r, validation)
	}
}

// takes reports whether the record is better than the selected record, and then keeps merit.
func (c *selection) takes(r *Record, merit Merit) bool {
	if c.started && !merit.Better(c.merit) {
		return false
	}
	c.merit, c.started = merit, r.Iteration > 0
	return true
}

// waits counts the checks since the check with the best merit on the validation rows.
func (c *selection) waits(r *Record, merit Merit) {
	if c.waited++; r.Iteration == 0 || merit.Better(c.validation) {
		c.waited = 0
		if r.Iteration > 0 {
			c.validation = merit
		}
	}
}
