package rates

import (
	"math"
	"slices"

	"ppal/constraints"
	"ppal/trainer/session/results"
)

// Compare compares each rate of the table between the named groups. Groups without rows that the
// rate counts do not take part, and a rate of fewer than two groups is not compared.
func Compare(t *results.RateTable, attribute string, groups []string) (list []results.Comparison) {
	for _, rate := range t.Order() {
		c := results.Comparison{Groups: attribute, Rate: rate}
		var counts []constraints.CountedRate
		low, high := math.Inf(1), math.Inf(-1)
		for _, g := range t.ByGroup {
			r, ok := g.Rates[rate]
			if !ok || !slices.Contains(groups, g.Group) {
				continue
			}
			counts = append(counts, constraints.CountedRate{Hits: int(math.Round(r.Value * float64(r.Rows))), Rows: r.Rows, Value: r.Value, Effective: r.Effective})
			if r.Value < low {
				low, c.Smallest = r.Value, g.Group
			}
			if r.Value > high {
				high, c.Largest = r.Value, g.Group
			}
		}
		if len(counts) < 2 {
			continue
		}
		interval := func(c constraints.Constraint) [2]float64 {
			return *IntervalOf(c, [][]constraints.CountedRate{counts}, Level)
		}
		c.Difference = results.Compared{Value: high - low, Interval: interval(constraints.Gap(constraints.Error, attribute).AtMost(1))}
		if high > 0 {
			c.Ratio = &results.Compared{Value: low / high, Interval: interval(constraints.Ratio(constraints.Error, attribute).AtLeast(0))}
		}
		list = append(list, c)
	}
	return list
}
