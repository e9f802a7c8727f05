package qp

import "math"

// Momentum returns the momentum of FISTA (Beck and Teboulle 2009) for the value t of its sequence:
// next = (1 + sqrt(1 + 4 t^2))/2, the value after t, and b = (t - 1)/next, the factor of the last
// move in y = x + b (x - x_before). The sequence begins at t = 1. A restart (O'Donoghue and Candes
// 2015) sets t = 1.
func Momentum(t float64) (b, next float64) {
	next = (1 + math.Sqrt(1+4*t*t)) / 2
	return (t - 1) / next, next
}
