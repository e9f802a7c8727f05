package experiment

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// task is what is learnt, apart from the rows and the numbers' precision.
type task struct {
	spec        models.Spec
	goal        *constraints.NeymanPearson
	regularizer trainer.Regularizer
	center      []float64 // c/s, nil without centring
	engine      graph.Engine
}

// problem builds the task on rows, from weights as trained; its one input is the
// rows [n, d] and its one watched node the scores [n, C].
func (t *task) problem(r rows, dtype tensor.Dtype, weights models.Weights) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, t.spec, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		n, d := r.pixels.Dims()
		x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(n, d))
		scores, err := net.Scores(x, centerNode(g, dtype, t.center))
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, err := t.goal.Nodes(scores, r.labels())
		if err != nil {
			return graph.Definition{}, err
		}
		return graph.Definition{
			Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(), Regularizer: t.regularizer,
			NonSmooth: t.nonSmooth(),
			Inputs:    gorgonia.Nodes{x},
			Data:      []graph.Matrix{r.pixels},
			Watch:     gorgonia.Nodes{scores},
		}, nil
	}, t.engine)
}

// nonSmooth says whether f or g have kinks: phi's, or the network's.
func (t *task) nonSmooth() bool {
	return !t.goal.Phi().Smooth() || len(t.spec.Hidden) > 0 && t.spec.Activation == models.ReLU
}

// measure evaluates the classes' losses and error rates from the scores of p's last Forward.
func (t *task) measure(p *graph.Problem, r rows) (constraints.Measures, error) {
	v, err := p.Watched(0)
	if err != nil {
		return constraints.Measures{}, err
	}
	scores := make([]float64, v.Shape().TotalSize())
	switch data := v.Data().(type) {
	case []float32:
		for i, s := range data {
			scores[i] = float64(s)
		}
	case []float64:
		copy(scores, data)
	}
	e := t.goal.NewEvaluator()
	if err := e.Add(scores, r.labels()); err != nil {
		return constraints.Measures{}, err
	}
	return e.Measures()
}
