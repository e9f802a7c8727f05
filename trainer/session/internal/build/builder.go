// Package build opens the devices of a run and joins the processes that share its rows. It builds
// the run's problems on them from its rows, its model and its task: on all rows, on mini-batches,
// on samples, and in float64 for the certificate.
package build

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Rows are the rows of a split, a batch or a sample, with the task on them.
type Rows struct {
	Data matrix.Matrix
	// Nodes adds the objective and the constraints of the task to the graph of the rows' scores.
	Nodes func(scores *gorgonia.Node) (objective *gorgonia.Node, constraints gorgonia.Nodes, err error)
	// Strata are disjoint sets of all rows, whose shares mini-batches and samples keep.
	Strata func() [][]int
	// Queries returns the rows of each query: of the queries with pairs of documents, and of the
	// others. Batches and samples have whole queries. nil: the rows have no queries.
	Queries func() (paired, others [][]int)
	// Weights are the weights of the rows, and Equal returns the rows without them; nil: the rows have
	// no weights.
	Weights []float64
	Equal   func() Rows
	// Violations returns the function that computes the constraints from the decisions of scores;
	// nil: the task counts no pairs of documents.
	Violations func() (func(scores []float64) ([]float64, error), error)
	// Pick returns the rows of a list. A later change of the list also changes the returned data.
	Pick func(list []int) Rows
}

// Builder builds problems of one model and one task for any rows and any precision.
type Builder struct {
	Model         models.Architecture // sized
	Regularizer   problem.Regularizer
	Center, Scale []float64       // c/s and the factors of the columns; nil: none
	Scales        *problem.Scales // of the weights and biases, for quasi-Newton steps (problem.Scaled); nil: none
	Terms         *ParameterTerms // the terms of the parameters; nil: none
	Devices       *Devices
	// ParameterNodes adds terms of the parameters to the graph, after the nodes of the rows; nil: no
	// terms.
	ParameterNodes func(model *models.Network) (gorgonia.Nodes, error)
	// Complete returns the problem with the task's constraints. The constraints of p are the nodes.
	Complete func(p problem.Problem) (problem.Problem, error)
	counted  sync.Once
	cost     cost // of a row, once counted
}

// Problem builds the task on rows for the training device, at the given weights as trained. The
// problem has one input, the rows [n, d], and one watched node, the scores [n, C].
func (b *Builder) Problem(r Rows, dtype tensor.Dtype, weights models.Weights) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) { return b.definition(g, r, dtype, weights) }, b.Devices.Train)
}

// definition adds the task on rows to a graph.
func (b *Builder) definition(g *gorgonia.ExprGraph, r Rows, dtype tensor.Dtype, weights models.Weights) (graph.Definition, error) {
	net, x, scores, err := b.Scores(g, r.Data, dtype, weights)
	if err != nil {
		return graph.Definition{}, err
	}
	f, c, err := r.Nodes(scores)
	if err != nil {
		return graph.Definition{}, err
	}
	if b.ParameterNodes != nil {
		terms, err := b.ParameterNodes(net)
		if err != nil {
			return graph.Definition{}, err
		}
		c = append(c, terms...)
	}
	return graph.Definition{
		Objective: f, Constraints: c, Parameters: net.Parameters(), Regularizer: b.Regularizer,
		Scales: b.Scales,
		Inputs: gorgonia.Nodes{x},
		Data:   []matrix.Matrix{r.Data},
		Watch:  gorgonia.Nodes{scores},
	}, nil
}

// Scores adds the model, the model's input and the model's scores to the graph.
func (b *Builder) Scores(g *gorgonia.ExprGraph, data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*models.Network, *gorgonia.Node, *gorgonia.Node, error) {
	net, err := models.New(g, b.Model, dtype, weights)
	if err != nil {
		return nil, nil, nil, err
	}
	n, d := data.Dims()
	x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(n, d))
	scores, err := net.ScaledScores(x, Constant(g, dtype, "center", b.Center, 1, d), Constant(g, dtype, "scale", b.Scale, d, 1))
	return net, x, scores, err
}

// Inputs returns the number of features.
func (b *Builder) Inputs() int {
	inputs, _ := b.Model.Dims()
	return inputs
}

// Outputs returns the number of scores of a row.
func (b *Builder) Outputs() int {
	_, outputs := b.Model.Dims()
	return outputs
}

// Parameters returns the number of weights and biases.
func (b *Builder) Parameters() int {
	ends := ParameterEnds(b.Model)
	return ends[len(ends)-1]
}

// ParameterEnds returns where each parameter ends in the stacked weights.
func ParameterEnds(model models.Architecture) (ends []int) {
	end := 0
	for _, p := range model.Parameters() {
		n := 1
		for _, d := range p.Shape {
			n *= d
		}
		end += n
		ends = append(ends, end)
	}
	return ends
}

// Head builds f and g as a problem in float64 whose parameters are the scores of the rows.
func (b *Builder) Head(r Rows) (*graph.Problem, error) {
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		n, _ := r.Data.Dims()
		scores := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(n, b.Outputs()),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, b.Outputs()), tensor.WithBacking(make([]float64, n*b.Outputs())))))
		f, c, err := r.Nodes(scores)
		return graph.Definition{Objective: f, Constraints: c, Parameters: gorgonia.Nodes{scores}}, err
	}, b.Devices.Host)
	if err != nil {
		return nil, fmt.Errorf("session: the objective and constraints in float64: %w", err)
	}
	return p, nil
}
