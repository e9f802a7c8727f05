package session

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Objective is an objective of a program's own for the constraints of a Decisions task. It adds the
// scalar f to the graph of the scores [n, outputs]. The session calls it for several sets of rows,
// with float32 and with float64 scores.
type Objective func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, error)

// On returns the objective of the rows as a problem of the scores, in float64 on Gorgonia's
// machine. Package verify evaluates the objective in this way too.
func (o Objective) On(rows Rows, outputs int) (*graph.Problem, error) {
	return onScores(len(rows.Labels), outputs, func(scores *gorgonia.Node) (graph.Definition, error) {
		f, err := o(scores, rows)
		return graph.Definition{Objective: f}, err
	})
}

// onScores returns nodes as a problem of n rows of scores.
func onScores(n, outputs int, define func(scores *gorgonia.Node) (graph.Definition, error)) (*graph.Problem, error) {
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		scores := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(n, outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, outputs), tensor.WithBacking(make([]float64, n*outputs)))))
		d, err := define(scores)
		d.Parameters = gorgonia.Nodes{scores}
		return d, err
	}, graph.Tape{})
	if err != nil {
		return nil, fmt.Errorf("session: the task in float64: %w", err)
	}
	return p, nil
}

// value returns a function that computes f from the scores of the rows; nil without an objective.
func (o Objective) value(rows Rows, outputs int) (func(scores []float64) (float64, error), error) {
	if o == nil {
		return nil, nil
	}
	p, err := o.On(rows, outputs)
	return func(scores []float64) (float64, error) {
		p.Space().Write(problem.Iterate, scores)
		return p.Forward(nil)
	}, err
}
