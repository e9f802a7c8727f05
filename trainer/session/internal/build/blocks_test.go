package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/models"
)

// The blocks in float64 keep the scores of the last weights, and no others.
func TestBlocksKeepScores(t *testing.T) {
	builder, rows := squares(t, 20, 3)
	x, err := models.Stack(builder.Model, start(t, builder))
	if err != nil {
		t.Fatal(err)
	}
	b, err := builder.NewExactBlocks(rows.Data, x)
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.Scores(x)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]float64(nil), first...)
	first[0]++ // the caller's own memory
	start := x[0]
	x[0] += 0.5
	moved, err := b.Scores(x)
	if err != nil || cmp.Equal(want, moved) {
		t.Fatalf("other weights have the same scores: %v", err)
	}
	x[0] = start
	again, err := b.Scores(x)
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	passes := 0
	b.score = func([]byte) error { passes++; return nil }
	again[0]++
	kept, err := b.AppendScores([]float64{7}, x)
	if diff := cmp.Diff(append([]float64{7}, want...), kept); err != nil || diff != "" || passes != 0 {
		t.Errorf("%d passes for the same weights, %v: %s", passes, err, diff)
	}
}

// With bounded memory, the device keeps all held-out rows in one block, and the blocks in float64
// keep no scores.
func TestBlocksOfRowsInFiles(t *testing.T) {
	for _, memory := range []int64{0, 1 << 20} {
		b, rows := squares(t, 2000, 300)
		b.Devices.Memory = memory
		held, err := b.HeldOut(rows.Data, tensor.Float32, start(t, b))
		if err != nil {
			t.Fatal(err)
		}
		x, err := models.Stack(b.Model, start(t, b))
		if err != nil {
			t.Fatal(err)
		}
		exact, err := b.NewExactBlocks(rows.Data, x)
		if err != nil {
			t.Fatal(err)
		}
		if whole := held.rows == 2000 && held.picked == nil; whole != (memory > 0) || exact.keeps != (memory == 0) {
			t.Errorf("memory %d: a block of all rows %v, scores are kept %v", memory, whole, exact.keeps)
		}
	}
}
