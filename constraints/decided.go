package constraints

import (
	"math"
	"slices"
)

// IsLoss reports whether the objective is a loss, which decisions do not determine.
func (s *System) IsLoss() bool {
	return slices.ContainsFunc(s.objective.parts, func(p part) bool { return s.Rates[p.cell].loss })
}

// DependsOnLoss reports whether constraint j bounds a loss or the l1 norm, which decisions do not
// determine.
func (s *System) DependsOnLoss(j int) bool {
	m := s.measured[j]
	return m.l1 || slices.ContainsFunc(m.sets, func(set []linear) bool {
		return slices.ContainsFunc(set, func(l linear) bool {
			return slices.ContainsFunc(l.parts, func(p part) bool { return s.Rates[p.cell].loss })
		})
	})
}

// CountedSets returns the counted rates of constraint j in sets. A set holds a single rate, or the
// rates of the groups that a measure compares, after the rate of all rows if Measure.WithAll is
// true. It is nil if decisions do not determine the constraint.
func (c *Counted) CountedSets(j int) (sets [][]CountedRate) {
	if c.system.DependsOnLoss(j) {
		return nil
	}
	for _, set := range c.system.measured[j].sets {
		var list []CountedRate
		for _, l := range set {
			list = append(list, c.one(l).Rates...)
		}
		sets = append(sets, list)
	}
	return sets
}

// SmoothValue returns the value of constraint j at the terms h: a rate, the largest gap, excess or
// distance, the smallest ratio, or the norm.
func (s *System) SmoothValue(j int, h []float64) float64 {
	m, con := s.measured[j], s.Subject[j]
	if m.l1 {
		return h[len(s.Rates)]
	}
	worst := math.NaN()
	for _, set := range m.sets {
		low, high, all := math.Inf(1), math.Inf(-1), 0.0
		for k, l := range set {
			v := l.value(h)
			if con.measure.WithAll() && k == 0 {
				all = v
				continue
			}
			low, high = min(low, v), max(high, v)
		}
		v := low // for a single rate, low equals high
		switch con.measure.form {
		case formGap:
			v = high - low
		case formRatio:
			v = low / high
		case formExcess, formDistance:
			v = max(con.measure.form.difference(low, all), con.measure.form.difference(high, all))
		}
		if math.IsNaN(worst) || con.atLeast && v < worst || !con.atLeast && v > worst {
			worst = v
		}
	}
	return worst
}
