package session

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// task is what is learnt, apart from the rows and the numbers' precision.
type task struct {
	spec        models.Spec
	goal        goal
	regularizer problem.Regularizer
	center      []float64    // c/s, nil without centring
	scale       []float64    // of the columns, nil: as they are
	engine      graph.Engine // of the training rows
	host        graph.Engine // of what is only measured or certified
}

// problem builds the task on rows, from weights as trained; its one input is the rows [n, d] and its one watched node the scores [n, C].
func (t *task) problem(r rows, dtype tensor.Dtype, weights models.Weights) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := t.scores(g, r.data, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, err := t.goal.nodes(scores, r)
		if err != nil {
			return graph.Definition{}, err
		}
		return graph.Definition{
			Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(), Regularizer: t.regularizer,
			NonSmooth: t.nonSmooth(),
			Inputs:    gorgonia.Nodes{x},
			Data:      []matrix.Matrix{r.data},
			Watch:     gorgonia.Nodes{scores},
		}, nil
	}, t.engine)
}

// scores adds the model, its input and its scores to the graph.
func (t *task) scores(g *gorgonia.ExprGraph, data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*models.Network, *gorgonia.Node, *gorgonia.Node, error) {
	net, err := models.New(g, t.spec, dtype, weights)
	if err != nil {
		return nil, nil, nil, err
	}
	n, d := data.Dims()
	x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(n, d))
	scores, err := net.ScaledScores(x, constantNode(g, dtype, "center", t.center, 1, d), constantNode(g, dtype, "scale", t.scale, d, 1))
	return net, x, scores, err
}

// nonSmooth says whether f or g have kinks: the goal's, or the network's.
func (t *task) nonSmooth() bool {
	return !t.goal.smooth() || len(t.spec.Hidden) > 0 && t.spec.Activation == models.ReLU
}

// Float64s are a value's elements, nil where they are no numbers.
func Float64s(v gorgonia.Value) []float64 {
	switch data := v.Data().(type) {
	case []float32:
		wide := make([]float64, len(data))
		for i, x := range data {
			wide[i] = float64(x)
		}
		return wide
	case []float64:
		return data
	}
	return nil
}
