package rates

import (
	"math"
	"slices"

	"ppal/internal/statistics"
	"ppal/trainer/session/results"
)

// Compare compares each rate of the table between the named groups. Groups without rows that the
// rate counts do not take part, and a rate of fewer than two groups is not compared.
func Compare(t *results.RateTable, of string, groups []string) (list []results.Comparison) {
	for _, rate := range t.Order() {
		c := results.Comparison{Groups: of, Rate: rate}
		var counts []statistics.Rate
		low, high := math.Inf(1), math.Inf(-1)
		for _, g := range t.ByGroup {
			r, ok := g.Rates[rate]
			if !ok || !slices.Contains(groups, g.Group) {
				continue
			}
			counts = append(counts, share(int(math.Round(r.Value*float64(r.Rows))), r.Rows, r.Value, r.Effective))
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
		i := statistics.Gap(counts, Level)
		c.Difference = results.Compared{Value: high - low, Interval: [2]float64{i.Low, i.High}}
		if high > 0 {
			i := statistics.Ratio(counts, Level)
			c.Ratio = &results.Compared{Value: low / high, Interval: [2]float64{i.Low, min(i.High, 1)}}
		}
		list = append(list, c)
	}
	return list
}
