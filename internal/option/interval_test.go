package option

import (
	"math"
	"testing"
)

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
