package bench

import (
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
)

// TestPatches checks the operations, that every worker computes, and the refusals.
func TestPatches(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 2))(t)
	layers := []Convolution{{3, 9, 784}, {5, 27, 196}}
	p := require.Value(Patches[float32](d, 7, layers))(t)
	if want := 2.0 * 7 * (2*3*9*784 + 3*5*27*196); p.Run() <= 0 || p.FLOPs() != want {
		t.Errorf("%v operations, want %v", p.FLOPs(), want)
	}
	for _, wrong := range []Convolution{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := Patches[float64](d, 1, []Convolution{wrong}); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	if _, err := Patches[float64](d, 0, layers); err == nil {
		t.Error("no pictures are accepted")
	}
}
