package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/config"
	"ppal/models"
)

// Scores of blocks of rows are those of all rows at once, the rows of the last block too.
func TestBlocksEqualTheWhole(t *testing.T) {
	for _, dtype := range []string{"float32", "float64"} {
		for _, block := range []int{1, 23, 120} {
			e := build(t, small(func(c *config.Train) { c.Dtype = dtype }))
			s, err := e.t.blocksOf(e.splits[0].data, block, e.dtype, e.weights(t))
			if err != nil {
				t.Fatal(err)
			}
			x := e.iterate()
			for range 2 { // the second time on the same memory
				got, err := s.scores(x)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.problem.Forward(make([]float64, len(e.Bounds()))); err != nil {
					t.Fatal(err)
				}
				v, err := e.splits[0].problem.Watched(0)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(Float64s(v), got); diff != "" {
					t.Errorf("%s, %d rows at a time: %s", dtype, block, diff)
				}
				for i := range x {
					x[i] *= 0.5
				}
				e.problem.Space().Write(0, x)
			}
		}
	}
}

// weights are the first ones.
func (e *Experiment) weights(t *testing.T) models.Weights {
	t.Helper()
	w, err := e.start()
	if err != nil {
		t.Fatal(err)
	}
	return w
}
