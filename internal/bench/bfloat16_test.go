package bench

import (
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// TestBFloat16 checks that the products have digits of bfloat16, and the refusals.
func TestBFloat16(t *testing.T) {
	plain := require.Value(cpu.New(kernel.Best(), 1))(t)
	d := require.Value(plain.WithBFloat16InGo().With(plan.BF16x3))(t)
	const rows, cols, width = kernel.RowBlock + 3, 40, 5
	p := require.Value(bfloat16(d, rows, cols, width))(t)
	if p.Run() <= 0 || p.FLOPs() != 4*rows*cols*width {
		t.Errorf("%v operations", p.FLOPs())
	}
	for _, size := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := bfloat16(d, size[0], size[1], size[2]); err == nil {
			t.Errorf("%v is accepted", size)
		}
	}
	if _, err := bfloat16(plain, 1, 1, 1); err == nil {
		t.Error("a device without bfloat16 is accepted")
	}
}
