package cpu_test

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph"
)

// TestActivationsAreFused checks that the product with the data applies the activation of the first
// hidden layer. The activations of other layers and the bias of the scores stay separate steps.
func TestActivationsAreFused(t *testing.T) {
	for i, want := range [][2]int{{0, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 1}} {
		p := albums()[i]
		c := &captured{Device: sliced(t, kernel.Best(), 1, plan.Int8x3)}
		p.problem(t, tensor.Float32, graph.On(c))
		if fused, separate := cpu.Activations(c.single); fused != want[0] || separate != want[1] {
			t.Errorf("%+v: %d activations in products and %d others, want %v", p.spec, fused, separate, want)
		}
	}
}
