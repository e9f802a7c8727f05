package certify

import (
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// curved are the quasi-Newton steps of package step on v, the augmented Lagrangian of the objective
// 0 with multipliers 0 and penalty 1. v never rises by more than its rounding errors.
type curved struct {
	*violation
	phi  step.Augmented
	step *step.QuasiNewton
	at   problem.Point
}

// newCurved returns the steps from q's iterate.
func newCurved(q *violation) (*curved, error) {
	quasi, err := step.NewQuasiNewton(q)
	if err != nil {
		return nil, err
	}
	return &curved{violation: q, phi: step.Augmented{Multipliers: make([]float64, len(q.g)), Penalty: 1}, step: quasi, at: problem.Point{Constraints: q.g}}, nil
}

// begin implements steps.
func (r *curved) begin() error { return r.at.Forward(r.violation) }

// advance implements steps. A rejected step shortens the next.
func (r *curved) advance() (moved bool, err error) {
	predicted, _, err := r.step.Predict(r.violation, &r.at, r.phi)
	if err != nil || !(predicted > 0) {
		return false, err
	}
	_, err = r.step.Try(r.violation, &r.at, r.phi)
	return true, err
}

// least implements steps.
func (r *curved) least() float64 { return r.value() }

// back implements steps.
func (r *curved) back() error { return r.at.Refresh(r.violation) }

// free implements steps.
func (r *curved) free() { r.step.Free() }
