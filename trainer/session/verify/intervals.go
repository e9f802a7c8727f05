package verify

import (
	"ppal/internal/promise"
	"ppal/internal/rates"
	"ppal/internal/statistics"
	"ppal/trainer/session"
)

// sure is the largest share of doubtful rows with which a claim without a unit, such as whether a
// promise holds, must be equal.
const sure = 1e-9

// fromDoubt is the tolerance of an interval's ends and of a promised bound, for the share of rows
// whose decision is doubtful. An end moves by little more than the share of rows that moves it.
func fromDoubt(share float64) float64 { return 4*share + rounding }

// intervals compares the intervals of the constraints and of the objective on held-out decisions,
// and the promises. The evaluator of part k has counted the part's decisions.
func (c *check) intervals(k int, scores []float64) error {
	o, p := c.summary.Outcome, &c.in.Parts[k]
	if len(c.in.Parts) == 1 {
		c.noIntervals()
	}
	if p.Name == session.Training {
		return nil
	}
	doubt := 0.0
	if e, ok := c.parts[k].(*linear); ok {
		doubt = e.doubt
	} else if e := scoreError(c.summary.Products) * largest(scores); c.unsure(k, scores, e) {
		doubt = 1
	}
	objective, list := c.parts[k].intervals(scores)
	compare := func(of string, interval, validation *[2]float64, want *[2]float64) {
		if p.Name == session.Validation {
			c.interval(sectionDecisions, "validation interval of "+of, validation, want, doubt)
		} else if len(c.in.Parts) == 2 && validation != nil {
			c.report.problem("validation interval of %s: the run has no validation rows", of)
		}
		if k == len(c.in.Parts)-1 {
			c.interval(sectionDecisions, "interval of "+of, interval, want, doubt)
		}
	}
	compare("objective_on_decisions", o.Objective.Interval, o.Objective.ValidationInterval, objective)
	if p.Name == session.Validation && c.in.Confidence > 0 {
		if k == len(c.in.Parts)-1 {
			c.noIntervals()
		}
		return c.promises(c.parts[k].(*linear))
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

// unsure reports whether an error e of the scores can change a decision on part k.
func (c *check) unsure(k int, scores []float64, e float64) bool {
	outputs := c.in.Outputs()
	for i := range c.in.Parts[k].Classes {
		if unsureOf(scores[i*outputs:][:outputs], e) {
			return true
		}
	}
	return false
}

// clopperPearson returns the interval of a rate; nil without rows.
func clopperPearson(hits, rows int) *[2]float64 {
	if rows == 0 {
		return nil
	}
	i := statistics.ClopperPearson(hits, rows, rates.Level)
	return &[2]float64{i.Low, i.High}
}

// wrongOf returns the numbers of wrong decisions and of rows in a list of rows.
func wrongOf(rows []int, wrong func(i int) bool) (c statistics.Count) {
	for _, i := range rows {
		if c.Rows++; wrong(i) {
			c.Hits++
		}
	}
	return c
}

func (r *linear) intervals([]float64) (objective *[2]float64, list []*[2]float64) {
	for j, s := range r.in.System.Subject {
		var own *[2]float64
		if r.values[j].defined {
			own = rates.IntervalOf(s, r.values[j].rates(r.plans[j]), rates.Level)
		}
		list = append(list, own)
	}
	m, classes := r.minimised, len(r.p.Rows.Classes)
	whole := m.selectors == nil
	ofClass := len(m.selectors) == 1 && m.sets[0][0].class >= 0
	if t := r.objective.sets[0][0]; m.rate != "loss" && t.halves == nil && (whole || m.rate == "error" && ofClass && classes > 2) {
		objective = clopperPearson(t.hits, t.rows)
	}
	return objective, list
}

func (m *margins) intervals(scores []float64) (objective *[2]float64, list []*[2]float64) {
	c := len(m.size)
	wrong := make([]statistics.Count, c)
	for i, own := range m.of {
		if wrong[own].Rows++; largestAt(scores[i*c:][:c]) != own {
			wrong[own].Hits++
		}
	}
	for k, n := range wrong {
		i := clopperPearson(n.Hits, n.Rows)
		switch {
		case k > 0:
			list = append(list, i)
		case c > 2: // with two classes no rate of the tables is the error of the first
			objective = i
		}
	}
	return objective, list
}

// errorInterval returns the interval of the error of all rows.
func (b *binary) errorInterval(scores []float64) *[2]float64 {
	n := wrongOf(all(len(scores)), b.wrongly(scores))
	return clopperPearson(n.Hits, n.Rows)
}

// wrongly returns whether the decision on a row is wrong.
func (b *binary) wrongly(scores []float64) func(i int) bool {
	return func(i int) bool { return (scores[i] > 0) != (b.y[i] > 0) }
}

func (g *gaps) intervals(scores []float64) (objective *[2]float64, list []*[2]float64) {
	level, together := rates.Level, [2]float64{}
	if g.form == session.LargestGap {
		level = 1 - (1-level)/float64(len(g.sides))
	}
	complete := true
	for _, sides := range g.sides {
		var counts []statistics.Count
		for _, rows := range sides {
			counts = append(counts, wrongOf(rows, func(i int) bool { return scores[i] > 0 }))
		}
		if counts[0].Rows == 0 || counts[1].Rows == 0 {
			list, complete = append(list, nil), false
			continue
		}
		i := statistics.Gap(counts, level)
		list = append(list, &[2]float64{i.Low, i.High})
		together = [2]float64{max(together[0], i.Low), max(together[1], i.High)}
	}
	switch {
	case g.form == session.LargestGap && complete:
		list = []*[2]float64{&together}
	case g.form == session.LargestGap:
		list = []*[2]float64{nil}
	}
	return g.errorInterval(scores), list
}

func (g *groups) intervals(scores []float64) (objective *[2]float64, list []*[2]float64) {
	wrong := g.wrongly(scores)
	total := wrongOf(all(len(scores)), wrong)
	excess := func(groups ...[]int) *[2]float64 {
		var counts []statistics.Count
		for _, rows := range groups {
			if len(rows) > 0 {
				counts = append(counts, wrongOf(rows, wrong))
			}
		}
		if counts == nil {
			return nil
		}
		i := statistics.Excess(total, counts, rates.Level)
		return &[2]float64{i.Low, i.High}
	}
	switch {
	case g.mean:
		list = []*[2]float64{nil}
	case g.own:
		for _, rows := range g.rows {
			list = append(list, excess(rows))
		}
	default:
		list = []*[2]float64{excess(g.rows...)}
	}
	return g.errorInterval(scores), list
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
		return nil
	}
	r.exact(sectionDecisions, "confidence", o.Confidence, c.in.Confidence)
	promised, err := promise.New(c.in.System, e.p.Sample.Rows(), c.in.Confidence)
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
		if text := promised.Sentence(j, promise.Promise(*got)); text != "" {
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
