package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
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

// TestDerivativesAreFused checks which products with 8-bit data compute their second factor, and
// that objective, constraints and gradient have the bits of separate steps.
func TestDerivativesAreFused(t *testing.T) {
	list := albums()
	for _, spec := range []models.Spec{
		{Inputs: 98, Hidden: []int{32}, Heads: models.Separate, Activation: models.ReLU},
		{Inputs: 98, Hidden: []int{1}, Heads: models.Separate},
	} {
		p := list[1]
		p.spec, p.spec.Outputs = spec, 4
		list = append(list, p)
	}
	for _, level := range []kernel.Level{kernel.AVX2, kernel.AVX512, kernel.AMX} {
		if !level.Supported() {
			continue
		}
		// The derivative remains separate without a hidden layer, before a second hidden layer, and for
		// heads whose columns are not whole panels.
		for i, want := range []int{0, 1, 1, 0, 0, 1, 0} {
			c := &captured{Device: sliced(t, level, 2, plan.Int8x3)}
			list[i].problem(t, tensor.Float32, graph.On(c))
			r := rand.New(rand.NewPCG(9, uint64(i)))
			for _, v := range c.plan.Parameters {
				weights := make([]float32, v.Len())
				for j := range weights {
					weights[j] = float32(r.NormFloat64()) / 10
				}
				require.NoError(t, c.single.Attach(v, weights))
			}
			one := outputs(t, c.plan, c.single)
			if got := cpu.SplitDerivatives(c.single); got != want {
				t.Errorf("%v, %+v: %d derivatives in products, want %d", level, list[i].spec, got, want)
			}
			if diff := cmp.Diff(outputs(t, c.plan, c.single), one); diff != "" {
				t.Errorf("%v, %+v: separate steps have other bits (-separate +fused):\n%s", level, list[i].spec, diff)
			}
		}
	}
}
