package step

import (
	"math"
	"testing"
)

// The momentum b_k follows the ramp. If the step leaps, b_k e_k stays e_{k-1} b.
func TestMomentum(t *testing.T) {
	for _, test := range []struct {
		name       string
		set        Settings
		k          int
		last, step float64
		want       float64
	}{
		{"the first step", Settings{}, 0, math.NaN(), 3, 0.5},
		{"on the ramp", Settings{}, 20, 0.1, 0.1, 0.75},
		{"a step that shrinks", Settings{}, 20, 0.1, 1e-3, 0.75},
		{"a step that grows", Settings{}, 20, 0.25, 1, 0.75},
		{"a step that leaps", Settings{}, 20, 0.125, 1, 0.75 / 8},
		{"at the limit", Settings{Momentum: 0.5}, 1000, 1, 1, 0.5},
		{"a leap at the limit", Settings{Momentum: 0.5}, 1000, 1, 16, 0.5 / 16},
		{"without momentum", Settings{Kind: Gradient}, 20, 0.125, 1, 0},
	} {
		if got := test.set.momentum(test.k, test.last, test.step); got != test.want {
			t.Errorf("%s: b = %v, want %v", test.name, got, test.want)
		}
	}
}
