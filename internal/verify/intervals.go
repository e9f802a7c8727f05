package verify

import (
	"fmt"

	"ppal/internal/promise"
	"ppal/internal/rates"
	"ppal/trainer/session"
)

// sure is the largest share of doubtful rows with which a claim without a unit, such as whether a
// promise holds, must be equal.
const sure = 1e-9

// fromDoubt is the tolerance of an interval's ends and of a promised bound, for the share of rows
// whose decision is doubtful. An end moves by little more than the share of rows that moves it.
func fromDoubt(share float64) float64 { return 4*share + rounding }

// intervals compares the intervals of the constraints on held-out decisions, and the promises. The
// evaluator of part k has counted the part's decisions.
func (c *check) intervals(k int) error {
	o, p := c.summary.Outcome, &c.in.Parts[k]
	e, ok := c.parts[k].(*linear)
	if !ok {
		if k == 0 {
			c.report.skip("the intervals of the constraints on decisions: only problems with bounds in words have a check")
		}
		return nil
	}
	if p.Name == session.Training {
		return nil
	}
	if p.Name == session.Validation && c.in.Confidence > 0 {
		return c.promises(e)
	}
	for j, s := range c.in.System.Subject {
		d := &o.Constraints[j]
		var want *[2]float64
		if e.last.Values[j].Defined {
			want = rates.IntervalOf(s, e.last.CountedSets(j), rates.Level)
		}
		if p.Name == session.Validation {
			c.interval(sectionDecisions, fmt.Sprintf("validation interval of %s", d.Constraint), d.ValidationInterval, want, e.doubt)
		}
		if k == len(c.in.Parts)-1 {
			c.interval(sectionDecisions, fmt.Sprintf("interval of %s", d.Constraint), d.Interval, want, e.doubt)
		}
	}
	return nil
}

// interval compares an interval.
func (c *check) interval(section, quantity string, reported, want *[2]float64, doubt float64) {
	switch {
	case reported == nil && want == nil:
	case reported == nil || want == nil:
		if doubt < sure {
			c.report.problem("%s: summary.json and the check differ in whether there is an interval", quantity)
		}
	default:
		for i, end := range [2]string{"lower", "upper"} {
			c.report.compare(section, end+" end of the "+quantity, reported[i], number{want[i], fromDoubt(doubt), true})
		}
	}
}

// promises compares the promises with the counts of the validation rows.
func (c *check) promises(e *linear) error {
	o, r := c.summary.Outcome, c.report
	if o.Confidence == 0 {
		r.skip("the promises: summary.json has none")
		return nil
	}
	r.exact(sectionDecisions, "confidence", o.Confidence, c.in.Confidence)
	plan, err := promise.New(c.in.System, e.p.Sample.Rows(), c.in.Confidence)
	if err != nil {
		return err
	}
	for j, want := range plan.Check(e.last.Hits) {
		d := &o.Constraints[j]
		got := d.Promise
		if got == nil {
			r.problem("%s: summary.json says nothing about a promise", d.Constraint)
			continue
		}
		allow := func(x float64) number { return number{x, fromDoubt(e.doubt), true} }
		r.compare(sectionDecisions, "promised bound of "+d.Constraint, got.Supported, allow(want.Supported))
		r.compare(sectionDecisions, "least bound to promise of "+d.Constraint, got.Least, allow(want.Least))
		if e.doubt >= sure {
			continue
		}
		if got.Holds != want.Holds {
			r.problem("%s is promised: %t in summary.json, and %t recomputed", d.Constraint, got.Holds, want.Holds)
		}
		r.exact(sectionDecisions, "rows of the promise of "+d.Constraint, float64(got.Rows), float64(want.Rows))
		r.exact(sectionDecisions, "rows needed by the promise of "+d.Constraint, float64(got.Needed), float64(want.Needed))
	}
	return nil
}
