package constraints

import (
	"math"
	"slices"
)

// SmoothValue returns the value of constraint j at the terms h: a rate, the largest gap, excess or
// distance, the mean excess, the smallest ratio, or the norm.
func (s *System) SmoothValue(j int, h []float64) float64 {
	m, con := s.measured[j], s.Subject[j]
	if m.l1 {
		return h[len(s.Rates)]
	}
	worst := math.NaN()
	for _, set := range m.sets {
		low, high, all, sum := math.Inf(1), math.Inf(-1), 0.0, 0.0
		for k, l := range set {
			v := l.value(h)
			if con.measure.WithAll() && k == 0 {
				all = v
				continue
			}
			low, high, sum = min(low, v), max(high, v), sum+v
		}
		v := low // for a single rate, low equals high
		switch con.measure.form {
		case formGap:
			v = high - low
		case formRatio:
			v = low / high
		case formMeanExcess:
			v = sum/float64(len(set)-1) - all
		case formExcess, formDistance:
			v = max(con.measure.form.difference(low, all), con.measure.form.difference(high, all))
		}
		if math.IsNaN(worst) || con.atLeast && v < worst || !con.atLeast && v > worst {
			worst = v
		}
	}
	return worst
}

// Values returns the values of the constraints of the smooth problem at the terms h, in the order
// of Stated: the values that their bounds limit. rows are the rows of each of Rates. An inequality
// with a rate of no rows counts as met: its value is 0, or its bound if that is smaller. A group
// without rows does not count in a mean of groups.
func (s *System) Values(h []float64, rows []int) (values []float64) {
	stated := s.Stated()
	for k, b := range s.Bounds {
		m, v := s.Subject[b.Constraint].measure, b.Constant
		for i, c := range b.Coefficients {
			v += c * h[i]
		}
		switch set := s.measured[b.Constraint].sets; {
		case m.IsMean():
			v = meanExcess(set[0], h, rows)
		case !s.counts(k, rows):
			v = min(0, b.Bound)
		}
		at := s.placeOf(k)
		if v += stated[at].Bound - b.Bound; at < len(values) {
			values[at] = max(values[at], v)
		} else {
			values = append(values, v)
		}
	}
	return values
}

// counts reports whether all rates of inequality k have rows, given the rows of each of Rates.
func (s *System) counts(k int, rows []int) bool {
	for i, c := range s.Bounds[k].Coefficients {
		if c != 0 && i < len(rows) && rows[i] == 0 {
			return false
		}
	}
	return true
}

// meanExcess returns the mean of the rates of the groups that have rows minus the rate of all rows.
// The first rate of the set counts all rows.
func meanExcess(set []linear, h []float64, rows []int) float64 {
	sum, n := 0.0, 0
	for _, l := range set[1:] {
		if l.rows(rows) > 0 {
			sum, n = sum+l.value(h), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum/float64(n) - set[0].value(h)
}

// Excess returns the largest amount by which the terms h of the training rows exceed an inequality
// of constraint j.
func (s *System) Excess(j int, h []float64) float64 {
	worst := math.Inf(-1)
	for _, b := range s.Bounds {
		if b.Constraint != j {
			continue
		}
		v := b.Constant - b.Bound
		for i, c := range b.Coefficients {
			v += c * h[i]
		}
		worst = max(worst, v)
	}
	return worst
}

// Excesses returns the rate of each group minus the rate of all rows at the terms h, of all
// constraints that compare groups with all rows. rows are the rows of each of Rates.
func (s *System) Excesses(h []float64, rows []int) (list []Value) {
	for j, m := range s.measured {
		if !s.Subject[j].measure.WithAll() {
			continue
		}
		for _, set := range m.sets {
			for _, l := range set[1:] {
				v := Value{Defined: l.rows(rows) > 0}
				if v.Defined {
					v.Value = l.value(h) - set[0].value(h)
				}
				list = append(list, v)
			}
		}
	}
	return list
}

// Share is a share of rows that an inequality bounds: Hits/Rows <= Most.
type Share struct {
	Hits, Rows int
	Most       float64
}

// Inequalities returns the inequalities of constraint j of Subject with another bound. With the
// constraint's own bound they equal the inequalities in Bounds.
func (s *System) Inequalities(j int, bound float64) []Inequality {
	own := *s
	own.Bounds, own.sides, own.Subject = nil, nil, append([]Constraint{}, s.Subject...)
	own.Subject[j] = own.Subject[j].WithBound(bound)
	own.bound(j)
	return own.Bounds
}

// Share returns the share of rows that an inequality of System.Bounds bounds, for counts of the
// rates as in Counted. ok is false if the inequality combines several shares, as a gap does, or
// bounds a loss or the l1 norm. A lower bound on a rate is an upper bound on the share of the other
// decisions:
//
//	rate >= b  <=>  (rows - hits) / rows <= 1 - b.
//
// A precision is a share of the rows that are decided positive, rightly and wrongly.
func (s *System) Share(b Inequality, hits, rows []int) (share Share, ok bool) {
	var used []int
	for k, c := range b.Coefficients {
		if c != 0 {
			used = append(used, k)
		}
	}
	switch {
	case len(used) == 1 && used[0] < len(s.Rates) && !s.Rates[used[0]].loss:
		k := used[0]
		most := (b.Bound - b.Constant) / b.Coefficients[k]
		if b.Coefficients[k] > 0 {
			return Share{hits[k], rows[k], most}, true
		}
		return Share{rows[k] - hits[k], rows[k], 1 - most}, true
	case len(used) == 2 && used[1] < len(s.Rates) && s.Rates[used[0]].joint == jointRight && s.Rates[used[1]].joint == jointWrong:
		right, wrong := used[0], used[1]
		share = Share{hits[wrong], hits[right] + hits[wrong], -b.Coefficients[right]} // precision >= b
		if b.Coefficients[right] > 0 {                                                // precision <= b
			share.Hits, share.Most = hits[right], -b.Coefficients[wrong]
		}
		return share, true
	}
	return share, false
}

// Direction returns 1 if the value of the inequality grows with the decision threshold, -1 if it
// falls, and 0 if it need not do either. It is not 0 for a bound on the share of rows with one of
// two classes as the decision. It is 0 for a precision, for a loss (the target is the label), for
// more than two classes, and for a share whose target differs from row to row (errors over both
// classes, agreement with earlier decisions).
func (s *System) Direction(b Inequality) int {
	used := -1
	for k, c := range b.Coefficients {
		if c != 0 && used >= 0 || c != 0 && k >= len(s.Rates) {
			return 0
		}
		if c != 0 {
			used = k
		}
	}
	switch {
	case used < 0 || len(s.classes) != 2 || s.Rates[used].target < 0 || s.Rates[used].joint != jointNone:
		return 0
	case b.Coefficients[used] > 0 == (s.Rates[used].target == 0):
		return 1
	}
	return -1
}

// Within reports whether the rows of rate k are some of the rows of rate l, and both rates count
// the same decisions.
func (s *System) Within(k, l int) bool {
	a, b := s.Rates[k], s.Rates[l]
	for _, w := range b.where {
		if !slices.Contains(a.where, w) {
			return false
		}
	}
	a.where, b.where = nil, nil
	return k != l && a.key() == b.key()
}
