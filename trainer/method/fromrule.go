package method

import (
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// FromRule returns the method that trains with the rule, such as a rule of your own. An iteration
// takes the rule's coefficients w_k, its primal step along grad f + J^T w_k, a forward pass, and
// the rule's dual update. On mini-batches, the rule sees a running estimate of g. step.Auto is
// step.Nesterov. The report's multipliers are w at the iterate, so that max(0, w) certifies the
// iterate. A rule serves a single run.
func FromRule(rule trainer.DualRule) trainer.Method { return &ruled{own: rule} }

// ruled is the method of a rule.
type ruled struct {
	firstOrder
	own trainer.DualRule
	w   []float64 // at the iterate
}

// Name implements trainer.Method.
func (r *ruled) Name() string { return r.own.Name() }

// Needs implements trainer.Method.
func (r *ruled) Needs() trainer.Needs { return r.own.Needs() }

// Init implements trainer.Method.
func (r *ruled) Init(p problem.Problem, at *problem.Point) error {
	primal, err := step.New(r.own.PrimalStep(), p)
	if err != nil {
		return err
	}
	if err := r.start(r.own, primal, p, at); err != nil {
		return err
	}
	r.w = make([]float64, len(at.Constraints))
	r.own.Coefficients(r.w, at.Constraints)
	return nil
}

// Iterate implements trainer.Method.
func (r *ruled) Iterate(p problem.Problem, at *problem.Point) error {
	if err := r.firstOrder.Iterate(p, at); err != nil {
		return err
	}
	r.own.Coefficients(r.w, r.constraints.estimateAt(at))
	return nil
}

// VisitState implements trainer.Method.
func (r *ruled) VisitState(v problem.StateVisitor) {
	r.firstOrder.VisitState(v)
	v.Numbers("rule.coefficients", r.w)
}

// Report implements trainer.Method.
func (r *ruled) Report() trainer.Report { return trainer.NewReport(r.stepSize(), r.w) }
