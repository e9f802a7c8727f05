package graph_test

import (
	"errors"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Store writes the iterate into the nodes, and the problem goes on from the iterate.
func TestStore(t *testing.T) {
	cpu := require.Value(graph.CPU(1))(t)
	for name, engine := range map[string]graph.Engine{"cpu": cpu, "tape": graph.Tape{}} {
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			var parameters gorgonia.Nodes
			p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
				def := definition(g, dtype)
				parameters = def.Parameters
				return def, nil
			}, engine))(t)
			x := make([]float64, p.Space().Len())
			for i := range x {
				x[i] = float64(i) / 8
			}
			p.Space().Write(problem.Iterate, x)
			require.NoError(t, p.Store(parameters))
			at := 0
			for _, n := range parameters {
				for k := range n.Shape().TotalSize() {
					got := math.NaN()
					switch data := n.Value().Data().(type) {
					case []float64:
						got = data[k]
					case []float32:
						got = float64(data[k])
					}
					if got != x[at] {
						t.Errorf("%s, %v: element %d of %s is %v, want %v", name, dtype, k, n.Name(), got, x[at])
					}
					at++
				}
			}
			now := make([]float64, len(x))
			if p.Space().Read(now, problem.Iterate); now[5] != x[5] {
				t.Errorf("%s, %v: Store changed the iterate", name, dtype)
			}
			if err := p.Store(parameters[:1]); !errors.Is(err, problem.ErrSettings) {
				t.Errorf("%s, %v: one of two parameters: %v", name, dtype, err)
			}
		}
	}
}
