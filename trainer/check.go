package trainer

import (
	"math"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// solved reports whether the run ends by Settings.Solved.
func (t *run) solved() (bool, error) {
	if t.full != t.p || problem.Coarse(t.graded) || !(math.Abs(t.at.Objective) <= t.set.Solved) {
		return false, nil
	}
	return t.meets(t.set.Solved)
}

// meets reports whether the certificate of the iterate, or of the point that the method would
// return, has an epsilon of at most the tolerance. A tolerance of 0 is never met. The certificate
// is computed only if the constraints and their multipliers do not already exceed the tolerance.
func (t *run) meets(tolerance float64) (met bool, err error) {
	if tolerance == 0 {
		return false, nil
	}
	err = t.returned(func() (err error) {
		met, err = t.meetsHere(tolerance)
		return err
	})
	return met, err
}

// meetsHere reports whether the iterate meets the tolerance.
func (t *run) meetsHere(tolerance float64) (bool, error) {
	if err := t.evaluate(); err != nil {
		return false, err
	}
	nu := t.m.Report().Nu
	if infeasibility, complementarity := certify.Residuals(t.fullAt.Constraints, nu); max(infeasibility, complementarity) > tolerance {
		return false, nil
	}
	c, err := certify.Measure(t.full, t.fullAt, nu, t.set.Certificate)
	return c.Epsilon <= tolerance, err
}

// stuck asks Settings.Stuck at a check.
func (t *run) stuck() (bool, error) {
	if t.set.Stuck == nil || t.full != t.p || problem.Coarse(t.graded) {
		return false, nil
	}
	return t.set.Stuck(t.at.Constraints)
}
