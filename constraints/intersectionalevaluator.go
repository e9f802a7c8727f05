package constraints

import "fmt"

// NewEvaluator returns an evaluator of the problem on the rows. Groups of
// training rows may be empty among others: such a group counts as faring as all
// rows do (its g is -eps) and is left out of the means over groups. Rows whose
// groups are all empty are ErrEmptyGroup, rows of one label alone ErrEmptyClass.
//
// With d_G = mean over I_G - mean over all rows, of 0-1 errors, Hard is
//
//	group_error_gap_max            max_G d_G
//	group_error_violation_mean     mean_G max(0, d_G - eps_G)
//	group_error_violation_max      max_G max(0, d_G - eps_G)
//	group_loss_violation_mean      the same of psi(y s)
//	group_loss_violation_max
//	groups_without_rows            their number
func (p *Intersectional) NewEvaluator(rows Rows) (*FairnessEvaluator, error) {
	if err := rows.check(p.groups); err != nil {
		return nil, err
	}
	present, eps, at := p.present(rows)
	if len(at) == 0 {
		return nil, fmt.Errorf("%w: none of the %d groups has", ErrEmptyGroup, len(p.groups))
	}
	offsets := p.eps
	if p.form == Each {
		offsets = eps
	}
	s, err := p.on(present, offsets)
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
	e.constraints = func(g []float64) []float64 { return p.scatter(g, at) }
	e.hard = func(_ []bool, wrong, rates []float64) []Measure {
		largest, errMean, errMax := violations(members, eps, wrong)
		_, lossMean, lossMax := violations(members, eps, rates)
		return []Measure{
			{"group_error_gap_max", largest},
			{"group_error_violation_mean", errMean},
			{"group_error_violation_max", errMax},
			{"group_loss_violation_mean", lossMean},
			{"group_loss_violation_max", lossMax},
			{"groups_without_rows", float64(len(p.groups) - len(at))},
		}
	}
	return e, nil
}

// scatter returns the constraints at the values g of the groups at, -eps for the
// others.
func (p *Intersectional) scatter(g []float64, at []int) []float64 {
	if p.form == Expectation {
		return append([]float64(nil), g...)
	}
	all := make([]float64, len(p.eps))
	for k, b := range p.eps {
		all[k] = -b
	}
	for k, v := range g {
		all[at[k]] = v
	}
	return all
}

// present are the rows with the groups that have some, the groups' bounds and
// their positions among the problem's.
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

// violations of the bounds by the groups' means of v less the mean of all: the
// largest difference, and the mean and the maximum of what is above eps.
func violations(m *Membership, eps, v []float64) (largest, mean, worst float64) {
	all := 0.0
	for _, x := range v {
		all += x
	}
	all /= float64(len(v))
	for k, x := range groupMeans(m, make([]float64, m.Groups()), v) {
		d := x - all
		if k == 0 || d > largest {
			largest = d
		}
		above := max(0, d-eps[k])
		mean += above
		worst = max(worst, above)
	}
	return largest, mean / float64(m.Groups()), worst
}
