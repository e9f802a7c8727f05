package plan_test

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/plan"
	"ppal/models"
)

// Only two group means read the losses of the default network, and only the derivative of the loss
// reads the factors of both groups. With a second reader of either vector the analysis reports no
// single consumer.
func TestConsumers(t *testing.T) {
	_, p := lower(t, classes(models.Shared, 8, 6).build(tensor.Float64, 1))
	var loss, grad plan.Step
	var means []*plan.GroupMeans
	var factors []*plan.GroupMeansGrad
	each(p, func(s plan.Step) {
		switch s := s.(type) {
		case *plan.MarginLoss:
			loss = s
		case *plan.MarginLossGrad:
			grad = s
		case *plan.GroupMeans:
			means = append(means, s)
		case *plan.GroupMeansGrad:
			factors = append(factors, s)
		}
	})
	c := p.FindConsumers()
	if got := c.Means[loss]; len(got) != 2 || got[0] != means[0] || got[1] != means[1] {
		t.Errorf("the losses' means are %v, want %v", got, means)
	}
	if got := c.Factors[grad]; len(got) != 2 || got[0] != factors[0] || got[1] != factors[1] {
		t.Errorf("the derivative's factors are %v, want %v", got, factors)
	}
	if c.Loss[factors[0]] != grad || c.Loss[factors[1]] != grad {
		t.Errorf("the factors' losses are %v, want %v", c.Loss, grad)
	}
	forward, backward := &p.Forward[len(p.Forward)-1], &p.Backward[0]
	forward.Steps = append(forward.Steps, &plan.Sums{Over: plan.OverAll, In: loss.Writes()[0].View, Out: means[0].Out})
	backward.Steps = append(backward.Steps, &plan.Sums{Over: plan.OverAll, In: factors[0].Out, Out: means[0].Out})
	if c := p.FindConsumers(); len(c.Means) != 0 || len(c.Factors) != 0 || len(c.Loss) != 0 {
		t.Errorf("vectors with other readers: %+v", c)
	}
}
