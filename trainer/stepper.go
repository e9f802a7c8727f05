package trainer

import (
	"fmt"

	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Stepper drives a rule inside the caller's own loop. The caller's loop evaluates the gradient grad
// f + J^T w before the loop calls Step, and a Stepper cannot evaluate f at other points. Therefore
// the first step has the length 1e-3 (1 + ||x_0||), and the second step is the first to use a
// measured curvature. From a start in dom r, the later steps follow the same rule as in Train.
// Train projects a start outside a ball or a box before the first evaluation. The caller's loop has
// already evaluated its start; the first Step moves the iterate into the domain.
//
// PLADA takes the subgradient step. The first call of Coefficients returns an error for the x-steps
// ProxLinear and Inner.
type Stepper struct {
	rule         DualRule
	step         step.Step
	at           problem.Point
	coefficients []float64
	started      bool
	weighed      bool // the dual variables include g at the iterate
}

// NewStepper returns a stepper for the rule.
func NewStepper(rule DualRule) *Stepper { return &Stepper{rule: rule} }

// Coefficients writes w_k for g = g(x_k). The very first call starts the dual variables; the error
// wraps problem.ErrSettings if the rule's settings are invalid. The first call after a Step updates
// the dual variables with g, and then writes w_k.
func (s *Stepper) Coefficients(w, g []float64) error {
	switch {
	case !s.started:
		if err := s.start(g); err != nil {
			return err
		}
	case !s.weighed:
		s.rule.UpdateDual(g)
	}
	s.weighed = true
	s.rule.Coefficients(w, g)
	return nil
}

// start creates the dual state from g(x_0).
func (s *Stepper) start(g []float64) error {
	if err := s.rule.Needs().checkLoop(); err != nil {
		return err
	}
	if err := s.rule.StartDual(g); err != nil {
		return err
	}
	s.started = true
	return nil
}

// Step moves the iterate of p along the gradient that p.Backward returns for the coefficients (1,
// w). Step never calls p.Forward. p must be the same in every call.
func (s *Stepper) Step(p problem.Problem, w []float64) error {
	if err := s.prepare(p, len(w)); err != nil {
		return err
	}
	copy(s.coefficients[1:], w)
	if err := s.step.Move(p, &s.at, step.Direction{Coefficients: s.coefficients, Demand: s.rule.Demand()}); err != nil {
		return err
	}
	s.weighed = false
	return nil
}

// prepare creates the primal step before the first Step. m is the number of constraints.
func (s *Stepper) prepare(p problem.Problem, m int) error {
	if s.step != nil {
		return nil
	}
	var err error
	if s.step, err = step.NewBlind(s.rule.PrimalStep(), p); err != nil {
		return err
	}
	s.coefficients = make([]float64, 1+m)
	s.coefficients[0] = 1
	return nil
}

// Capture copies the iterate of p and the state of the rule and its step for Restore. Before the
// first Step, the error wraps problem.ErrOrder.
func (s *Stepper) Capture(p problem.Problem) (*State, error) {
	if s.step == nil {
		return nil, fmt.Errorf("trainer: %w: a stepper has no state before its first step", problem.ErrOrder)
	}
	return capture(p, s.rule.Name(), s.visitState), nil
}

// Restore sets the iterate of p and the state from Capture, in a new stepper. m is the number of
// constraints. The next call must be Coefficients with g at the restored iterate. The error wraps
// problem.ErrSettings if the state belongs to another rule, primal step or problem, and
// problem.ErrOrder if the stepper is not new. If the state does not match, the iterate and the
// stepper are undefined.
func (s *Stepper) Restore(p problem.Problem, m int, state *State) error {
	if s.started {
		return fmt.Errorf("trainer: %w: a stepper can be restored only before its first call", problem.ErrOrder)
	}
	if err := s.start(make([]float64, m)); err != nil {
		return err
	}
	if err := s.prepare(p, m); err != nil {
		return err
	}
	return state.restore(p, s.rule.Name(), s.visitState)
}

// visitState shows the state of the stepper, the rule and the primal step to v.
func (s *Stepper) visitState(v problem.StateVisitor) {
	problem.VisitFlag(v, "stepper.weighed", &s.weighed)
	s.rule.VisitDual(v)
	s.step.VisitState(v)
}
