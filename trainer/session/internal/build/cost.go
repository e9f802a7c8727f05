package build

import (
	"errors"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
)

// cost is what a row costs in the plan of the model's scores.
type cost struct {
	operations float64 // floating-point operations of a forward pass
	numbers    int     // numbers that the forward half keeps for the backward half
}

// rowCost returns the cost of a dense row.
func (b *Builder) rowCost() cost {
	b.counted.Do(func() {
		if _, ok := b.Model.(models.Spec); ok {
			b.cost = b.listedCost()
		} else {
			b.cost = b.planCost()
		}
	})
	return b.cost
}

// listedCost returns the cost of a row of a perceptron without its plan: each weight is a
// multiplication and an addition, and each hidden unit is kept.
func (b *Builder) listedCost() (c cost) {
	for _, p := range b.Model.Parameters() {
		switch {
		case len(p.Shape) == 2:
			c.operations += 2 * float64(p.Shape[0]) * float64(p.Shape[1])
		case !p.ScoreBias:
			c.numbers += p.Shape[0]
		}
	}
	return c
}

// planCost returns the cost of a row in the plan of costRows rows. It is zero if the model has no
// plan: then the problem on the rows, which has the same nodes, reports the error.
func (b *Builder) planCost() cost {
	var c counter
	data := &matrix.Dense{Rows: costRows, Cols: b.Inputs(), Data: make([]float64, costRows*b.Inputs())}
	weights, err := models.Unstack(b.Model, make([]float64, b.Parameters()))
	if err != nil {
		return cost{}
	}
	graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) { // its error is errCounted
		net, x, scores, err := b.Scores(g, data, tensor.Float64, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(scores)
		return graph.Definition{Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x}, Data: []matrix.Matrix{data}}, err
	}, &c)
	return c.cost
}

// costRows is the number of rows of the plan that is counted: the least number with which rows
// differ from a single vector.
const costRows = 2

// counter is an engine that counts the cost of a row, and compiles nothing.
type counter struct{ cost }

// errCounted is the error of counter's Compile.
var errCounted = errors.New("session: the plan is counted")

// Compile implements graph.Engine.
func (c *counter) Compile(l *graph.Lagrangian) (graph.Compiled, error) {
	operations, kept, err := l.Cost()
	if err != nil {
		return nil, err
	}
	c.cost = cost{float64(operations) / costRows, kept / costRows}
	return nil, errCounted
}
