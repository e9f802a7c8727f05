package session

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
)

// Intersectional bounds the loss of each group, or of the average group, relative to the loss of
// all rows. Groups may overlap. Let s be the scores and I_G the rows of group G:
//
//	minimise    f   = mean of phi(y_i s_i)
//	subject to  g_G = mean over I_G of psi(y_i s_i) - mean over all rows of psi(y_i s_i) - eps_G <= 0
//
// for each group, or for the mean over the groups. Moon et al., "Intersectional Group Fairness on
// Neural Networks", use Hinge for phi and psi and bound the expectation over a uniformly drawn
// group. Their formula takes no positive part of a group's difference (the [.]+ in the formula is
// the hinge loss). AverageGroup follows the formula: differences of opposite sign cancel, so the
// bound applies to the average group and not to any single group.
//
// Zero weights meet every bound, because all losses are then equal. Hinge has kinks; kinks of f are
// outside the assumptions of the paper's PLADA. OnDecisions bounds the errors of EachGroup.
type Intersectional struct {
	Epsilon    []float64       // a bound for all groups, or a bound for each group; nil: 0.01
	Phi        constraints.Phi // surrogate of the error, in the objective; "" means Hinge
	Psi        constraints.Phi // surrogate of the error, in the constraints; "" means Hinge
	Form       GroupForm
	BoundsOn   constraints.BoundsOn // the values that the bounds apply to; "": OnSurrogate
	Confidence float64              // of bounds on decisions: see Decisions
}

var _ Task = Intersectional{}

// NameIntersectional is the name of Intersectional.
const NameIntersectional = "if"

func init() {
	register(TaskDescription{
		Name: NameIntersectional, Summary: "how much worse any group fares than all rows, intersectional fairness",
		Defaults: Defaults{Hidden: []int{64}, Activation: models.ReLU, OnDecisions: ridge()}, New: func() Task { return &Intersectional{} },
		Suits: Suiting{Drawn: "--if-form " + string(SampledGroup)},
	})
}

// options returns the settings, bound to the fields of t.
func (t *Intersectional) options() []*option.Option {
	return append(boundsOptions(&t.BoundsOn, constraints.OnSurrogate, &t.Confidence), epsilonOption(&t.Epsilon),
		phiOption(&t.Phi, constraints.Hinge), psiOption(&t.Psi, constraints.Hinge),
		option.Choice("if-form", &t.Form, "each: bound each group; expectation: bound the mean over the groups; sampled: the same, by one group drawn at each step",
			EachGroup, AverageGroup, SampledGroup).
			For(string(SampledGroup), option.If(option.NameMethod, method.Needing(func(n trainer.Needs) bool { return n.Group })...)).With(boundsOn(constraints.OnSurrogate)))
}

// Traits returns the properties of the problem.
func (t Intersectional) Traits() Traits {
	complete(t.options())
	on := t.BoundsOn == constraints.OnSurrogate
	return Traits{OnDecisions: !on, Sampled: on && t.Form == SampledGroup, Overlap: true,
		Kinks: on && (t.Phi == constraints.Hinge || t.Psi == constraints.Hinge)}
}

// check returns an error for a form that does not exist, or that bounds on decisions do not have.
func (t Intersectional) check() error {
	complete(t.options())
	switch t.Form = cmp.Or(t.Form, EachGroup); {
	case t.Form != EachGroup && t.Form != AverageGroup && t.Form != SampledGroup:
		return &OptionError{Option: "if-form", Problem: "is " + string(t.Form) + ", want each, expectation or sampled"}
	case t.Form != EachGroup && t.BoundsOn == constraints.OnDecisions:
		return &OptionError{Option: "if-form", Problem: "is " + string(t.Form) + "; bounds on decisions are on each group: use each"}
	}
	return nil
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
func (t Intersectional) State(train Rows, smooth bool) (*Statement, error) {
	complete(t.options())
	t.Form = cmp.Or(t.Form, EachGroup)
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := train.twoClasses(NameIntersectional); err != nil {
		return nil, err
	}
	if len(train.Groups) == 0 {
		return nil, fmt.Errorf("session: %w: the rows have no groups; specify them (--group)", dataerr.ErrGroup)
	}
	d := Decisions{BoundsOn: t.BoundsOn, Confidence: t.Confidence, Minimize: constraints.Error()}
	epsilon, err := t.subject(train, &d)
	if err != nil {
		return nil, err
	}
	if t.BoundsOn != constraints.OnDecisions {
		d.Margins = &constraints.Margins{Objective: t.Phi, Constraints: t.Psi}
	}
	s, err := d.State(train, smooth)
	if err != nil {
		return nil, err
	}
	if s.Name = NameIntersectional; d.Margins == nil {
		return s, nil
	}
	names := train.groupNames()
	if t.Form != EachGroup {
		names = []string{fmt.Sprintf("mean over %d groups", len(names))}
	}
	for k := range s.Constraints {
		s.Constraints[k].Name = names[k]
	}
	s.Objective, s.Warnings, s.sampled = "loss", t.warnings(names, epsilon), t.Form == SampledGroup
	s.naming, s.named = NamesGroups, func(m *measurement) map[string]float64 { return nameGroups(m, epsilon) }
	return s, nil
}

// subject sets the constraints, and returns the bound of each of them on surrogates.
func (t Intersectional) subject(train Rows, d *Decisions) (epsilon []float64, err error) {
	attribute, values := train.attribute()
	add := func(m constraints.Measure, bound float64) { d.SubjectTo = append(d.SubjectTo, m.AtMost(bound)) }
	switch {
	case t.Form != EachGroup:
		if epsilon, err = boundsOf("epsilon", t.Epsilon, 1); err == nil {
			add(constraints.MeanExcess(constraints.Error, attribute), epsilon[0])
		}
		return epsilon, err
	case t.BoundsOn == constraints.OnDecisions:
		if epsilon, err = boundsOf("epsilon", t.Epsilon, 1); err == nil {
			add(constraints.Excess(constraints.Error, attribute), epsilon[0])
		}
		return epsilon, err
	}
	if epsilon, err = boundsOf("epsilon", t.Epsilon, len(values)); err != nil {
		return nil, err
	}
	if len(t.Epsilon) == 1 {
		add(constraints.Excess(constraints.Error, attribute), epsilon[0])
		return epsilon, nil
	}
	for k, value := range values {
		add(constraints.ExcessOf(constraints.Error, attribute, value), epsilon[k])
	}
	return epsilon, nil
}

// nameFairness names the measures that the tasks of two classes share.
func nameFairness(m *measurement) map[string]float64 {
	named := map[string]float64{"loss": m.objective, "max_violation": m.violation, "error": m.counted.Objective.Value}
	if !math.IsNaN(m.area) {
		named["auc"] = m.area
	}
	return named
}

// nameGroups names the measures of the groups. With d_G the difference between the error of group G
// and the error of all rows:
//
//	group_error_gap_max            max_G d_G
//	group_error_violation_mean     mean_G max(0, d_G - eps_G)
//	group_error_violation_max      max_G max(0, d_G - eps_G)
//	group_loss_violation_mean      the same with psi(y s) instead of 0-1 errors
//	group_loss_violation_max
//	groups_without_rows            the number of groups without rows, which do not count above
func nameGroups(m *measurement, epsilon []float64) map[string]float64 {
	named := nameFairness(m)
	errors, losses := m.system.Excesses(m.counted.Terms, m.counted.Rows), m.system.Excesses(m.terms, m.counted.Rows)
	largest, empty, sums, most := 0.0, 0, [2]float64{}, [2]float64{}
	for k := range errors {
		if !errors[k].Defined {
			empty++
			continue
		}
		if d := errors[k].Value; k == empty || d > largest {
			largest = d
		}
		for i, d := range [2]float64{errors[k].Value, losses[k].Value} {
			over := max(0, d-epsilon[min(k, len(epsilon)-1)])
			sums[i], most[i] = sums[i]+over, max(most[i], over)
		}
	}
	named["groups_without_rows"] = float64(empty)
	if empty == len(errors) {
		return named
	}
	n := float64(len(errors) - empty)
	named["group_error_gap_max"] = largest
	named["group_error_violation_mean"], named["group_error_violation_max"] = sums[0]/n, most[0]
	named["group_loss_violation_mean"], named["group_loss_violation_max"] = sums[1]/n, most[1]
	return named
}

// warnings returns one sentence for each kind of unsuitable bound.
func (t Intersectional) warnings(names []string, epsilon []float64) (out []string) {
	var vacuous, tight []string
	for k, name := range names {
		switch {
		case t.Psi == constraints.Sigmoid && epsilon[k] >= 1:
			vacuous = append(vacuous, name)
		case epsilon[k] == 0:
			tight = append(tight, name)
		}
	}
	add := func(names []string, what string) {
		if len(names) > 0 {
			out = append(out, abbreviated(names)+": "+what)
		}
	}
	add(vacuous, "the bound constrains nothing: losses lie in (0, 1) and so do their means' differences; use an eps below 1 (--epsilon)")
	add(tight, "eps 0 leaves no interior if the groups cover the rows, so the multipliers need not be bounded; use a larger eps (--epsilon)")
	return out
}

// abbreviated lists the first names and counts the others.
func abbreviated(names []string) string {
	const most = 3
	if len(names) <= most {
		return "group " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("group %s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// Needs returns the properties of the rows that the constraints use.
func (t Intersectional) Needs() (n constraints.Needs) {
	if t.BoundsOn == constraints.OnDecisions {
		n.Attributes = []string{constraints.GroupsName}
	}
	return n
}
