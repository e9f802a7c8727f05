package report

import (
	"cmp"
	"math"
	"slices"

	"ppal/trainer/session/results"
)

// mostShown is the largest number of constraints that tables, pages and pictures show.
const mostShown = 12

// closest returns the indices of the constraints to show, in order: all, or the mostShown closest
// to their bounds.
func closest(o *results.Outcome) []int {
	return largest(len(o.Constraints), func(j int) float64 {
		c := &o.Constraints[j]
		if v := cmp.Or(c.Surrogate, c.Train); v != nil {
			return c.Over(*v)
		}
		return math.Inf(-1)
	})
}

// largest returns the indices of n values, in order: all, or the mostShown of the largest values.
func largest(n int, value func(j int) float64) []int {
	all := make([]int, n)
	for j := range all {
		all[j] = j
	}
	if n <= mostShown {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
	all = all[:mostShown]
	slices.Sort(all)
	return all
}
