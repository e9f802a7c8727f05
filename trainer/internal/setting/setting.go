package setting

import (
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// OrDefault is the setting x, of which 0 stands for the default.
func OrDefault(x, fallback float64) float64 {
	if x == 0 {
		return fallback
	}
	return x
}

// IsSize says whether x is positive and finite, or 0.
func IsSize(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// Number is a setting by its name.
type Number struct {
	name string
	x    float64
}

// Of names a setting for checkSizes.
func Of(name string, x float64) Number { return Number{name, x} }

// Check refuses the first of a method's settings that is no size.
func Check(numbers ...Number) error {
	for _, n := range numbers {
		if !IsSize(n.x) {
			return fmt.Errorf("trainer: %w: %s is %v, want a positive number", problem.ErrSettings, n.name, n.x)
		}
	}
	return nil
}
