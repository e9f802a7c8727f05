package session

import (
	"fmt"
	"strings"

	"ppal/constraints"
	"ppal/datasets/dataerr"
)

// published is a problem of Moon et al. that also has a form with bounds on decisions.
type published interface {
	Task
	settings(c *configuration, smooth bool)
	taskName() string
	// completed returns the task with its defaults.
	completed() Task
	// given returns the name of the option that holds the bounds, and its values.
	given() (option string, values []float64)
	// decisions returns the constraints on decisions that the problem's surrogates approximate.
	decisions(train Rows) (Decisions, error)
}

var _, _, _, _ published = NeymanPearson{}, DemographicParity{}, EqualizedOdds{}, Intersectional{}

// OnDecisionsOf returns the task with bounds on decisions in place of surrogates. The tasks
// NeymanPearson, DemographicParity, EqualizedOdds and Intersectional have this form. For any other
// task, State returns an *OptionError. Bounds keep their values: kappa bounds the error of each
// other class, epsilon bounds the gaps, or the excess of the groups' errors over the error of all
// rows. With a confidence above 0, the bounds hold on new rows with this probability: see
// Decisions.
func OnDecisionsOf(t Task, confidence float64) Task {
	p, ok := t.(published)
	if !ok {
		return noDecisions{t}
	}
	return onDecisions{p, confidence}
}

// onDecisions is a published problem with bounds on decisions.
type onDecisions struct {
	published
	confidence float64
}

func (t onDecisions) completed() Task {
	t.published = t.published.completed().(published)
	return t
}

// needs returns the properties of the rows that the constraints use.
func (t onDecisions) needs() (n constraints.Needs) {
	if _, ok := t.published.(Intersectional); ok {
		n.Attributes = []string{constraints.GroupsName}
	}
	return n
}

// State implements Task.
func (t onDecisions) State(train Rows, smooth bool) (*Statement, error) {
	d, err := t.decisions(train)
	if err != nil {
		return nil, err
	}
	d.Confidence = t.confidence
	s, err := d.State(train, smooth)
	if err != nil {
		return nil, err
	}
	s.Name = t.taskName()
	return s, nil
}

// noDecisions is a task without a form on decisions.
type noDecisions struct{ Task }

// State implements Task.
func (noDecisions) State(Rows, bool) (*Statement, error) {
	return nil, &OptionError{Option: "bounds-on", Problem: "is decisions, which this task does not support; use the task Decisions"}
}

func (t NeymanPearson) decisions(train Rows) (Decisions, error) {
	of := func(k int) constraints.Rate { return errorOf(train.Classes[k]) }
	kappa, err := boundsOf(t, len(train.Classes)-1)
	if err != nil {
		return Decisions{}, err
	}
	d := Decisions{Minimize: of(0)}
	for k, bound := range kappa {
		d.SubjectTo = append(d.SubjectTo, of(1+k).AtMost(bound))
	}
	return d, nil
}

func (t DemographicParity) decisions(train Rows) (Decisions, error) {
	return gapsOnDecisions(t, train, constraints.PositiveRate)
}

func (t EqualizedOdds) decisions(train Rows) (Decisions, error) {
	return gapsOnDecisions(t, train, constraints.TPR, constraints.FPR)
}

func (t Intersectional) decisions(train Rows) (Decisions, error) {
	epsilon, err := boundsOf(t, 1)
	switch {
	case t.Form != "" && t.Form != EachGroup:
		return Decisions{}, &OptionError{Option: "if-form", Problem: "is " + string(t.Form) + "; bounds on decisions are on each group: use each"}
	case err != nil:
		return Decisions{}, err
	case len(train.Groups) == 0:
		return Decisions{}, fmt.Errorf("session: %w: the rows have no groups; specify them (--group)", dataerr.ErrGroup)
	}
	return Decisions{SubjectTo: []constraints.Constraint{train.excess(constraints.Error).AtMost(epsilon[0])}}, nil
}

// excess returns the excess of a rate over the groups.
func (r Rows) excess(rate func(of ...string) constraints.Rate) constraints.Measure {
	name := constraints.GroupsName
	if a, ok := ofGroups(r.Groups, len(r.Labels)); ok {
		name = a.Quoted()
	}
	return constraints.Excess(rate, name)
}

// gapsOnDecisions bounds the gaps of the rates between the two groups.
func gapsOnDecisions(t published, train Rows, rates ...func(of ...string) constraints.Rate) (Decisions, error) {
	if err := train.twoClasses(t.taskName()); err != nil {
		return Decisions{}, err
	}
	if err := train.pair(); err != nil {
		return Decisions{}, err
	}
	epsilon, err := boundsOf(t, len(rates))
	if err != nil {
		return Decisions{}, err
	}
	var d Decisions
	for k, rate := range rates {
		gap := constraints.Gap(rate, constraints.Attribute{Name: groupAttribute(train.groupNames())}.Quoted())
		d.SubjectTo = append(d.SubjectTo, gap.AtMost(epsilon[k]))
	}
	return d, nil
}

// groupAttribute returns the name of the attribute whose values are the disjoint groups: "sex" for
// the groups "sex=Female" and "sex=Male". Other groups give the name of the first group.
func groupAttribute(groups []string) string {
	column, _, equation := strings.Cut(groups[0], "=")
	for _, g := range groups {
		if !equation || !strings.HasPrefix(g, column+"=") {
			return groups[0]
		}
	}
	if len(groups) == 1 {
		return groups[0]
	}
	return column
}

// ofGroups returns the groups as an attribute. ok is false for fewer than two groups and for
// groups that overlap.
func ofGroups(groups []constraints.Group, rows int) (a constraints.Attribute, ok bool) {
	if len(groups) < 2 {
		return a, false
	}
	names := make([]string, len(groups))
	for k, g := range groups {
		names[k] = g.Name
	}
	a.Name, a.Of = groupAttribute(names), make([]int, rows)
	for _, name := range names {
		a.Values = append(a.Values, strings.TrimPrefix(name, a.Name+"="))
	}
	for i := range a.Of {
		a.Of[i] = -1
	}
	for k, g := range groups {
		for _, i := range g.Rows {
			if i < 0 || i >= rows || a.Of[i] >= 0 {
				return a, false
			}
			a.Of[i] = k
		}
	}
	return a, true
}
