package session

import (
	"gorgonia.org/gorgonia"

	"ppal/trainer/problem"
)

// goal is what is learnt, apart from the rows: an objective f and constraints g over the scores of a model. It knows the rows of any
// split by what loading them left in rows.
type goal interface {
	// Bounds are the constraints' bounds, ConstraintNames what they bound.
	Bounds() []float64
	ConstraintNames() []string
	Warnings() []string
	// nodes adds f and g over the rows' scores [n, C], or, with pieces, the smooth terms of which g are the maxima.
	nodes(scores *gorgonia.Node, r rows) (f, g *gorgonia.Node, err error)
	pieces() []problem.Piece
	// smooth says whether f and the nodes of g are differentiable in the scores.
	smooth() bool
	// collapse is the objective of a worthless stationary point, where there is one.
	collapse() (threshold float64, ok bool)
	// measurer evaluates f, g and what they stand for on the rows, in float64, from their scores.
	measurer(r rows) (func(scores []float64) (measures, error), error)
}

// measures are what is reported of one split.
type measures struct {
	named     map[string]float64 // by the name in a run's files, without the split's
	values    []float64          // f, then g + bound
	decisions []float64          // what each of values stands for on the model's decisions
}

// wrapped makes the goal's constraints of a problem whose constraints are its nodes.
func wrapped(g goal, p problem.Problem) (problem.Problem, error) {
	pieces := g.pieces()
	if pieces == nil {
		return p, nil
	}
	return problem.MakePiecewise(p, pieces)
}
