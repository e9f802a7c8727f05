package session

import (
	"slices"

	"ppal/internal/rates"
)

// The rates of decisions on the rows of a split.
type (
	// RateTable holds the rates of all rows and of each group, and the confusion matrix.
	RateTable = rates.Table
	// GroupRates holds the rates of a group.
	GroupRates = rates.ByGroup
	// Rate is a share of rows, with its 95% interval on held-out rows.
	Rate = rates.Rate
	// ROCPoint is a point of an ROC curve.
	ROCPoint = rates.Point
)

// mostROCPoints is the approximate number of points of an ROC curve, at most.
const mostROCPoints = 400

// measureRates sets the rates and the ROC curve of a split. A task of the caller's whose scores are
// neither one for two classes nor one for each class has none.
func (a *assembly) measureRates(s *split, m *SplitMeasures, scores []float64) error {
	decisions := s.decisions(scores)
	if decisions == nil {
		return nil
	}
	place := map[int]int{} // of a label in the classes
	names := make([]string, len(s.classes))
	for k, c := range s.classes {
		place[c.Label], names[k] = k, c.Name
	}
	labels, positive := make([]int, s.len()), make([]bool, s.len())
	for i, y := range s.labels {
		labels[i], positive[i] = place[y], place[y] == 1
	}
	var err error
	if m.Rates, err = rates.Count(labels, decisions, names, s.rateGroups(), s.name == Training); err != nil {
		return err
	}
	if len(scores) == s.len() {
		m.ROC = rates.ROC(scores, positive, mostROCPoints)
	}
	return nil
}

// rateGroups returns the groups whose rates are reported: the groups of the task, and each value of
// the attributes, such as "sex=Female".
func (r rows) rateGroups() []rates.Group {
	var list []rates.Group
	for _, g := range r.groups {
		list = append(list, rates.Group{Name: g.Name, Rows: g.Rows})
	}
	for _, a := range r.attributes {
		first := len(list)
		for _, value := range a.Values {
			list = append(list, rates.Group{Name: a.Name + "=" + value})
		}
		for i, v := range a.Of {
			if v >= 0 {
				list[first+v].Rows = append(list[first+v].Rows, i)
			}
		}
		// a group of the task is listed already
		known := func(g rates.Group) bool {
			return slices.ContainsFunc(list[:first], func(other rates.Group) bool { return other.Name == g.Name })
		}
		list = append(list[:first:first], slices.DeleteFunc(slices.Clone(list[first:]), known)...)
	}
	return list
}

// decisions returns the place of the decided class of each row: of one score, the second of two
// classes if the score is above 0; of a score for each class, the class of the largest score. It
// returns nil for other scores.
func (r rows) decisions(scores []float64) []int {
	classes, n := len(r.classes), r.len()
	list := make([]int, n)
	switch len(scores) {
	case n:
		if classes != 2 {
			return nil
		}
		for i, s := range scores {
			if s > 0 {
				list[i] = 1
			}
		}
	case n * classes:
		for i := range list {
			own := scores[i*classes : (i+1)*classes]
			for k, s := range own {
				if s > own[list[i]] {
					list[i] = k
				}
			}
		}
	default:
		return nil
	}
	return list
}
