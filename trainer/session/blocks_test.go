package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// The scores of blocks of rows equal the scores of all rows at once, also in the last block.
func TestBlocksEqualTheWhole(t *testing.T) {
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, block := range []int{1, 23, 120} {
			e := assembled(t, small(func(c *setup) { c.Dtype = dtype }))
			s := require.Value(e.builder.BlocksOf(e.splits[0].Data, block, e.dtype, e.weights(t)))(t)
			x := e.iterate()
			for range 2 { // the second pass reuses the memory of the first
				got := require.Value(s.Scores(x))(t)
				require.Value(e.problem.Forward(make([]float64, len(e.builder.statement.bounds()))))(t)
				v := require.Value(e.splits[0].problem.Watched(0))(t)
				if diff := cmp.Diff(graph.Float64s(v), got); diff != "" {
					t.Errorf("%v, %d rows at a time: %s", dtype, block, diff)
				}
				for i := range x {
					x[i] *= 0.5
				}
				e.problem.Space().Write(0, x)
			}
		}
	}
}

// weights returns the initial weights.
func (e *assembly) weights(t *testing.T) models.Weights {
	t.Helper()
	return require.Value(e.start())(t)
}
