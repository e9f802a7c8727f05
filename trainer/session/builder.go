package session

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// builder builds problems of one model and one task for any rows and any precision.
type builder struct {
	model       models.Architecture // sized
	statement   *Statement
	smooth      bool // the statement splits gaps into two smooth constraints
	regularizer problem.Regularizer
	devices     *devices
	center      []float64       // c/s of the columns; nil: no centring
	scale       []float64       // factors of the columns; nil: none
	scales      *problem.Scales // of the weights and biases, for quasi-Newton steps (problem.Scaled); nil: none
	terms       *parameterTerms // the terms of the statement's ParameterNodes; nil: none
}

// problem builds the task on rows for the training device, at the given weights as trained. The
// problem has one input, the rows [n, d], and one watched node, the scores [n, C].
func (b *builder) problem(r rows, dtype tensor.Dtype, weights models.Weights) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) { return b.definition(g, r, dtype, weights) }, b.devices.train)
}

// definition adds the task on rows to a graph.
func (b *builder) definition(g *gorgonia.ExprGraph, r rows, dtype tensor.Dtype, weights models.Weights) (graph.Definition, error) {
	net, x, scores, err := b.scores(g, r.data, dtype, weights)
	if err != nil {
		return graph.Definition{}, err
	}
	f, c, err := b.statement.Nodes(scores, r.public())
	if err != nil {
		return graph.Definition{}, err
	}
	if b.statement.ParameterNodes != nil {
		terms, err := b.statement.ParameterNodes(net)
		if err != nil {
			return graph.Definition{}, err
		}
		c = append(c, terms...)
	}
	return graph.Definition{
		Objective: f, Constraints: c, Parameters: net.Parameters(), Regularizer: b.regularizer,
		Scales: b.scales,
		Inputs: gorgonia.Nodes{x},
		Data:   []matrix.Matrix{r.data},
		Watch:  gorgonia.Nodes{scores},
	}, nil
}

// scores adds the model, the model's input and the model's scores to the graph.
func (b *builder) scores(g *gorgonia.ExprGraph, data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*models.Network, *gorgonia.Node, *gorgonia.Node, error) {
	net, err := models.New(g, b.model, dtype, weights)
	if err != nil {
		return nil, nil, nil, err
	}
	n, d := data.Dims()
	x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(n, d))
	scores, err := net.ScaledScores(x, constantNode(g, dtype, "center", b.center, 1, d), constantNode(g, dtype, "scale", b.scale, d, 1))
	return net, x, scores, err
}

// inputs and outputs return the numbers of features and of scores.
func (b *builder) inputs() int {
	inputs, _ := b.model.Dims()
	return inputs
}

func (b *builder) outputs() int {
	_, outputs := b.model.Dims()
	return outputs
}

// head builds f and g as a problem in float64 whose parameters are the scores of the rows.
func (b *builder) head(r rows) (*graph.Problem, error) {
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		scores := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(r.len(), b.outputs()),
			gorgonia.WithValue(tensor.New(tensor.WithShape(r.len(), b.outputs()), tensor.WithBacking(make([]float64, r.len()*b.outputs())))))
		f, c, err := b.statement.Nodes(scores, r.public())
		return graph.Definition{Objective: f, Constraints: c, Parameters: gorgonia.Nodes{scores}}, err
	}, b.devices.measure)
	if err != nil {
		return nil, fmt.Errorf("session: the objective and constraints in float64: %w", err)
	}
	return p, nil
}

// measurer returns the function that measures scores of the rows. The function is the statement's
// own, or else computes f and g with the statement's nodes.
func (b *builder) measurer(r rows) (func(scores []float64) (Measures, error), error) {
	if b.statement.measures != nil {
		measure, err := b.statement.measures(r.public())
		if err != nil {
			return nil, err
		}
		return func(scores []float64) (Measures, error) { return measure(scores, b.terms.last()) }, nil
	}
	if b.statement.Measures != nil {
		return b.statement.Measures(r.public())
	}
	head, err := b.head(r)
	if err != nil {
		return nil, err
	}
	p, err := b.statement.complete(head)
	if err != nil {
		return nil, err
	}
	return func(scores []float64) (Measures, error) {
		head.Space().Write(problem.Iterate, scores)
		g := make([]float64, len(b.statement.Constraints))
		f, err := p.Forward(g)
		m := Measures{Named: map[string]float64{"objective": f, "max_violation": problem.MaxViolation(g)}, Values: []float64{f}}
		for j, c := range b.statement.Constraints {
			m.Named[strings.ReplaceAll(c.Name, " ", "_")] = g[j] + c.Bound
			m.Values = append(m.Values, g[j]+c.Bound)
		}
		return m, err
	}, nil
}
