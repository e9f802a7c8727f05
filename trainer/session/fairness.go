package session

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/internal/rates"
	"ppal/trainer/problem"
)

// DemographicParity bounds the gap between the positive rates of two groups. See constraints.Gaps.
type DemographicParity struct {
	Epsilon []float64 // bound on the gap, a single value; nil: 0.01
	Phi     Surrogate // surrogate of the error, in the objective; "" means Logistic
	Psi     Surrogate // surrogate of the decision, in the constraint; "" means Sigmoid
	Gaps    GapForm
}

// EqualizedOdds bounds the gap between the true positive rates of two groups and the gap between
// their false positive rates. See constraints.Gaps.
type EqualizedOdds struct {
	Epsilon []float64 // a bound for both gaps, or a bound for each gap; nil: 0.01
	Phi     Surrogate // surrogate of the error, in the objective; "" means Logistic
	Psi     Surrogate // surrogate of the decision, in the constraints; "" means Sigmoid
	Gaps    GapForm
}

// Intersectional bounds the loss of each group, or of the average group, relative to the loss of
// all rows. Groups may overlap. See constraints.Intersectional.
type Intersectional struct {
	Epsilon []float64 // a bound for all groups, or a bound for each group; nil: 0.01
	Phi     Surrogate // surrogate of the error, in the objective; "" means Hinge
	Psi     Surrogate // surrogate of the error, in the constraints; "" means Hinge
	Form    GroupForm
}

var _, _, _ Task = DemographicParity{}, EqualizedOdds{}, Intersectional{}

// GapForm selects the constraints that state a bound |h| <= eps on a gap. The empty string means
// SplitGaps for methods that need differentiable constraints, else AbsoluteGaps.
type GapForm string

// The forms of gaps.
const (
	AbsoluteGaps GapForm = "absolute" // |h| - eps <= 0 for each gap
	SplitGaps    GapForm = "split"    // h - eps <= 0 and -h - eps <= 0 for each gap
	LargestGap   GapForm = "max"      // the largest |h| - eps <= 0
)

// form returns the corresponding form in package constraints.
func (f GapForm) form(smooth bool) (constraints.GapForm, error) {
	switch {
	case f == SplitGaps, f == "" && smooth:
		return constraints.Split, nil
	case f == AbsoluteGaps, f == "":
		return constraints.Absolute, nil
	case f == LargestGap:
		return constraints.Maximum, nil
	}
	return 0, &OptionError{Option: "gaps", Problem: "is " + string(f) + ", want absolute, split or max"}
}

// GroupForm selects the constraints that state the bounds of the groups. The empty string means
// EachGroup.
type GroupForm string

// The forms of groups.
const (
	EachGroup    GroupForm = "each"        // a constraint for each group
	AverageGroup GroupForm = "expectation" // a single constraint, the mean over the groups
	SampledGroup GroupForm = "sampled"     // AverageGroup; each iteration trains on a drawn group
)

// State implements Task.
func (t DemographicParity) State(train Rows, smooth bool) (*Statement, error) {
	t = t.completed().(DemographicParity)
	return stateGaps(t, 1, t.Phi, t.Psi, t.Gaps, train, smooth)
}

// State implements Task.
func (t EqualizedOdds) State(train Rows, smooth bool) (*Statement, error) {
	t = t.completed().(EqualizedOdds)
	return stateGaps(t, 2, t.Phi, t.Psi, t.Gaps, train, smooth)
}

// stateGaps states bounds on a number of gaps between two groups' rates.
func stateGaps(t published, count int, loss, decision Surrogate, gaps GapForm, train Rows, smooth bool) (*Statement, error) {
	name := t.taskName()
	if err := train.twoClasses(name); err != nil {
		return nil, err
	}
	if err := train.pair(); err != nil {
		return nil, err
	}
	phi, err := constraints.ParsePhi(string(loss))
	if err != nil {
		return nil, err
	}
	psi, err := constraints.ParsePhi(string(decision))
	if err != nil {
		return nil, err
	}
	form, err := gaps.form(smooth)
	if err != nil {
		return nil, err
	}
	epsilon, err := boundsOf(t, count)
	if err != nil {
		return nil, err
	}
	var p *constraints.Gaps
	if name == NameDemographicParity {
		p, err = constraints.NewDemographicParity(train.groupNames(), epsilon[0], phi, psi, form)
	} else {
		p, err = constraints.NewEqualizedOdds(train.groupNames(), epsilon, phi, psi, form)
	}
	if err != nil {
		return nil, err
	}
	s := fairness(name, p)
	s.minimise, s.meanings = rates.Error, gapMeanings(name, groupAttribute(train.groupNames()), len(p.Bounds()), form)
	return s, nil
}

// gapMeanings returns the gaps of decisions that the constraints approximate. Each gap has a
// single constraint, or two constraints in the split form. In the form of the largest gap, a
// single constraint covers all gaps.
func gapMeanings(task, attribute string, constraintCount int, form constraints.GapForm) []meaning {
	kinds := []func(of ...string) constraints.Rate{constraints.PositiveRate}
	if task == NameEqualizedOdds {
		kinds = []func(of ...string) constraints.Rate{constraints.TPR, constraints.FPR}
	}
	var list []meaning
	var all, names []string
	each := constraintCount / len(kinds)
	for k, kind := range kinds {
		m := meaning{measure: constraints.Gap(kind, attribute).String(), interval: gapInterval(kind().Name())}
		for j := range each {
			m.constraints = append(m.constraints, k*each+j)
		}
		list, all, names = append(list, m), append(all, m.measure), append(names, kind().Name())
	}
	if form == constraints.Maximum {
		return []meaning{{measure: "max(" + strings.Join(all, ", ") + ")", constraints: []int{0}, interval: gapInterval(names...)}}
	}
	return list
}

// State implements Task.
func (t Intersectional) State(train Rows, _ bool) (*Statement, error) {
	if err := train.twoClasses(NameIntersectional); err != nil {
		return nil, err
	}
	t = t.completed().(Intersectional)
	phi, err := constraints.ParsePhi(string(t.Phi))
	if err != nil {
		return nil, err
	}
	psi, err := constraints.ParsePhi(string(t.Psi))
	if err != nil {
		return nil, err
	}
	form := constraints.Each
	switch t.Form {
	case "", EachGroup:
	case AverageGroup, SampledGroup:
		form = constraints.Expectation
	default:
		return nil, &OptionError{Option: "if-form", Problem: "is " + string(t.Form) + ", want each, expectation or sampled"}
	}
	p, err := constraints.NewIntersectional(train.groupNames(), t.Epsilon, phi, psi, form)
	if err != nil {
		return nil, err
	}
	s := fairness(NameIntersectional, p)
	s.minimise = rates.Error
	s.meanings = excessMeanings(train, p, len(t.Epsilon) > 1, form)
	if t.Form == SampledGroup {
		s.sampled = p
	}
	return s, nil
}

// excessMeanings returns the quantities of decisions that the constraints approximate: the largest
// excess over the groups, or an excess for each constraint if the groups have bounds of their own.
func excessMeanings(train Rows, p *constraints.Intersectional, own bool, form constraints.GroupForm) (list []meaning) {
	if form == constraints.Each && !own {
		m := meaning{measure: train.excess(constraints.Error).String(), interval: excessInterval(0, len(train.Groups))}
		for k := range train.Groups {
			m.constraints = append(m.constraints, k)
		}
		return []meaning{m}
	}
	for k, name := range p.ConstraintNames() {
		m := meaning{measure: fmt.Sprintf("error[%s] - error", name), constraints: []int{k}}
		if form == constraints.Each {
			m.interval = excessInterval(k, k+1)
		}
		list = append(list, m)
	}
	return list
}

// fairProblem is the interface that *constraints.Gaps and *constraints.Intersectional share.
type fairProblem interface {
	Bounds() []float64
	ConstraintNames() []string
	Warnings() []string
	Pieces() []constraints.Piece
	Nodes(scores *gorgonia.Node, rows constraints.Rows) (objective, terms *gorgonia.Node, err error)
	NewEvaluator(rows constraints.Rows) (*constraints.FairnessEvaluator, error)
}

// fairness returns the statement of a fairness problem.
func fairness(name string, p fairProblem) *Statement {
	s := &Statement{
		Name: name, Objective: "loss", Constraints: named(p.ConstraintNames(), p.Bounds()),
		Nodes: func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			f, g, err := p.Nodes(scores, rows.fair())
			return f, gorgonia.Nodes{g}, err
		},
		Warnings: p.Warnings(), pure: true,
		Measures: func(rows Rows) (func(scores []float64) (Measures, error), error) {
			e, err := p.NewEvaluator(rows.fair())
			if err != nil {
				return nil, err
			}
			return func(scores []float64) (Measures, error) { return measureFairness(p, e, scores) }, nil
		},
	}
	for _, b := range p.Pieces() {
		s.Pieces = append(s.Pieces, problem.Piece(b))
	}
	return s
}

// measureFairness evaluates a fairness problem on scores.
func measureFairness(p fairProblem, e *constraints.FairnessEvaluator, scores []float64) (Measures, error) {
	m, err := e.Measures(scores)
	if err != nil {
		return Measures{}, err
	}
	named := map[string]float64{"loss": m.Objective, "max_violation": problem.MaxViolation(m.Constraints)}
	for _, x := range m.Named() {
		named[x.Name] = x.Value
	}
	values := []float64{m.Objective}
	for j, bound := range p.Bounds() {
		values = append(values, m.Constraints[j]+bound)
	}
	return Measures{Named: named, Values: values, Decisions: append([]float64{m.Error}, m.Decisions...)}, nil
}
