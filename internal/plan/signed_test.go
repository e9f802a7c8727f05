package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/plan"
	"ppal/models"
	"ppal/trainer/graph"
)

// binary is a model with one score for each row, a mean loss and a gap between two rates.
type binary struct {
	spec       models.Spec
	loss, rate constraints.Phi
	n          int
	vector     bool // the scores are [n]
}

func (c binary) String() string {
	return fmt.Sprintf("%d-%v/%v/%v/n=%d/vector=%v", c.spec.Inputs, c.spec.Hidden, c.loss, c.rate, c.n, c.vector)
}

func (c binary) build(dtype tensor.Dtype) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
	return func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
		rng := rand.New(rand.NewPCG(4, uint64(c.n)))
		weights, err := models.Init(c.spec, rng)
		if err != nil {
			return d, err
		}
		for _, w := range weights {
			for i, x := range w.Data {
				w.Data[i] = float64(float32(x))
			}
		}
		net, err := models.New(g, c.spec, dtype, weights)
		if err != nil {
			return d, err
		}
		scores, err := net.Scores(matrix(g, dtype, "x", c.n, c.spec.Inputs, normals(rng, c.n*c.spec.Inputs)), nil)
		if err != nil {
			return d, err
		}
		if c.vector {
			scores = must(gorgonia.Reshape(scores, tensor.Shape{c.n}))
		}
		labels, all, gap := make([]int, c.n), constraints.Group{}, constraints.Group{}
		for i := range labels {
			labels[i] = 1 - 2*(i%2) // the first label is not -1, so the loss differs from the rate
			all.Rows = append(all.Rows, i)
			if i%3 != 0 || c.n == 1 {
				gap.Rows, gap.Weights = append(gap.Rows, i), append(gap.Weights, float64(i%3)-1.5)
			}
		}
		loss, err := constraints.NewSignedLoss(labels, c.loss)
		if err != nil {
			return d, err
		}
		rates, err := constraints.NewRates(c.n, c.rate)
		if err != nil {
			return d, err
		}
		mean, err := meanOf(must(loss.Apply(scores)), all)
		if err != nil {
			return d, err
		}
		h, err := meanOf(must(rates.Apply(scores)), gap)
		return graph.Definition{Objective: mean, Constraints: gorgonia.Nodes{h}, Parameters: net.Parameters(),
			Watch: gorgonia.Nodes{scores}}, err
	}
}

func meanOf(values *gorgonia.Node, group constraints.Group) (*gorgonia.Node, error) {
	m, err := constraints.NewMembership(values.Shape()[0], []constraints.Group{group})
	if err != nil {
		return nil, err
	}
	op, err := constraints.NewGroupMean(m, 0)
	if err != nil {
		return nil, err
	}
	return op.Apply(values)
}

// Losses of one score for each row have typed steps. The plan adds up their derivatives in place.
func TestSignedLosses(t *testing.T) {
	for _, spec := range []models.Spec{{Inputs: 3, Outputs: 1}, {Inputs: 4, Hidden: []int{5}, Outputs: 1, Activation: models.ReLU}} {
		for _, loss := range constraints.Phis() {
			for _, rate := range constraints.Phis() {
				for _, n := range []int{1, 2, 11} {
					for _, vector := range []bool{false, true} {
						c := binary{spec, loss, rate, n, vector}
						t.Run(c.String(), func(t *testing.T) { c.agree(t) })
					}
				}
			}
		}
	}
}

func (c binary) agree(t *testing.T) {
	problem, p := lower(t, c.build(tensor.Float64))
	_, single := lower(t, c.build(tensor.Float32))
	weights := weightsOf(1)
	want := tape(t, problem, weights)
	for _, block := range []int{0, 4} {
		compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
		compare(t, reference[float32](t, single, block, weights), want, 2e-5, single)
	}
	losses, gradients, added := 0, 0, 0
	each(p, func(s plan.Step) {
		switch s := s.(type) {
		case *plan.SignedLoss:
			losses++
		case *plan.SignedLossGrad:
			gradients++
			if s.Add {
				added++
			}
		case *plan.Opaque:
			t.Errorf("%v is not recognised", s)
		}
	})
	if losses != 2 || gradients != 2 || added != 1 {
		t.Errorf("%d losses, %d derivatives of which %d added, want 2, 2 and 1\n%v", losses, gradients, added, p)
	}
}
