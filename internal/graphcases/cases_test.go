package graphcases_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/graphcases"
	"ppal/trainer/graph"
)

// kinds is an engine that counts the steps of each kind.
type kinds map[string]int

func (k kinds) Compile(h *graph.Lagrangian) (graph.Compiled, error) {
	p, err := graphcases.Lower(h)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			k[fmt.Sprintf("%T", s)]++
		}
	}
	return nil, p.Check()
}

// The cases contain every kind of step that a device must implement. All their operations are
// tested ones: graph.New runs no pass on them, which this engine could not.
func TestEveryKindOfStep(t *testing.T) {
	k := kinds{}
	for _, c := range slices.Concat(graphcases.All(), graphcases.Ranked()) {
		if _, err := c.Problem(tensor.Float64, k); err != nil {
			t.Error(err)
		}
	}
	want := []string{"*plan.ActivationGrad", "*plan.BiasActivation", "*plan.Copy", "*plan.GroupMeans", "*plan.GroupMeansGrad", "*plan.Map", "*plan.MarginLoss", "*plan.MarginLossGrad",
		"*plan.PairMeans", "*plan.PairMeansGrad", "*plan.Product", "*plan.SignedLoss", "*plan.SignedLossGrad", "*plan.Sums"}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(k))); d != "" {
		t.Error(d)
	}
}
