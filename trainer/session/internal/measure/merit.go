package measure

import (
	"math"

	"ppal/trainer"
)

// Merit returns the function for the merit of values: the objective, and then the value of each
// constraint that bounds limit. A violation counts if it exceeds the tolerance.
func Merit(bounds []float64, tolerance float64) func(values []float64) trainer.Merit {
	return func(values []float64) trainer.Merit {
		g := make([]float64, len(bounds))
		for j, bound := range bounds {
			g[j] = values[1+j] - bound
		}
		return trainer.MeritOf(values[0], g, tolerance)
	}
}

// Merit returns the function for the merit of counted values on a split: the objective, and then
// the value of each inequality. rows counts the rows of each rate on the split. A violation counts
// if it exceeds the tolerance and the weight of a single row of the smallest cell.
func (b Bounds) Merit(bounds []float64, rows []int) func(values []float64) trainer.Merit {
	tolerances := b.tolerances(rows)
	return func(values []float64) trainer.Merit {
		g := make([]float64, len(bounds))
		for j, bound := range bounds {
			g[j] = values[1+j] - bound - tolerances[j]
		}
		return trainer.MeritOf(values[0], g, 0)
	}
}

// tolerances returns the excess of each inequality that does not count as a violation. The rates
// count the rows of a split. The excess is the weight of a single row of the smallest cell, and
// Tolerance is its minimum. An inequality with an empty cell never counts.
func (b Bounds) tolerances(rows []int) []float64 {
	list := make([]float64, len(b.System.Bounds))
	for j, bound := range b.System.Bounds {
		list[j] = b.Tolerance
		for k, n := range rows {
			switch c := math.Abs(bound.Coefficients[k]); {
			case c == 0:
			case n == 0:
				list[j] = math.Inf(1)
			default:
				list[j] = max(list[j], c/float64(n))
			}
		}
	}
	return list
}
