package ending

import (
	"cmp"
	"math"
	"slices"

	"ppal/trainer/session/results"
)

// MostShown is the largest number of constraints that tables, pages and pictures show.
const MostShown = 12

// closest returns the indices of the constraints to show, in order: all, or the MostShown closest
// to their bounds.
func closest(o *results.Outcome) []int {
	return Largest(len(o.Constraints), func(j int) float64 {
		c := &o.Constraints[j]
		if v := cmp.Or(c.Surrogate, c.Train); v != nil {
			return c.Over(*v)
		}
		return math.Inf(-1)
	})
}

// Largest returns the indices of n values, in order: all, or the MostShown of the largest values.
func Largest(n int, value func(j int) float64) []int {
	all := make([]int, n)
	for j := range all {
		all[j] = j
	}
	if n <= MostShown {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
	all = all[:MostShown]
	slices.Sort(all)
	return all
}
