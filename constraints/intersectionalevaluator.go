package constraints

import "fmt"

// NewEvaluator returns an evaluator of the problem on the rows. A group that has training rows may
// be empty in another split: an empty group has g = -eps, the value of a group that fares like the
// average row, and does not count in the means over groups. NewEvaluator returns ErrEmptyGroup if
// all groups are empty, and ErrEmptyClass if all rows have the same label.
//
// With d_G = mean over I_G - mean over all rows, of 0-1 errors, Decisions are the d_G or, with
// Expectation, their mean. Hard is
//
//	group_error_gap_max            max_G d_G
//	group_error_violation_mean     mean_G max(0, d_G - eps_G)
//	group_error_violation_max      max_G max(0, d_G - eps_G)
//	group_loss_violation_mean      the same with psi(y s) instead of 0-1 errors
//	group_loss_violation_max
//	groups_without_rows            the number of empty groups
func (p *Intersectional) NewEvaluator(rows Rows) (*FairnessEvaluator, error) {
	if err := rows.check(p.groups); err != nil {
		return nil, err
	}
	present, eps, at := p.present(rows)
	if len(at) == 0 {
		return nil, fmt.Errorf("%w: all %d groups are empty", ErrEmptyGroup, len(p.groups))
	}
	bounds := p.eps
	if p.form == Each {
		bounds = eps
	}
	s, err := p.on(present, bounds)
	if err != nil {
		return nil, err
	}
	e, err := newFairnessEvaluator(rows, s)
	if err != nil {
		return nil, err
	}
	members, err := NewMembership(len(rows.Labels), present.Groups)
	if err != nil {
		return nil, err
	}
	e.constraints = func(m *FairnessMeasures) {
		absent := make([]float64, len(p.eps))
		for k, b := range p.eps {
			absent[k] = -b
		}
		m.Terms = p.scatter(m.Terms, at, absent)
		m.Constraints = append([]float64(nil), m.Terms...)
	}
	e.decisions = func(m *FairnessMeasures, rows decided) {
		errors, losses := differences(members, rows.wrong), differences(members, rows.losses)
		m.Decisions = []float64{meanAbove(errors, nil)}
		if p.form == Each {
			m.Decisions = p.scatter(errors, at, make([]float64, len(p.groups)))
		}
		m.Hard = []NamedMeasure{
			{"group_error_gap_max", maxAbove(errors, nil)},
			{"group_error_violation_mean", meanAbove(errors, eps)},
			{"group_error_violation_max", max(0, maxAbove(errors, eps))},
			{"group_loss_violation_mean", meanAbove(losses, eps)},
			{"group_loss_violation_max", max(0, maxAbove(losses, eps))},
			{"groups_without_rows", float64(len(p.groups) - len(at))},
		}
	}
	return e, nil
}

// present returns the rows with only the non-empty groups, the bounds of these groups, and their
// positions among the problem's groups.
func (p *Intersectional) present(rows Rows) (some Rows, eps []float64, at []int) {
	some.Labels = rows.Labels
	for k, g := range rows.Groups {
		if len(g.Rows) == 0 {
			continue
		}
		some.Groups, at = append(some.Groups, g), append(at, k)
		eps = append(eps, p.eps[min(k, len(p.eps)-1)])
	}
	return some, eps, at
}

// scatter writes the values v into absent at the positions at, and returns absent. With Expectation
// v is a single value, and scatter returns v.
func (p *Intersectional) scatter(v []float64, at []int, absent []float64) []float64 {
	if p.form == Expectation {
		return v
	}
	for k, x := range v {
		absent[at[k]] = x
	}
	return absent
}

// differences returns each group's mean of v minus the mean of v over all rows.
func differences(m *Membership, v []float64) []float64 {
	all := 0.0
	for _, x := range v {
		all += x
	}
	all /= float64(len(v))
	d := groupMeans(m, make([]float64, m.Groups()), v)
	for k := range d {
		d[k] -= all
	}
	return d
}

// maxAbove returns the largest d - eps, or the largest d if eps is nil.
func maxAbove(d, eps []float64) float64 {
	var worst float64
	for k, x := range d {
		if eps != nil {
			x -= eps[k]
		}
		if k == 0 || x > worst {
			worst = x
		}
	}
	return worst
}

// meanAbove returns the mean of max(0, d - eps), or the mean of d if eps is nil.
func meanAbove(d, eps []float64) float64 {
	var sum float64
	for k, x := range d {
		if eps != nil {
			x = max(0, x-eps[k])
		}
		sum += x
	}
	return sum / float64(len(d))
}
