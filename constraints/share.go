package constraints

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

// Thresholded reports whether the inequality bounds the share of rows with one of two classes as
// the decision, so that the share grows or falls with the decision threshold. It returns false for
// a precision, for a loss (the target is the label), for more than two classes, and for a share
// whose target differs from row to row (errors over both classes, agreement with earlier
// decisions).
func (s *System) Thresholded(b Inequality) bool {
	used := -1
	for k, c := range b.Coefficients {
		if c != 0 && used >= 0 || c != 0 && k >= len(s.Rates) {
			return false
		}
		if c != 0 {
			used = k
		}
	}
	return used >= 0 && len(s.classes) == 2 && s.Rates[used].target >= 0 && s.Rates[used].joint == jointNone
}
