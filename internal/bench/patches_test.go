package bench

import (
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
)

// TestPatches checks the operations, that every worker computes, and the refusals.
func TestPatches(t *testing.T) {
	d, err := cpu.New(kernel.Best(), 2)
	if err != nil {
		t.Fatal(err)
	}
	layers := []Convolution{{3, 9, 784}, {5, 27, 196}}
	p, err := Patches[float32](d, 7, layers)
	if err != nil {
		t.Fatal(err)
	}
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
