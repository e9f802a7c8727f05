package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph"
)

// The product of the square data X with tanh S, for the scores S = X W, reads tanh S as a whole.
// The product must not begin before all rows of tanh S are complete. f = mean((X tanh S)^2), and
// g has the column means of S.
func TestInputReadByRowsAndWhole(t *testing.T) {
	must := gorgonia.Must
	for _, n := range []int{5, 700} {
		c := graphcases.Case{Name: fmt.Sprintf("%d rows", n), Spec: models.Spec{Inputs: n, Outputs: 2}, Rows: n, Seed: 1,
			Nodes: func(s *gorgonia.Node, _ *rand.Rand) (f, g *gorgonia.Node, err error) {
				x := s.Graph().ByName("rows")[0]
				again := must(gorgonia.Mul(x, must(gorgonia.Tanh(s))))
				if f, err = gorgonia.Mean(must(gorgonia.Square(again))); err == nil {
					g, err = gorgonia.Mean(s, 0)
				}
				return f, g, err
			}}
		want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
		for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
			got := numbers(t, compile(t, c, dtype, engine(t, kernel.Best(), 2)))
			agree(t, fmt.Sprintf("%s, %v", c.Name, dtype), got, want, bound)
		}
	}
}
