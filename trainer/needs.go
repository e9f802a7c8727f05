package trainer

import (
	"fmt"
	"slices"

	"ppal/trainer/problem"
)

// Needs declares what a method, with its settings, needs of a problem. Train checks it once, before
// the first evaluation. The zero value needs nothing.
type Needs struct {
	// Of names the needy one in errors.
	Of string
	// Pieces: constraints that are maxima of smooth pieces (problem.Piecewise).
	Pieces bool
	// Group: one constraint, that of a drawn group (problem.DrawnGroup).
	Group bool
	// Regularizers are the kinds of r that the method supports; nil: all.
	Regularizers []problem.RegularizerKind
	// Evaluations: f, g and single gradients in addition to the gradient along the method's
	// coefficients. A loop of the caller's own (Stepper) does not give them.
	Evaluations bool
}

// Check returns an error (ErrSettings) if p does not offer what is needed.
func (n Needs) Check(p problem.Problem) error {
	features := problem.FeaturesOf(p)
	switch r := p.Space().Regularizer.Kind; {
	case n.Pieces && features.Pieces == nil:
		return n.error("constraints that are maxima of smooth pieces (problem.Piecewise)")
	case n.Group && (features.Group == nil || problem.Constraints(p) != 1):
		return n.error("one drawn group at a time (problem.DrawnGroup)")
	case n.Regularizers != nil && !slices.Contains(n.Regularizers, r):
		return n.error(fmt.Sprintf("a regularizer of %v, and r is %v", n.Regularizers, r))
	}
	return nil
}

// checkLoop returns an error (ErrSettings) if more is needed than a loop of the caller's own gives.
func (n Needs) checkLoop() error {
	if n.Evaluations {
		return n.error("more than the gradient along its coefficients, which is all that a loop of the caller's own gives: " +
			"use another x-step, or Train")
	}
	return nil
}

func (n Needs) error(what string) error {
	return fmt.Errorf("trainer: %w: %s needs %s", problem.ErrSettings, n.Of, what)
}
