package trainer

import (
	"fmt"
	"slices"

	"ppal/trainer/problem"
)

// Needs declares the requirements of a method, with its settings, on a problem. Train checks the
// requirements once, before the first evaluation. The zero value requires nothing.
type Needs struct {
	// Of is the name of the method or the step in errors.
	Of string
	// Option is the name of the option of the method that has the requirements; "": the method has
	// them with all settings.
	Option string
	// Instead says what to choose for other problems, in messages; "": nothing.
	Instead string
	// Gaps requires constraints that are gaps |h| <= eps, and Convex requires smooth functions that
	// are convex in x. Train cannot check these two: a program that knows its task checks them.
	Gaps, Convex bool
	// AllRows requires a problem that evaluates f and g on all rows in each iteration.
	AllRows bool
	// Pieces requires constraints that are maxima of smooth pieces (problem.Piecewise).
	Pieces bool
	// Group requires a problem that draws one group and has only its constraints (problem.DrawnGroup).
	Group bool
	// Regularizers are the kinds of r that the method supports; nil: all.
	Regularizers []problem.RegularizerKind
	// Evaluations requires f, g and single gradients in addition to the gradient along the method's
	// coefficients. A caller's own loop (Stepper) provides only the gradient along the coefficients.
	Evaluations bool
}

// Check returns an error that wraps problem.ErrSettings if p does not meet the requirements.
func (n Needs) Check(p problem.Problem) error {
	features := problem.FeaturesOf(p)
	switch r := p.Space().Regularizer.Kind; {
	case n.Pieces && features.Pieces == nil:
		return n.error("constraints that are maxima of smooth pieces (problem.Piecewise)")
	case n.Group && features.Group == nil:
		return n.error("one drawn group at a time (problem.DrawnGroup)")
	case n.AllRows && features.Batches != nil:
		return n.error("all rows in each iteration, not mini-batches")
	case n.Regularizers != nil && !slices.Contains(n.Regularizers, r):
		return n.error(fmt.Sprintf("a regularizer in %v; the problem has %v", n.Regularizers, r))
	}
	return nil
}

// checkLoop returns an error that wraps problem.ErrSettings if a caller's own loop does not meet
// the requirements.
func (n Needs) checkLoop() error {
	if n.Evaluations {
		return n.error("evaluations of f, g and single gradients, which a caller's own loop does not provide: " +
			"use another x-step, or Train")
	}
	return nil
}

// error returns an error that names the method and the requirement what.
func (n Needs) error(what string) error {
	return fmt.Errorf("trainer: %w: %s needs %s", problem.ErrSettings, n.Of, what)
}
