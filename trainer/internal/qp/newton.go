package qp

import (
	"math"

	"ppal/internal/vec"
)

// Objective is a convex function of a few numbers y over a closed set, with a quadratic model.
type Objective interface {
	// Value returns the value at y, and the size of the terms that cancel in the value (0 if none
	// cancel).
	Value(y []float64) (value, terms float64)
	// Model returns the minimiser over the set of the quadratic model at y, the point of the last
	// Value, and the slope at y. The slices belong to the objective.
	Model(y []float64) (target, slope []float64)
}

// Newton minimises an Objective by Newton steps with Armijo's condition. For a piecewise smooth
// objective the steps are semismooth Newton steps (Qi and Sun 1993).
type Newton struct {
	Iterations int // largest number of steps
	// Still ends the steps when no coordinate moves by more than Still (1 + ||y||_1). A negative
	// Still never ends the steps.
	Still float64
	// Rounding is the rounding error of a comparison of values, relative to the size of the terms.
	Rounding float64
	// Least ends the steps after one that lowers the value by at most this share of it.
	Least float64
}

const (
	newtonHalvings = 40   // largest number of trial points in a step
	newtonDecrease = 1e-4 // share of the predicted decrease in Armijo's condition
)

// Minimise moves y from its start to the minimiser. It ends at a step that does not lower the
// value, because further steps only move y within rounding errors. The last call of f.Value may be
// for another point than the final y.
func (n Newton) Minimise(y []float64, f Objective) {
	value, terms := f.Value(y)
	trial := make([]float64, len(y))
	for range n.Iterations {
		target, slope := f.Model(y)
		descent, moved := 0.0, 0.0
		for i, v := range target {
			descent += slope[i] * (v - y[i])
			moved = math.Max(moved, math.Abs(v-y[i]))
		}
		if !(-descent > n.Rounding*terms) || moved <= n.Still*(1+vec.Norm1(y)) {
			return
		}
		t, lower := 1.0, false
		var next, sizes float64
		for range newtonHalvings {
			for i, v := range target {
				trial[i] = y[i] + t*(v-y[i])
			}
			next, sizes = f.Value(trial)
			if lower = next <= value+newtonDecrease*t*descent+n.Rounding*sizes; lower {
				break
			}
			t /= 2
		}
		if !lower {
			return
		}
		copy(y, trial)
		if !(value-next > n.Least*value) {
			return
		}
		value, terms = next, sizes
	}
}
