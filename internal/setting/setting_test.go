package setting

import (
	"math"
	"testing"
)

func TestOrDefault(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{{0, 7}, {math.Copysign(0, -1), 7}, {2, 2}, {-3, -3}, {math.Inf(1), math.Inf(1)}} {
		if got := OrDefault(c.x, 7); got != c.want {
			t.Errorf("OrDefault(%v, 7) = %v, want %v", c.x, got, c.want)
		}
	}
	if !math.IsNaN(OrDefault(math.NaN(), 7)) {
		t.Error("a value that is not a number means the default")
	}
}

func TestIsSize(t *testing.T) {
	for x, want := range map[float64]bool{
		0: true, 1e-300: true, 3: true, math.MaxFloat64: true,
		-1e-300: false, -1: false, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
	} {
		if IsSize(x) != want {
			t.Errorf("IsSize(%v) = %v", x, !want)
		}
	}
}
