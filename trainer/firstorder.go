package trainer

import "ppal/trainer/problem"

// firstOrder is the iteration of every DualRule: coefficients, primal step, forward pass, dual update.
type firstOrder struct {
	rule         DualRule
	step         primalStep
	coefficients []float64 // 1, w
}

func (f *firstOrder) init(rule DualRule, p problem.Problem, at *problem.Point) error {
	step, err := newPrimalStep(rule.PrimalStep(), p)
	if err != nil {
		return err
	}
	return f.start(rule, step, at)
}

// start is init with a primal step of the method's own.
func (f *firstOrder) start(rule DualRule, step primalStep, at *problem.Point) error {
	f.rule, f.step = rule, step
	f.coefficients = make([]float64, 1+len(at.Constraints))
	f.coefficients[0] = 1
	return rule.StartDual(at.Constraints)
}

// Iterate implements Method.
func (f *firstOrder) Iterate(p problem.Problem, at *problem.Point) error {
	f.rule.Coefficients(f.coefficients[1:], at.Constraints)
	if err := f.step.move(p, at, direction{f.coefficients, f.rule.Demand()}); err != nil {
		return err
	}
	if err := at.SampleAndForward(p, at.Iteration+1); err != nil {
		return err
	}
	f.rule.UpdateDual(at.Constraints)
	return nil
}

// VisitState implements Method.
func (f *firstOrder) VisitState(v problem.StateVisitor) {
	f.rule.VisitDual(v)
	f.step.visitState(v)
}

// Demand implements DualRule for rules that ask nothing of the primal step.
func (f *firstOrder) Demand() Demand { return Demand{} }

// stepSize is the last step, NaN before the first.
func (f *firstOrder) stepSize() float64 { return f.step.lastStep() }
