package experiment

import (
	"gorgonia.org/gorgonia"
)

// goal is what is learnt, apart from the rows: an objective f and constraints g over the scores of a model. It knows the rows of any
// split by what loading them left in rows.
type goal interface {
	// Bounds are the constraints' bounds, ConstraintNames what they bound.
	Bounds() []float64
	ConstraintNames() []string
	Warnings() []string
	// nodes adds f and g over the rows' scores [n, C].
	nodes(scores *gorgonia.Node, r rows) (f, g *gorgonia.Node, err error)
	// smooth says whether f and g are differentiable in the scores.
	smooth() bool
	// collapse is the objective of a worthless stationary point, where there is one.
	collapse() (threshold float64, ok bool)
	// measure evaluates f, g and what they stand for, in float64.
	measure(scores []float64, r rows) (measures, error)
}

// measures are what is reported of one split.
type measures struct {
	named map[string]float64 // by the name in a run's files, without the split's
	// Lines are the objective, then the constraints.
	values []float64 // f, then g + bound
	hard   []float64 // what each stands for on the model's decisions
}
