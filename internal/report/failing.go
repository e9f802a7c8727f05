package report

import (
	"cmp"
	"fmt"
	"strconv"

	"ppal/constraints"
	"ppal/trainer/session/results"
)

// Unmet is the error of a run whose files are complete, and whose constraints in the list give the
// exit status 3.
type Unmet struct {
	Outcome *results.Outcome
	List    []results.ConstraintOutcome
	On      string // the rows of the decisions; "": the training rows
}

// Failing returns the constraints that give the exit status 3: those that are not met, cannot be
// judged or are not promised, and with strict those that are nearly met: see constraints.State.
func Failing(o *results.Outcome, strict bool) []results.ConstraintOutcome {
	list := o.Unmet()
	for j := range o.Constraints {
		if c := &o.Constraints[j]; strict && o.Standing(c).Holds() && o.Standing(c).State.Nearly() {
			list = append(list, *c)
		}
	}
	return list
}

// Error implements error.
func (e *Unmet) Error() string {
	c := &e.List[0]
	others := func(single, several, text string) string {
		head := "a constraint " + single
		if n := len(e.List); n > 1 {
			head, text = fmt.Sprintf("%d constraints %s", n, several), text+", and others"
		}
		return "finished, but " + head + ": " + text + "; --allow-violation makes the exit status 0"
	}
	s := e.Outcome.Standing(c)
	switch {
	case s.State.Holds() && s.Unpromised:
		return fmt.Sprintf("finished, but a constraint is not promised for new rows: %s (the validation rows support the bound %s with %g%% confidence); "+
			"--allow-violation makes the exit status 0", c.Constraint, Number(&c.Promise.Supported), 100*e.Outcome.Confidence)
	case s.State == constraints.NotJudged:
		return others("cannot be judged", "cannot be judged", c.Constraint+": "+c.WhyUnjudged())
	}
	what, value := "the surrogate of "+c.Measure(), c.Surrogate
	if e.Outcome.BoundsOn != constraints.OnSurrogate || value == nil {
		what, value = c.Measure(), c.Train
	}
	is := "has no value"
	if value != nil {
		is = "is " + c.Number(value)
	}
	how := "not met"
	if s.State.Nearly() {
		how = "met " + string(s.State) + " only (--strict)"
	}
	return others("is "+how, "are "+how, fmt.Sprintf("on %s %s %s, want %s %s", cmp.Or(e.On, "the training rows"), what, is, c.Relation(), strconv.FormatFloat(c.Bound, 'g', -1, 64)))
}
