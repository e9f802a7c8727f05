package method

import (
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// firstOrder implements the iteration of every DualRule: coefficients, primal step, forward pass,
// dual update.
type firstOrder struct {
	universal
	rule         trainer.DualRule
	step         step.Step
	coefficients []float64 // 1, w
}

// init prepares a run with the rule's own primal step.
func (f *firstOrder) init(rule trainer.DualRule, p problem.Problem, at *problem.Point) error {
	step, err := step.New(rule.PrimalStep(), p)
	if err != nil {
		return err
	}
	return f.start(rule, step, at)
}

// start prepares a run with the given primal step.
func (f *firstOrder) start(rule trainer.DualRule, step step.Step, at *problem.Point) error {
	f.rule, f.step = rule, step
	f.coefficients = make([]float64, 1+len(at.Constraints))
	f.coefficients[0] = 1
	return rule.StartDual(at.Constraints)
}

// Iterate implements trainer.Method.
func (f *firstOrder) Iterate(p problem.Problem, at *problem.Point) error {
	f.rule.Coefficients(f.coefficients[1:], at.Constraints)
	if err := f.step.Move(p, at, step.Direction{Coefficients: f.coefficients, Demand: f.rule.Demand()}); err != nil {
		return err
	}
	if err := at.SampleAndForward(p, at.Iteration+1); err != nil {
		return err
	}
	f.rule.UpdateDual(at.Constraints)
	return nil
}

// VisitState implements trainer.Method.
func (f *firstOrder) VisitState(v problem.StateVisitor) {
	f.rule.VisitDual(v)
	f.step.VisitState(v)
}

// Demand implements trainer.DualRule for rules without requirements on the primal step.
func (f *firstOrder) Demand() step.Demand { return step.Demand{} }

// stepSize returns the last step size, NaN before the first step.
func (f *firstOrder) stepSize() float64 { return f.step.Last() }
