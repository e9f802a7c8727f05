package trainer

import (
	"math"
	"testing"
)

// b_k is the ramp, and keeps the last move's momentum e_{k-1} b where the step leaps.
func TestMomentum(t *testing.T) {
	for _, test := range []struct {
		name       string
		set        PrimalSettings
		k          int
		last, step float64
		want       float64
	}{
		{"the first step", PrimalSettings{}, 0, math.NaN(), 3, 0.5},
		{"on the ramp", PrimalSettings{}, 20, 0.1, 0.1, 0.75},
		{"a step that shrinks", PrimalSettings{}, 20, 0.1, 1e-3, 0.75},
		{"a step that grows", PrimalSettings{}, 20, 0.25, 1, 0.75},
		{"a step that leaps", PrimalSettings{}, 20, 0.125, 1, 0.75 / 8},
		{"at the limit", PrimalSettings{Momentum: 0.5}, 1000, 1, 1, 0.5},
		{"a leap at the limit", PrimalSettings{Momentum: 0.5}, 1000, 1, 16, 0.5 / 16},
		{"without momentum", PrimalSettings{Kind: Gradient}, 20, 0.125, 1, 0},
	} {
		if got := test.set.momentum(test.k, test.last, test.step); got != test.want {
			t.Errorf("%s: b = %v, want %v", test.name, got, test.want)
		}
	}
}
