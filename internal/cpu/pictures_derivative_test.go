package cpu_test

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The gradients of networks with strides, paddings, dilations, biases and max-pooling equal central
// differences of f, in float64. Relu and max-pooling have kinks; none lies within the differences
// of these cases.
func TestConvolutionDerivatives(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 2))(t)
	defer d.Close()
	for _, c := range graphcases.PictureCases() {
		if c.Name == "parts" {
			continue // slow: 33 filters 4 x 4 of 40 channels
		}
		p := pictureProblem(t, c, tensor.Float64, graph.On(d))
		n, m := p.Dims()
		x, g, got, gradient := make([]float64, n), make([]float64, m), make([]float64, n), p.Space().New()
		p.Space().Read(x, problem.Iterate)
		value := func() float64 {
			p.Space().Write(problem.Iterate, x)
			return require.Value(p.Forward(g))(t)
		}
		value()
		require.NoError(t, p.Backward(append([]float64{1}, make([]float64, m)...), gradient))
		p.Space().Read(got, gradient)
		const most = 60 // checked weights of a case
		for i := 0; i < n; i += 1 + n/most {
			const h = 1e-6
			keep := x[i]
			x[i] = keep + h
			up := value()
			x[i] = keep - h
			want := (up - value()) / (2 * h)
			x[i] = keep
			if math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s, weight %d: derivative %.10g, by differences %.10g", c.Name, i, got[i], want)
			}
		}
	}
}
