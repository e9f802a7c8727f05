package setting

import (
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// OrDefault returns x, or fallback if x is 0.
func OrDefault(x, fallback float64) float64 {
	if x == 0 {
		return fallback
	}
	return x
}

// IsSize reports whether x is positive and finite, or 0.
func IsSize(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// Number is a setting with its name.
type Number struct {
	name string
	x    float64
}

// Of names a setting for Check.
func Of(name string, x float64) Number { return Number{name, x} }

// Check returns an error for the first setting that is neither a positive finite number nor 0.
func Check(numbers ...Number) error {
	for _, n := range numbers {
		if !IsSize(n.x) {
			return fmt.Errorf("trainer: %w: %s is %v, want a positive number", problem.ErrSettings, n.name, n.x)
		}
	}
	return nil
}
