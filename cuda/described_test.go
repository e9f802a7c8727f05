package cuda_test

import (
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// The GPU runs a user's op that has a description, and refuses an op without a description.
func TestUsersOp(t *testing.T) {
	for _, plain := range []bool{false, true} {
		d, _ := recorded(t, cuda.Options{}, 0)
		p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(5, 4), gorgonia.WithName("w"),
				gorgonia.WithValue(tensor.New(tensor.WithShape(5, 4), tensor.Of(tensor.Float64))))
			a, err := graphcases.NewSwish(w, plain)
			if err != nil {
				return graph.Definition{}, err
			}
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(a)), Parameters: gorgonia.Nodes{w}}, nil
		}, graph.On(d))
		if !plain {
			require.NoError(t, err)
			iterate(t, p, 3, p.Space().New())
		} else if err == nil || !strings.Contains(err.Error(), "swish") {
			t.Errorf("an op without a description: error %v", err)
		}
	}
}
