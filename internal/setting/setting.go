// Package setting checks numbers that a user sets. The number 0 means the default.
package setting

import "math"

// OrDefault returns x, or fallback if x is 0.
func OrDefault(x, fallback float64) float64 {
	if x == 0 {
		return fallback
	}
	return x
}

// IsSize reports whether x is positive and finite, or 0.
func IsSize(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
