package rates

import (
	"math"

	"ppal/constraints"
	"ppal/internal/statistics"
)

// IntervalOf returns the interval of a constraint's value on new rows, at the given level. sets are
// the constraint's counted rates: see constraints.Counted.CountedSets. Several sets, for example a
// rate for each class or group, share the level (Bonferroni); the interval is then of the set
// closest to its violation. IntervalOf returns nil if no set has enough rows.
func IntervalOf(c constraints.Constraint, sets [][]constraints.CountedRate, level float64) *[2]float64 {
	var worst *[2]float64
	for _, set := range sets {
		i, ok := intervalOf(c.Measure(), set, 1-(1-level)/float64(len(sets)))
		switch {
		case !ok:
		case worst == nil:
			worst = &[2]float64{i.Low, i.High}
		case c.IsAtLeast():
			worst[0], worst[1] = min(worst[0], i.Low), min(worst[1], i.High)
		default:
			worst[0], worst[1] = max(worst[0], i.Low), max(worst[1], i.High)
		}
	}
	return worst
}

// IntervalOfRate returns the interval of a value that is a single share of rows; nil for other
// values and without rows.
func IntervalOfRate(v constraints.Value, level float64) *[2]float64 {
	if len(v.Rates) != 1 || v.Rates[0].Parts != nil || v.Rates[0].Rows == 0 {
		return nil
	}
	i := counted(v.Rates[0]).Interval(level)
	return &[2]float64{i.Low, i.High}
}

// intervalOf returns the interval of a measure of one set of rates. ok is false if too few rates
// have rows.
func intervalOf(m constraints.Measure, set []constraints.CountedRate, level float64) (i statistics.Interval, ok bool) {
	var counts []statistics.Rate
	for _, r := range set {
		if r.Rows > 0 {
			counts = append(counts, counted(r))
		}
	}
	switch {
	case len(counts) == 0, m.Compares() && len(counts) < 2, m.WithAll() && set[0].Rows == 0, m.IsMean():
		return i, false
	case m.IsGap():
		return statistics.Gap(counts, level), true
	case m.IsRatio():
		return statistics.Ratio(counts, level), true
	case m.IsDistance():
		return statistics.Distance(counts[0], counts[1:], level), true
	case m.WithAll():
		return statistics.Excess(counts[0], counts[1:], level), true
	}
	return counts[0].Interval(level), true
}

// share returns a share of rows; effective is 0 for rows without weights.
func share(hits, rows int, value, effective float64) statistics.Rate {
	if effective > 0 {
		return statistics.Weighted{Rate: value, Rows: effective}
	}
	return statistics.Count{Hits: hits, Rows: rows}
}

// counted returns the counts of a rate.
func counted(r constraints.CountedRate) statistics.Rate {
	if r.Parts == nil {
		return share(r.Hits, r.Rows, r.Value, r.Effective)
	}
	c := statistics.Combination{Constant: r.Constant}
	for _, p := range r.Parts {
		c.Coefficients = append(c.Coefficients, p.Coefficient)
		c.Counts = append(c.Counts, share(p.Hits, p.Rows, p.Value, p.Effective))
	}
	return c
}

// IntervalAround returns the interval of a share or of an absolute difference of shares on new
// rows, from its standard error: the normal interval within [0, 1]. nil for a standard error that
// is NaN.
func IntervalAround(v, standardError, level float64) *[2]float64 {
	if math.IsNaN(standardError) {
		return nil
	}
	half := statistics.Quantile((1+level)/2) * standardError
	return &[2]float64{max(0, v-half), min(1, v+half)}
}
