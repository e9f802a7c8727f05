package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
)

// The scores of blocks of rows equal the scores of all rows at once, also in the last block.
func TestBlocksEqualTheWhole(t *testing.T) {
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, block := range []int{1, 23, 120} {
			e := assembled(t, small(func(c *setup) { c.Dtype = dtype }))
			s, err := e.builder.BlocksOf(e.splits[0].Data, block, e.dtype, e.weights(t))
			if err != nil {
				t.Fatal(err)
			}
			x := e.iterate()
			for range 2 { // the second pass reuses the memory of the first
				got, err := s.Scores(x)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.problem.Forward(make([]float64, len(e.builder.statement.bounds()))); err != nil {
					t.Fatal(err)
				}
				v, err := e.splits[0].problem.Watched(0)
				if err != nil {
					t.Fatal(err)
				}
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
	w, err := e.start()
	if err != nil {
		t.Fatal(err)
	}
	return w
}
