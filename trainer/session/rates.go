package session

import (
	"slices"

	"ppal/constraints"
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

// mostROCPoints is the approximate maximum number of points of an ROC curve.
const mostROCPoints = 400

// measureRates sets the rates and the ROC curve of a split. A task of the caller's own gets no
// rates if its scores are neither a single score for two classes nor a score for each class.
func (a *assembly) measureRates(s *split, m *SplitMeasures, scores []float64) error {
	decisions := s.decisions(scores)
	if decisions == nil {
		return nil
	}
	place := map[int]int{} // position of a label in the classes
	names := make([]string, len(s.classes))
	for k, c := range s.classes {
		place[c.Label], names[k] = k, c.Name
	}
	labels, positive := make([]int, s.len()), make([]bool, s.len())
	for i, y := range s.labels {
		labels[i], positive[i] = place[y], place[y] == 1
	}
	var sample *constraints.Sample
	d := a.builder.statement.decided()
	if d != nil {
		var err error
		if sample, err = d.sampleOf(s); err != nil {
			return err
		}
	}
	groups, err := s.rateGroups(sample)
	if err != nil {
		return err
	}
	if m.Rates, err = rates.Count(labels, decisions, names, groups, s.name == Training); err != nil {
		return err
	}
	if d != nil {
		m.Rates.MarkExtremes(d.system.BoundGroups())
	}
	if len(scores) == s.len() {
		m.ROC = rates.ROC(scores, positive, mostROCPoints)
	}
	return nil
}

// rateGroups returns the groups for the reported rates: the groups of the task, each value of the
// attributes, such as "sex=Female", and the intersections on which the task has a bound. sample is
// the task's system on the rows, or nil.
func (r rows) rateGroups(sample *constraints.Sample) (list []rates.Group, err error) {
	for _, g := range r.groups {
		list = append(list, rates.Group{Name: g.Name, Rows: g.Rows})
	}
	for _, a := range r.attributes {
		first := len(list)
		sizes := make([]int, len(a.Values))
		for _, v := range a.Of {
			if v >= 0 {
				sizes[v]++
			}
		}
		for k, value := range a.Values {
			list = append(list, rates.Group{Name: constraints.GroupName(a.Name, value), Rows: make([]int, 0, sizes[k])})
		}
		for i, v := range a.Of {
			if v >= 0 {
				list[first+v].Rows = append(list[first+v].Rows, i)
			}
		}
		// the list already has the groups of the task
		known := func(g rates.Group) bool {
			return slices.ContainsFunc(list[:first], func(other rates.Group) bool { return other.Name == g.Name })
		}
		list = append(list[:first:first], slices.DeleteFunc(slices.Clone(list[first:]), known)...)
	}
	if sample == nil {
		return list, nil
	}
	intersections, err := sample.Intersections()
	for _, g := range intersections {
		if !slices.ContainsFunc(list, func(other rates.Group) bool { return other.Name == g.Name }) {
			list = append(list, rates.Group{Name: g.Name, Rows: g.Rows})
		}
	}
	return list, err
}

// decisions returns the index of the decided class of each row. With a single score and two
// classes, a score above 0 decides the second class. With a score for each class, the largest
// score decides the class. decisions returns nil for other numbers of scores.
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
