package trainer

import (
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// meets reports whether the certificate of the iterate, or of the point that the method would
// return, has an epsilon of at most Settings.Tolerance. It computes the certificate only if the
// constraints and their multipliers do not already exceed the tolerance.
func (t *run) meets() (met bool, err error) {
	if t.set.Tolerance == 0 {
		return false, nil
	}
	err = t.returned(func() (err error) {
		met, err = t.meetsHere()
		return err
	})
	return met, err
}

// meetsHere reports whether the iterate meets the tolerance.
func (t *run) meetsHere() (bool, error) {
	if err := t.evaluate(); err != nil {
		return false, err
	}
	nu := t.m.Report().Nu
	if infeasibility, complementarity := certify.Residuals(t.fullAt.Constraints, nu); max(infeasibility, complementarity) > t.set.Tolerance {
		return false, nil
	}
	c, err := certify.Measure(t.full, t.fullAt, nu, t.set.Certificate)
	return c.Epsilon <= t.set.Tolerance, err
}

// stuck asks Settings.Stuck at a check.
func (t *run) stuck() (bool, error) {
	if t.set.Stuck == nil || t.full != t.p || problem.Coarse(t.graded) {
		return false, nil
	}
	return t.set.Stuck(t.at.Constraints)
}
