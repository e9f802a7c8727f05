package trainer

import (
	"fmt"

	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Stepper drives a rule in a loop that is someone else's: there the gradient grad f + J^T w is
// evaluated already when the step is asked for, and f cannot be probed, so that the first step has
// the length 1e-3 (1 + ||x_0||) and the second knows the curvature. Otherwise its iterates are
// those of Train, from a start in dom r: Train projects its start onto a ball or a box, a stepper's
// loop has evaluated it already, and the first Step brings it there.
//
// PLADA takes the subgradient step; ProxLinear and Inner are refused by the first Coefficients.
type Stepper struct {
	rule         DualRule
	step         step.Step
	at           problem.Point
	coefficients []float64
	started      bool
	weighed      bool // the dual variables have seen g at the iterate
}

// NewStepper returns a stepper of rule.
func NewStepper(rule DualRule) *Stepper { return &Stepper{rule: rule} }

// Coefficients writes w_k for g = g(x_k). The first call after a Step updates the dual variables
// with g before. The first call of all starts them, and its error (ErrSettings) says what does not
// fit in rule's settings.
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

// start makes the dual state from g(x_0).
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

// Step moves p's iterate along the gradient that p.Backward gives for the coefficients (1, w).
// p.Forward is never called, and p is the same in every call.
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

// prepare makes the primal step.
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

// Capture copies p's iterate and the state of the rule and its step, to go on from with Restore.
// The error says that there is none before the first Step.
func (s *Stepper) Capture(p problem.Problem) (*State, error) {
	if s.step == nil {
		return nil, fmt.Errorf("trainer: %w: a stepper has no state before its first step", problem.ErrSettings)
	}
	return capture(p, s.rule.Name(), s.visitState), nil
}

// Restore sets p's iterate and the state that Capture gave, in a stepper that has not begun, m
// being the number of constraints. The next call is Coefficients with g at that iterate. The error
// (ErrSettings) says where the state does not fit; the iterate and the stepper are undefined then.
func (s *Stepper) Restore(p problem.Problem, m int, state *State) error {
	if s.started {
		return fmt.Errorf("trainer: %w: a stepper that has begun cannot be restored", problem.ErrSettings)
	}
	if err := s.start(make([]float64, m)); err != nil {
		return err
	}
	if err := s.prepare(p, m); err != nil {
		return err
	}
	return state.restore(p, s.rule.Name(), s.visitState)
}

func (s *Stepper) visitState(v problem.StateVisitor) {
	weighed := 0
	if s.weighed {
		weighed = 1
	}
	v.Count("stepper.weighed", &weighed)
	s.weighed = weighed != 0
	s.rule.VisitDual(v)
	s.step.VisitState(v)
}
