package trainer

// Stepper drives a rule in a loop that is someone else's: there the gradient grad f + J^T w is evaluated already when the
// step is asked for, and f cannot be probed, so that the first step has the length 1e-3 (1 + ||x_0||) and the second knows the
// curvature. Otherwise its iterates are those of Train.
type Stepper struct {
	rule    DualRule
	step    primalStep
	at      Point
	weights []float64
	started bool
}

// NewStepper returns a stepper of rule.
func NewStepper(rule DualRule) *Stepper { return &Stepper{rule: rule} }

// Weights writes w_k for g = g(x_k), after updating the dual variables with it from the second call on.
func (s *Stepper) Weights(w, g []float64) error {
	if s.started {
		s.rule.UpdateDual(g)
	} else if err := s.rule.StartDual(g); err != nil {
		return err
	}
	s.started = true
	s.rule.Weights(w, g)
	return nil
}

// Step moves p's iterate along the gradient that p.Backward gives for the weights (1, w). p.Forward is never called, and p is the
// same in every call.
func (s *Stepper) Step(p Problem, w []float64) error {
	if s.step == nil {
		var err error
		if s.step, err = newPrimalStep(s.rule.PrimalStep(), p); err != nil {
			return err
		}
		if d, ok := s.step.(*descent); ok {
			d.rule.blind = true
		}
		s.weights = make([]float64, 1+len(w))
		s.weights[0] = 1
	}
	copy(s.weights[1:], w)
	return s.step.move(p, &s.at, directionOf(s.rule, s.weights))
}
