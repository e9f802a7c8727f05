package qp

import (
	"math"
	"slices"

	"ppal/trainer/internal/vec"
)

// Momentum returns the momentum of FISTA (Beck and Teboulle 2009) for the value t of its sequence:
// next = (1 + sqrt(1 + 4 t^2))/2, the value after t, and b = (t - 1)/next, the factor of the last
// move in y = x + b (x - x_before). The sequence begins at t = 1. A restart (O'Donoghue and Candes
// 2015) sets t = 1.
func Momentum(t float64) (b, next float64) {
	next = (1 + math.Sqrt(1+4*t*t)) / 2
	return (t - 1) / next, next
}

// Smooth is a convex function with a Lipschitz continuous slope.
type Smooth interface {
	// Value returns the value at y.
	Value(y []float64) (float64, error)
	// Evaluate returns the value at y and writes the slope at y.
	Evaluate(y, slope []float64) (float64, error)
	// Lipschitz returns a first estimate of the slope's Lipschitz constant, after the first
	// Evaluate.
	Lipschitz(slope []float64) float64
}

const (
	acceleratedIterations = 300   // largest number of steps
	acceleratedTolerance  = 1e-10 // largest change of y at the solution, relative to 1 + ||y||_1
	acceleratedRounding   = 1e-12 // rounding error of the value in the test of the backtracking
	acceleratedSteepest   = 1e30  // largest Lipschitz constant: with a larger constant y does not move
)

// Accelerated minimises f over y >= 0, starting from y, by accelerated projected gradients (FISTA)
// with backtracking. It restarts the momentum if a move has a positive product with the slope.
func Accelerated(y []float64, f Smooth) error {
	slope, trial, at := make([]float64, len(y)), make([]float64, len(y)), slices.Clone(y)
	value, err := f.Evaluate(at, slope)
	if err != nil {
		return err
	}
	lipschitz, t := f.Lipschitz(slope), 1.0
	for range acceleratedIterations {
		if lipschitz, err = backtrack(f, trial, at, slope, value, lipschitz); err != nil {
			return err
		}
		moved, ascent := 0.0, 0.0
		for i := range trial {
			d := trial[i] - y[i]
			moved = math.Max(moved, math.Abs(d))
			ascent += slope[i] * d
		}
		b, next := Momentum(t)
		if ascent > 0 {
			b, next = 0, 1
		}
		for i := range trial {
			at[i] = trial[i] + b*(trial[i]-y[i])
		}
		copy(y, trial)
		t = next
		if moved <= acceleratedTolerance*(1+vec.Norm1(y)) {
			return nil
		}
		if value, err = f.Evaluate(at, slope); err != nil {
			return err
		}
	}
	return nil
}

// backtrack writes the projected step from y to trial, and returns the Lipschitz constant of the
// step. It doubles the constant until the quadratic bound at y holds at trial.
func backtrack(f Smooth, trial, y, slope []float64, value, lipschitz float64) (float64, error) {
	for ; ; lipschitz *= 2 {
		for i := range trial {
			trial[i] = max(0, y[i]-slope[i]/lipschitz)
		}
		bound := value
		for i := range trial {
			d := trial[i] - y[i]
			bound += slope[i]*d + lipschitz/2*d*d
		}
		next, err := f.Value(trial)
		if err != nil {
			return 0, err
		}
		if next <= bound+acceleratedRounding*value || !(lipschitz < acceleratedSteepest) {
			return lipschitz, nil
		}
	}
}
