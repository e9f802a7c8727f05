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
func (t *run) stuck() bool {
	multipliers := t.m.Report().Multipliers
	if t.set.Stuck == nil || multipliers == nil || t.full != t.p || problem.Coarse(t.graded) {
		return false
	}
	t.p.Space().Read(t.x, problem.Iterate)
	return t.set.Stuck(t.at.Objective+t.p.Space().Regularizer.Value(t.x), t.at.Constraints, multipliers)
}
