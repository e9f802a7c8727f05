package verify

import (
	"ppal/internal/rates"
	"ppal/trainer/session/results"
)

// sure is the largest share of doubtful rows with which a claim without a unit, such as whether a
// promise holds, must be equal.
const sure = 1e-9

// fromDoubt is the tolerance of an interval's ends and of a promised bound, for the share of rows
// whose decision is doubtful. An end moves by little more than the share of rows that moves it.
func fromDoubt(share float64) float64 { return 4*share + rounding }

// intervals compares the intervals of the constraints and of the objective on held-out decisions,
// and the promises. The evaluator of part k has counted the part's decisions.
func (c *check) intervals(k int) error {
	o, p := c.summary.Outcome, &c.in.Parts[k]
	if len(c.in.Parts) == 1 {
		c.noIntervals()
	}
	if p.Name == results.Training {
		return nil
	}
	doubt := c.parts[k].doubt
	objective, list := c.parts[k].intervals()
	compare := func(name string, interval, validation *[2]float64, want *[2]float64) {
		if p.Name == results.Validation {
			c.interval(sectionDecisions, "validation interval of "+name, validation, want, doubt)
		} else if len(c.in.Parts) == 2 && validation != nil {
			c.report.problem("validation interval of %s: the run has no validation rows", name)
		}
		if k == len(c.in.Parts)-1 {
			c.interval(sectionDecisions, "interval of "+name, interval, want, doubt)
		}
	}
	compare("objective_on_decisions", o.Objective.Interval, o.Objective.ValidationInterval, objective)
	if p.Name == results.Validation && c.in.Confidence > 0 {
		if k == len(c.in.Parts)-1 {
			c.noIntervals()
		}
		return c.promises(c.parts[k])
	}
	for j, want := range list {
		d := &o.Constraints[j]
		validation := d.ValidationInterval
		if c.in.Confidence > 0 && validation != nil {
			c.report.problem("validation interval of %s: the validation rows chose the threshold", d.Constraint)
		}
		compare(d.Constraint, d.Interval, validation, want)
	}
	return nil
}

// noIntervals reports intervals of constraints without held-out rows.
func (c *check) noIntervals() {
	for j := range c.summary.Outcome.Constraints {
		d := &c.summary.Outcome.Constraints[j]
		for _, i := range []*[2]float64{d.Interval, d.ValidationInterval} {
			c.interval(sectionDecisions, "interval of "+d.Constraint, i, nil, 0)
		}
	}
}

// clopperPearson returns the interval of a rate; nil without rows.
func clopperPearson(hits, rows mass, weighted bool) *[2]float64 {
	if rows.rows == 0 {
		return nil
	}
	i := rates.ClopperPearson(hits.rows, rows.rows, rates.Level)
	if weighted {
		i = rates.Weighted{Rate: hits.weight / rows.weight, Rows: rows.effective()}.Interval(rates.Level)
	}
	return &[2]float64{i.Low, i.High}
}

// intervals returns the 95% intervals of the minimised rate and of the constraints on decisions, on
// held-out rows; nil: none. The caller calls decisions first.
func (r *evaluator) intervals() (objective *[2]float64, list []*[2]float64) {
	if r.in.System.OfPairs() {
		for j, v := range r.values {
			list = append(list, r.plans[j].interval(v))
		}
		return r.minimised.interval(r.objective), list
	}
	for j, s := range r.in.System.Subject {
		var own *[2]float64
		if r.values[j].defined {
			own = rates.IntervalOf(s, r.values[j].rates(r.plans[j]), rates.Level)
		}
		list = append(list, own)
	}
	if t := r.objective.sets[0][0]; !r.minimised.isLoss() && t.parts == nil {
		objective = clopperPearson(t.hit, t.all, t.weighted)
	}
	return objective, list
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
func (c *check) promises(e *evaluator) error {
	o, r := c.summary.Outcome, c.report
	if o.Confidence == 0 {
		return nil
	}
	r.exact(sectionDecisions, "confidence", o.Confidence, c.in.Confidence)
	promised, err := rates.NewPromises(c.in.System, e.p.Sample.Rows(), c.in.Confidence)
	if err != nil {
		return err
	}
	for j, want := range promised.Check(e.hits) {
		d := &o.Constraints[j]
		got := d.Promise
		if got == nil {
			r.problem("%s: summary.json says nothing about a promise", d.Constraint)
			continue
		}
		if text := promised.Sentence(j, rates.Promise(*got)); text != "" {
			c.unpromised = append(c.unpromised, text)
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
