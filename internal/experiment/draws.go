package experiment

import (
	"errors"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// draws is the intersectional task with the constraint of one group, another at every iteration: the group of iteration k is a function
// of the seed and k alone.
type draws struct {
	*graph.Problem
	groups *constraints.GroupDraws
}

var _ trainer.Sampler = (*draws)(nil)

func newDraws(t *task, r rows, seed uint64, dtype tensor.Dtype, weights models.Weights) (*draws, error) {
	fair, _ := t.goal.(fairness)
	p, ok := fair.fairProblem.(*constraints.Intersectional)
	if !ok {
		return nil, errors.New("experiment: only intersectional groups are drawn")
	}
	d := &draws{}
	var err error
	if d.groups, err = p.NewDraws(r.fair(), dtype, seed); err != nil {
		return nil, err
	}
	d.Problem, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := t.scores(g, r.data, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, drawn, err := p.SampledNodes(scores, r.fair())
		if err != nil {
			return graph.Definition{}, err
		}
		if err := gorgonia.Let(drawn, d.groups.Weights(0)); err != nil {
			return graph.Definition{}, err
		}
		return graph.Definition{
			Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(), Regularizer: t.regularizer, NonSmooth: t.nonSmooth(),
			Inputs: gorgonia.Nodes{x, drawn}, Data: []graph.Matrix{r.data, nil},
		}, nil
	}, t.engine)
	return d, err
}

// Sample implements trainer.Sampler.
func (d *draws) Sample(k int) error { return d.Bind(1, d.groups.Weights(k)) }

// perPass is 1: every iteration takes all rows.
func (d *draws) perPass() float64 { return 1 }
