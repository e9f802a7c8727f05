// Package vec has the few loops over slices of numbers that several packages share, a sort by
// radix, sums over pairs, the effective number of weighted rows, and a stream of random integers.
// Sums add the elements in order and accumulate in float64.
package vec

import "math"

// Norm returns the Euclidean norm of x.
func Norm[T float32 | float64](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// Norm1 returns sum_i |x_i|.
func Norm1(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(v)
	}
	return sum
}

// Dot returns sum_i x_i y_i.
func Dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// Scale sets x = a x.
func Scale[T float32 | float64](x []T, a float64) {
	t := T(a)
	for i := range x {
		x[i] *= t
	}
}

// Finite reports whether x is neither infinite nor NaN.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// FirstNonFinite returns the index of the first element that is not finite, or -1 if all elements
// are finite.
func FirstNonFinite(x []float64) int {
	for i, v := range x {
		if !Finite(v) {
			return i
		}
	}
	return -1
}

// Between returns a + t (b - a).
func Between(a, b []float64, t float64) []float64 {
	out := make([]float64, len(a))
	for i, x := range a {
		out[i] = x + t*(b[i]-x)
	}
	return out
}

// EffectiveRows returns Kish's effective number of rows, (sum of w)^2 / (sum of w^2). A weighted
// mean of independent values has the variance of a plain mean of this number of values. Source:
// Kish, "Survey Sampling", 1965.
func EffectiveRows(rows int, weight, squares float64) float64 {
	if rows == 0 {
		return 0
	}
	return min(weight*weight/squares, float64(rows))
}

// Indicator returns 1 for true and 0 for false.
func Indicator(is bool) int {
	if is {
		return 1
	}
	return 0
}
