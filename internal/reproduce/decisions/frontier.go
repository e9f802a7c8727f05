package decisions

import "math"

// signed returns the bounded values as linear functions of the accepted rows: each gap with its
// sign, or the false positive rate.
func signed(kind Kind, totals, accepted Counts, split int) []float64 {
	n, a := totals[split], accepted[split]
	switch kind {
	case demographicParity:
		rate := func(g int) float64 { return (a[g][0] + a[g][1]) / (n[g][0] + n[g][1]) }
		return []float64{rate(1) - rate(0)}
	case equalizedOdds:
		return []float64{a[1][1]/n[1][1] - a[0][1]/n[0][1], a[1][0]/n[1][0] - a[0][0]/n[0][0]}
	default:
		return []float64{(a[0][0] + a[1][0]) / (n[0][0] + n[1][0])}
	}
}

// equalGap returns a mixture of at most two classifiers of a contender. Among the mixtures whose
// training values are at most limit, the result has the least training error. A mixture uses the
// first classifier with probability 1 - t and the second classifier with probability t. A
// contender with a classifier on either side of a gap is thus compared at the gap. equalGap
// returns false if every mixture exceeds the limit.
func equalGap(kind Kind, totals Counts, points []Counts, limit float64) (Counts, bool) {
	var best Counts
	least, found := math.Inf(1), false
	for i, a := range points {
		for _, b := range points[i:] {
			from, to, ok := within(signed(kind, totals, a, 0), signed(kind, totals, b, 0), limit+rounding)
			if !ok {
				continue
			}
			for _, t := range []float64{from, to} {
				m := mix(a, b, t)
				if e := measure(kind, totals, m, 0).Error; e < least {
					best, least, found = m, e, true
				}
			}
		}
	}
	return best, found
}

// within returns the interval of t in [0, 1] on which |(1-t) a_j + t b_j| <= limit for every j.
func within(a, b []float64, limit float64) (from, to float64, ok bool) {
	from, to = 0, 1
	for j := range a {
		slope := b[j] - a[j]
		if slope == 0 {
			if math.Abs(a[j]) > limit {
				return 0, 0, false
			}
			continue
		}
		low, high := (-limit-a[j])/slope, (limit-a[j])/slope
		if low > high {
			low, high = high, low
		}
		from, to = max(from, low), min(to, high)
	}
	return from, to, from <= to
}

// mix returns (1-t) a + t b.
func mix(a, b Counts, t float64) Counts {
	var m Counts
	for s := range m {
		for g := range m[s] {
			for y := range m[s][g] {
				m[s][g][y] = (1-t)*a[s][g][y] + t*b[s][g][y]
			}
		}
	}
	return m
}
