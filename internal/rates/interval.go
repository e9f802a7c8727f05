package rates

import (
	"math"

	"ppal/constraints"
)

// IntervalOf returns the interval of a constraint's value on new rows, at the given level. sets are
// the constraint's counted rates: see constraints.Counted.CountedSets. With several sets, for
// example a rate for each class or group, the interval is of the set closest to its violation.
// IntervalOf returns nil if no set has enough rows.
func IntervalOf(c constraints.Constraint, sets [][]constraints.CountedRate, level float64) *[2]float64 {
	m := c.Measure()
	at := func(tail float64) (list []Interval) {
		for _, set := range sets {
			list = append(list, compared(m, set, tail)...)
		}
		return list
	}
	if m.IsMean() || len(at((1-level)/2)) == 0 {
		return nil
	}
	i := extreme(!c.IsAtLeast(), level, at)
	switch {
	case m.IsRatio():
		i.High = min(1, i.High)
	case m.IsGap() || m.IsDistance():
		i.Low, i.High = max(0, i.Low), max(0, i.High)
	}
	return &[2]float64{i.Low, i.High}
}

// IntervalOfRate returns the interval of a value that is a single share of rows; nil for other
// values and without rows.
func IntervalOfRate(v constraints.Value, level float64) *[2]float64 {
	if len(v.Rates) != 1 || v.Rates[0].Parts != nil || v.Rates[0].Rows == 0 {
		return nil
	}
	i := estimate(v.Rates[0], (1-level)/2).Interval()
	return &[2]float64{i.Low, i.High}
}

// compared returns the intervals of the numbers whose largest or smallest is the measure of a set
// of rates: the differences of a gap, the quotients of a ratio, or the rates. The ends fail with a
// probability of at most tail each. Rates without rows do not count.
func compared(m constraints.Measure, set []constraints.CountedRate, tail float64) (list []Interval) {
	var known []Estimate
	for _, r := range set {
		if r.Rows > 0 {
			known = append(known, estimate(r, tail))
		}
	}
	switch {
	case len(known) < 2 && m.Compares() || m.WithAll() && set[0].Rows == 0:
		return nil
	case m.WithAll():
		for _, r := range set[1:] {
			if r.Rows == 0 {
				continue
			}
			e := excess(r, set[0], tail)
			if list = append(list, e.Interval()); m.IsDistance() {
				list = append(list, e.Times(-1).Interval())
			}
		}
		return list
	case !m.Compares():
		for _, e := range known {
			list = append(list, e.Interval())
		}
		return list
	}
	for i, a := range known {
		for k, b := range known {
			switch {
			case i == k:
			case m.IsGap():
				list = append(list, a.Plus(b.Times(-1)).Interval())
			default:
				list = append(list, Interval{Low: quotient(a, b), High: 1 / quotient(b, a)})
			}
		}
	}
	return list
}

// share returns a share of rows; effective is 0 for rows without weights.
func share(hits, rows int, value, effective float64) Rate {
	if effective > 0 {
		return Weighted{Rate: value, Rows: effective}
	}
	return Count{Hits: hits, Rows: rows}
}

// estimate returns a rate with its limits.
func estimate(r constraints.CountedRate, tail float64) Estimate {
	if r.Parts == nil {
		return share(r.Hits, r.Rows, r.Value, r.Effective).Estimate(tail)
	}
	e := Estimate{Value: r.Constant}
	for _, p := range r.Parts {
		e = e.Plus(share(p.Hits, p.Rows, p.Value, p.Effective).Estimate(tail).Times(p.Coefficient))
	}
	return e
}

// excess returns the rate of a group minus the rate of all rows. With weights it is the difference
// of rates from different rows, whose limits are wider.
func excess(group, all constraints.CountedRate, tail float64) (e Estimate) {
	own := func(c Count) Estimate { return c.Estimate(tail) }
	switch {
	case group.Effective > 0 || len(group.Parts) > 0 && group.Parts[0].Effective > 0:
		return estimate(group, tail).Plus(estimate(all, tail).Times(-1))
	case group.Parts == nil:
		return excessOf(Count{Hits: group.Hits, Rows: group.Rows}, Count{Hits: all.Hits, Rows: all.Rows}, own)
	}
	for k, p := range group.Parts {
		part, whole := Count{Hits: p.Hits, Rows: p.Rows}, Count{Hits: all.Parts[k].Hits, Rows: all.Parts[k].Rows}
		e = e.Plus(excessOf(part, whole, own).Times(p.Coefficient))
	}
	return e
}

// IntervalAround returns the interval of a share or of an absolute difference of shares on new
// rows, from its standard error: the normal interval within [0, 1]. nil for a standard error that
// is NaN.
func IntervalAround(v, standardError, level float64) *[2]float64 {
	if math.IsNaN(standardError) {
		return nil
	}
	half := Quantile((1+level)/2) * standardError
	return &[2]float64{max(0, v-half), min(1, v+half)}
}
