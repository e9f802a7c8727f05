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
			e := build(t, small(func(c *setup) { c.Dtype = dtype }))
			s, err := e.builder.blocksOf(e.data.splits[0].data, block, e.dtype, e.weights(t))
			if err != nil {
				t.Fatal(err)
			}
			x := e.iterate()
			for range 2 { // the second pass reuses the memory of the first
				got, err := s.scores(x)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.problem.Forward(make([]float64, len(e.builder.statement.bounds()))); err != nil {
					t.Fatal(err)
				}
				v, err := e.data.splits[0].problem.Watched(0)
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

// The blocks in float64 keep the scores of the last weights, and no others.
func TestBlocksKeepScores(t *testing.T) {
	e := build(t, small(nil))
	x := e.iterate()
	b, err := e.builder.exactBlocks(e.data.splits[0], x)
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.scores(x)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]float64(nil), first...)
	first[0]++ // the caller's own memory
	start := x[0]
	x[0] += 0.5
	moved, err := b.scores(x)
	if err != nil || cmp.Equal(want, moved) {
		t.Fatalf("other weights have the same scores: %v", err)
	}
	x[0] = start
	again, err := b.scores(x)
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	passes := 0
	b.score = func([]byte) error { passes++; return nil }
	again[0]++
	kept, err := b.appendScores([]float64{7}, x)
	if diff := cmp.Diff(append([]float64{7}, want...), kept); err != nil || diff != "" || passes != 0 {
		t.Errorf("%d passes for the same weights, %v: %s", passes, err, diff)
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
