package option

import (
	"fmt"
	"math"
)

// Interval is a range of finite numbers. The zero value contains all finite numbers.
type Interval struct {
	words    string // the words after "must be", such as "positive"; "" for all numbers
	contains func(x float64) bool
}

// Positive contains the numbers above 0.
var Positive = Interval{"positive", func(x float64) bool { return x > 0 }}

// AtLeast contains low and the numbers above it.
func AtLeast(low float64) Interval {
	return Interval{fmt.Sprintf("at least %g", low), func(x float64) bool { return x >= low }}
}

// Between contains the numbers above low and below high.
func Between(low, high float64) Interval {
	return Interval{fmt.Sprintf("above %g and below %g", low, high), func(x float64) bool { return low < x && x < high }}
}

// Within contains low and the numbers above it, below high.
func Within(low, high float64) Interval {
	return Interval{fmt.Sprintf("at least %g and below %g", low, high), func(x float64) bool { return low <= x && x < high }}
}

// Inside contains low, high and the numbers between. high may be infinite.
func Inside(low, high float64) Interval {
	if math.IsInf(high, 1) {
		return AtLeast(low)
	}
	return Interval{fmt.Sprintf("at least %g and at most %g", low, high), func(x float64) bool { return low <= x && x <= high }}
}

// UpTo contains the numbers above low and at most high.
func UpTo(low, high float64) Interval {
	return Interval{fmt.Sprintf("above %g and at most %g", low, high), func(x float64) bool { return low < x && x <= high }}
}

// IsSize reports whether x is positive and finite, or 0, which means the default.
func IsSize(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
