package method

import (
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// firstOrder implements the iteration of every DualRule: coefficients, primal step, forward pass,
// dual update. With quasi-Newton steps, secondOrder replaces this iteration, and in the last
// iterations of a run on mini-batches the method of finish.
type firstOrder struct {
	universal
	rule         trainer.DualRule
	step         step.Step
	coefficients []float64 // 1, w
	second       *secondOrder
	constraints  constraintEstimate // in a run on mini-batches
	finish       *finish            // the last iterations of a run on mini-batches; nil: as all others
}

// dualMethod is a method that is its own DualRule.
type dualMethod interface {
	trainer.Method
	trainer.DualRule
}

// batchRule is a rule whose dual step is smaller on mini-batches. With the step of an iteration on
// all rows after each of T batches, the multipliers of a network grow T times as much in a pass, so
// fast that the network no longer decides for the class of the objective.
type batchRule interface {
	trainer.DualRule
	// onBatches says, after StartDual, that the run has t batches in a pass.
	onBatches(t int)
}

// init prepares a run with the rule's own primal step.
func (f *firstOrder) init(rule dualMethod, p problem.Problem, at *problem.Point) error {
	ChoosePrimal(rule, p)
	if a, ok := rule.(augmentedRule); ok && rule.PrimalStep().Kind == step.LBFGS {
		return f.initSecond(a, p, at, trainer.DefaultFeasibilityTolerance)
	}
	step, err := step.New(rule.PrimalStep(), p)
	if err != nil {
		return err
	}
	return f.start(rule, step, p, at)
}

// initSecond prepares a run with quasi-Newton steps.
func (f *firstOrder) initSecond(rule augmentedRule, p problem.Problem, at *problem.Point, tolerance float64) (err error) {
	if err := rule.PrimalStep().Validate(); err != nil {
		return err
	}
	if err := rule.StartDual(at.Constraints); err != nil {
		return err
	}
	if f.second != nil && f.second.step.On(p.Space()) { // an earlier round of the run
		f.second.step.Free()
	}
	f.rule = rule
	f.second, err = newSecondOrder(rule, p, at, tolerance)
	return err
}

// start prepares a run with the given primal step.
func (f *firstOrder) start(rule trainer.DualRule, step step.Step, p problem.Problem, at *problem.Point) error {
	f.rule, f.step, f.second = rule, step, nil
	f.coefficients = make([]float64, 1+len(at.Constraints))
	f.coefficients[0] = 1
	f.constraints.start(p, at.Constraints)
	if f.ended() { // in a new round of the run
		f.finish.err = f.finish.last.Init(f.finish.whole, at)
	}
	if err := rule.StartDual(at.Constraints); err != nil {
		return err
	}
	if b, ok := rule.(batchRule); ok && f.constraints.blocks > 0 {
		b.onBatches(f.constraints.blocks)
	}
	return nil
}

// Iterate implements trainer.Method.
func (f *firstOrder) Iterate(p problem.Problem, at *problem.Point) error {
	if over, err := f.finish.takesOver(at); over || err != nil {
		if err != nil {
			return err
		}
		return f.finish.last.Iterate(f.finish.whole, at)
	}
	if f.second != nil {
		return f.second.iterate(p, at)
	}
	f.rule.Coefficients(f.coefficients[1:], f.constraints.estimateAt(at))
	if err := f.step.Move(p, at, step.Direction{Coefficients: f.coefficients, Demand: f.rule.Demand()}); err != nil {
		return err
	}
	if err := at.SampleAndForward(p, at.Iteration+1); err != nil {
		return err
	}
	f.constraints.observe(at.Iteration+1, at.Constraints)
	f.rule.UpdateDual(f.constraints.estimateAt(at))
	f.finish.moved(at)
	return nil
}

// Resting implements trainer.Rester. Only quasi-Newton steps come to rest.
func (f *firstOrder) Resting() bool {
	if f.ended() {
		return f.finish.last.(trainer.Rester).Resting()
	}
	return f.second != nil && f.second.resting()
}

// ended reports whether the iterations on batches have ended, and finish has the present state.
func (f *firstOrder) ended() bool { return f.finish != nil && f.finish.begun }

// reported returns the report of the method that takes the iterations: own, or the report of the
// last iterations.
func (f *firstOrder) reported(own trainer.Report) trainer.Report {
	if f.ended() {
		return f.finish.last.Report()
	}
	return own
}

// VisitState implements trainer.Method.
func (f *firstOrder) VisitState(v problem.StateVisitor) {
	if f.finish.visitState(v) {
		return
	}
	f.rule.VisitDual(v)
	if f.second != nil {
		f.second.visitState(v)
		return
	}
	f.constraints.visitState(v)
	f.step.VisitState(v)
}

// primalNeeds returns the requirements of the primal step: quasi-Newton steps evaluate f and g at
// points of their own choice.
func primalNeeds(s step.Settings) trainer.Needs {
	if s.Kind != step.LBFGS {
		return trainer.Needs{}
	}
	return trainer.Needs{Of: "the primal step lbfgs", Evaluations: true}
}

// Demand implements trainer.DualRule for rules without requirements on the primal step.
func (f *firstOrder) Demand() step.Demand { return step.Demand{} }

// stepSize returns the last step size, NaN before the first step. For a quasi-Newton step it is the
// length of the planned move.
func (f *firstOrder) stepSize() float64 {
	if f.second != nil {
		return f.second.step.Last()
	}
	return f.step.Last()
}

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

// universal implements Needs for the methods that run on every problem.
type universal struct{}

// Needs implements trainer.Method and trainer.DualRule. The zero Needs requires nothing.
func (universal) Needs() trainer.Needs { return trainer.Needs{} }

// unlessFixed returns the penalty, or 0 if the primal step has a fixed size.
func unlessFixed(penalty float64, s step.Settings) float64 {
	if s.Fixed {
		return 0
	}
	return penalty
}
