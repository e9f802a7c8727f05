package session

import (
	"slices"

	"ppal/constraints"
	"ppal/internal/rates"
	"ppal/trainer/session/internal/measure"
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

// decided returns the decisions of scores on the split; nil if the scores of a task of the caller's
// own are neither a single score for two classes nor a score for each class.
func (s *split) decided(scores []float64) (*measure.Decided, error) {
	labels, err := s.public().indices()
	if err != nil {
		return nil, err
	}
	return measure.Decide(s.name, classNames(s.classes), labels, scores), nil
}

// classNames returns the names of the classes.
func classNames(classes []Class) []string {
	names := make([]string, len(classes))
	for k, c := range classes {
		names[k] = c.Name
	}
	return names
}

// measureRates sets the rates and the ROC curve of a split, if the scores decide.
func (a *assembly) measureRates(s *split, m *SplitMeasures, scores []float64) error {
	decided, err := s.decided(scores)
	if decided == nil || err != nil {
		return err
	}
	var sample *constraints.Sample
	d := a.builder.statement.decided()
	if d != nil {
		if sample, err = d.sampleOf(s); err != nil {
			return err
		}
	}
	groups, err := s.rateGroups(sample)
	if err != nil {
		return err
	}
	if m.Rates, err = decided.Rates(groups); err != nil {
		return err
	}
	if d != nil {
		m.Rates.MarkExtremes(d.system.BoundGroups())
	}
	m.ROC = decided.ROC()
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
