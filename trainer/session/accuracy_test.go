package session

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// passes returns g and f, the scores, and the gradient at x for typical coefficients.
func (e *assembly) passes(t *testing.T, x []float64) [3][]float64 {
	t.Helper()
	p := e.splits[0].problem
	p.Space().Write(problem.Iterate, x)
	g := make([]float64, len(e.builder.statement.bounds()))
	f := require.Value(p.Forward(g))(t)
	v := require.Value(p.Watched(0))(t)
	d := p.Space().New()
	require.NoError(t, p.Backward([]float64{1, 0.3, 0.4, 0.5}, d))
	gradient := make([]float64, len(x))
	p.Space().Read(gradient, d)
	return [3][]float64{append(g, f), append([]float64{}, graph.Float64s(v)...), gradient}
}

func relative(a, b []float64) float64 {
	num, den := 0.0, 0.0
	for i := range b {
		num += (a[i] - b[i]) * (a[i] - b[i])
		den += b[i] * b[i]
	}
	return math.Sqrt(num / den)
}

// In the scores and in the gradient, products of three digits are as accurate as float32 products,
// both compared with float64. The widths are 1 to 512; the weights are early and late in training.
// The errors of products of two digits are within the bounds of docs/reference/products.md.
func TestDigitsAreAccurate(t *testing.T) {
	needDigits(t)
	rows := clothes(t, 60)
	logs, cases := 0.0, 0 // logarithms of the ratios of the errors, and their number
	for _, width := range []int{1, 7, 512} {
		onClothes := func(dtype tensor.Dtype, products Products) *assembly {
			return assembled(t, clothing(rows, func(c *setup) {
				c.Hidden, c.Dtype, c.Products, c.method = []int{width}, dtype, products, &method.PPALA{Primal: momentum}
			}))
		}
		trained := onClothes(tensor.Float32, "")
		for _, iterations := range []int{0, 50, 100} {
			if iterations > 0 {
				require.Value(trained.Optimize(t.Context(), trainer.Settings{Iterations: iterations, RecordEvery: iterations}))(t)
			}
			x := trained.iterate()
			want := onClothes(tensor.Float64, "").passes(t, x)
			float := onClothes(tensor.Float32, Float32).passes(t, x)
			three := onClothes(tensor.Float32, Int8x3).passes(t, x)
			two := onClothes(tensor.Float32, Int8x2).passes(t, x)
			for i, what := range []string{"scores", "gradient"} {
				errors := [3]float64{}
				for k, got := range [][3][]float64{float, three, two} {
					errors[k] = relative(got[1+i], want[1+i])
				}
				logs, cases = logs+math.Log(errors[1]/errors[0]), cases+1
				if errors[1] > 2*errors[0] || errors[2] > 1e-3 {
					t.Errorf("width %d, %d iterations more: %s of three digits %.2g, of two %.2g, in float32 %.2g",
						width, iterations, what, errors[1], errors[2], errors[0])
				}
			}
		}
	}
	if mean := math.Exp(logs / float64(cases)); mean > 1 {
		t.Errorf("errors of three digits are %.2g times those in float32, in the mean", mean)
	} else {
		t.Logf("errors of three digits are %.2g times those in float32, in the mean", mean)
	}
}
