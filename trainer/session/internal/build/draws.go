package build

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// DrawnRows are the rows of a task that draws the group of its single constraint.
type DrawnRows struct {
	Data    matrix.Matrix
	Sample  *constraints.Sample // the task's system on the rows
	Bound   float64             // of the constraint
	Labels  []int               // -1 or +1
	Groups  []constraints.Group
	Levels  [][]float64 // quantiles that describe each group
	Weights []float64   // of the rows; nil: 1 each
}

// Draws is the intersectional task with a single constraint. Every iteration draws the group of
// the constraint. The group of iteration k is a function of the seed and k alone.
type Draws struct {
	*graph.Problem
	groups *constraints.GroupDraws
	rows   DrawnRows
	group  int             // group of the last sample
	draw   ranks.Procedure // binds the weights of a sample, in all processes
}

var (
	_ problem.DrawnGroup = (*Draws)(nil)
	_ Sampler            = (*Draws)(nil)
)

// NewDraws builds the task on rows at the given weights.
func NewDraws(b *Builder, r DrawnRows, seed uint64, dtype tensor.Dtype, weights models.Weights) (*Draws, error) {
	d := &Draws{rows: r}
	var err error
	if d.groups, err = r.Sample.NewDraws(dtype, seed); err != nil {
		return nil, err
	}
	d.Problem, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := b.Scores(g, r.Data, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, drawn, err := r.Sample.SampledNodes(scores)
		if err != nil {
			return graph.Definition{}, err
		}
		if err := gorgonia.Let(drawn, d.groups.Weights(0)); err != nil {
			return graph.Definition{}, err
		}
		return graph.Definition{
			Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(), Regularizer: b.Regularizer,
			Inputs: gorgonia.Nodes{x, drawn}, Data: []matrix.Matrix{r.Data, nil}, Watch: gorgonia.Nodes{scores},
		}, nil
	}, b.Devices.Train)
	d.draw = b.Devices.Team.Register(d.bind)
	return d, err
}

// Sample implements problem.Sampler.
func (d *Draws) Sample(k int) error { return d.draw(ranks.Bytes([]float64{float64(k)})) }

// bind binds the weights of the sample whose number is the message.
func (d *Draws) bind(message []byte) error {
	k := int(ranks.Numbers[float64](message)[0])
	d.group = d.groups.Group(k)
	weights, err := graph.Values(d.groups.Weights(k))
	if err != nil {
		return err
	}
	return d.Bind(1, weights)
}

// GroupFeatures implements problem.DrawnGroup.
func (d *Draws) GroupFeatures() []float64 { return d.rows.Levels[d.group] }

// DecisionViolations implements problem.DrawnGroup. The only value is the share of wrong decisions
// in the group, minus the share of wrong decisions among all rows, minus the bound.
func (d *Draws) DecisionViolations() ([]float64, error) {
	v, err := d.Watched(0)
	if err != nil {
		return nil, err
	}
	scores := graph.Float64s(v)
	var inside, all share
	for i := range scores {
		all.add(d.wrong(scores, i))
	}
	for _, i := range d.rows.Groups[d.group].Rows {
		inside.add(d.wrong(scores, i))
	}
	return []float64{inside.part/inside.whole - all.part/all.whole - d.rows.Bound}, nil
}

// wrong returns whether the decision of row i is wrong, and the weight of the row.
func (d *Draws) wrong(scores []float64, i int) (wrong bool, weight float64) {
	weight = 1
	if d.rows.Weights != nil {
		weight = d.rows.Weights[i]
	}
	return (scores[i] > 0) != (d.rows.Labels[i] > 0), weight
}

// share is a share of rows, by weight.
type share struct{ part, whole float64 }

// add adds a row.
func (s *share) add(counts bool, weight float64) {
	if s.whole += weight; counts {
		s.part += weight
	}
}

// PerPass returns 1, because every iteration uses all rows.
func (d *Draws) PerPass() float64 { return 1 }
