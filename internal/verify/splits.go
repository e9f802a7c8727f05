package verify

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"ppal/constraints"
	"ppal/trainer/session"
)

// scoreError returns the largest error of a training device's score, relative to max(1, max
// |score|), for the kind of products: a generous multiple of the errors in docs/products.md.
func scoreError(products string) float64 {
	switch products {
	case "float64":
		return 1e-9
	case string(session.Int8x2), string(session.BF16x2):
		return 2e-4
	case string(session.TF32):
		return 1e-3
	}
	return 5e-6
}

// largest returns max(1, max |x|).
func largest(x []float64) float64 {
	m := 1.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// splits compares the measures, the decisions and the rates of every split.
func (c *check) splits() error {
	s := &c.summary
	n := c.output.as(true, nil)
	var moved *network
	if c.in.System != nil && c.output.normalized {
		moved = c.output.as(true, rand.New(rand.NewPCG(moveSeed, 1)))
	}
	for k := range c.in.Parts {
		p := &c.in.Parts[k]
		scores := n.scores(p.Features)
		allowed := slack{}
		if e, ok := c.parts[k].(*linear); ok { // counted on float64 scores
			e.norm, e.shifts = n.l1(), nil
			allowed = slackOf(e, scores, len(c.in.Constraints), 1e-12*largest(scores))
			if moved != nil {
				allowed = movedBy(e, scores, moved.scores(p.Features))
			}
		} else {
			allowed = slackOf(c.parts[k], scores, len(c.in.Constraints), scoreError(s.Products)*largest(scores))
		}
		if err := c.measures(k, scores, allowed); err != nil {
			return err
		}
		if err := c.decisions(k, scores, allowed); err != nil {
			return err
		}
		if s.Outcome != nil {
			if err := c.intervals(k); err != nil {
				return err
			}
		}
		if t := s.Rates[p.Name]; t != nil {
			c.rates(p, t, scores, allowed.score)
		}
	}
	return nil
}

// movedBy returns the errors that the move of the weights measures.
func movedBy(v evaluator, scores, moved []float64) slack {
	var s slack
	for i, x := range moved {
		s.score = max(s.score, moveFactor*math.Abs(x-scores[i]))
	}
	f, g := v.smooth(scores)
	other, h := v.smooth(moved)
	s.f = moveFactor * math.Abs(f-other)
	for j := range g {
		s.f = max(s.f, moveFactor*math.Abs(g[j]-h[j]))
	}
	for range g {
		s.g = append(s.g, s.f)
	}
	return s
}

// measures compares the measures of a split.
func (c *check) measures(k int, scores []float64, e slack) error {
	p, reported := &c.in.Parts[k], map[session.Split]map[string]float64{
		session.Training: c.summary.Train, session.Validation: c.summary.Validation, session.Test: c.summary.Test}
	list, err := c.parts[k].measures(scores, e)
	if err != nil {
		return err
	}
	own := reported[p.Name]
	known := map[string]bool{}
	for _, m := range list {
		known[m.name] = true
		if v, ok := own[m.name]; ok {
			c.report.compare(string(p.Name), fmt.Sprintf("%s.%s", p.Name, m.name), v, m.number)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !known[name] {
			c.report.skip("%s.%s: the check does not know the measure", p.Name, name)
		}
	}
	return nil
}

// decisions compares the outcome on counted decisions.
func (c *check) decisions(k int, scores []float64, e slack) error {
	o, p, r := c.summary.Outcome, &c.in.Parts[k], c.report
	if o == nil {
		if k == 0 {
			r.skip("decisions: summary.json has none")
		}
		return nil
	}
	objective, list, err := c.parts[k].decisions(scores, e.score)
	if err != nil {
		return err
	}
	if len(list) != len(o.Constraints) {
		return fmt.Errorf("summary.json has %d constraints on decisions, the task has %d", len(o.Constraints), len(list))
	}
	same := func(quantity string, v *float64, n number) {
		switch {
		case v == nil && !n.defined:
		case v == nil || !n.defined:
			r.problem("%s: summary.json and the check differ in whether there are rows", quantity)
		default:
			r.compare(sectionDecisions, quantity, *v, n)
		}
	}
	same(fmt.Sprintf("objective_on_decisions.%s (%s)", p.Name, o.Objective.Name), o.Objective.Of(p.Name), objective)
	smooth := c.parts[k].meanings()
	_, g := c.parts[k].smooth(scores)
	for j, n := range list {
		d := o.Constraints[j]
		if in := c.in.System; k == 0 && in != nil && d.Constraint != in.Subject[j].String() {
			r.problem("decisions[%d] is about %q, and config.yaml states %q", j, d.Constraint, in.Subject[j])
		}
		same(fmt.Sprintf("%s of %s", p.Name, d.Constraint), d.Of(p.Name), n)
		if k > 0 {
			continue
		}
		if d.Surrogate != nil && c.in.System == nil {
			v := math.Inf(-1)
			for _, i := range smooth[j] {
				v = max(v, g[i]+c.in.Constraints[smooth[j][0]].Bound)
			}
			r.compare(sectionDecisions, "surrogate of "+d.Constraint, *d.Surrogate, smoothNumber(v, worst(e.g)))
		}
		c.met(j, n)
	}
	return nil
}

// met compares the judgement of a constraint on the training rows.
func (c *check) met(j int, n number) {
	d := c.summary.Outcome.Constraints[j]
	want := constraints.Judgement{State: constraints.NotMet}
	if n.defined && n.value <= d.Bound {
		want.State = constraints.Met
	}
	exact := true // no decision is in doubt
	if r, ok := c.parts[0].(*linear); ok {
		want, exact = r.last.Judge(j), r.doubt <= rounding && !r.in.System.DependsOnLoss(j)
	}
	switch {
	case d.State == "": // of an earlier version
		if d.Met != want.State.Holds() && math.Abs(n.value-d.Bound) > n.tolerance {
			c.report.problem("%s is met: %t in summary.json, and %s recomputed", d.Constraint, d.Met, want.State)
		}
	case want.State != d.State && (exact || math.Abs(n.value-d.Bound) > n.tolerance), d.Met != d.State.Holds():
		c.report.problem("%s is met: %t (%s) in summary.json, and %s recomputed", d.Constraint, d.Met, d.State, want.State)
	case exact && math.Abs(want.Tolerance-d.Tolerance) > rounding:
		c.report.problem("the tolerance of %s is %v in summary.json, and %v recomputed", d.Constraint, d.Tolerance, want.Tolerance)
	case exact && !sameExceeded(want.Exceeded, d.Exceeded):
		c.report.problem("summary.json says that %s is exceeded by %+v, and the check %+v", d.Constraint, d.Exceeded, want.Exceeded)
	}
}

// sameExceeded compares two inequalities up to rounding.
func sameExceeded(a, b *constraints.Exceeded) bool {
	if a == nil || b == nil {
		return a == b
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= rounding }
	return near(a.By, b.By) && a.MinRows == b.MinRows && slices.Equal(a.Groups, b.Groups) && slices.Equal(a.Rows, b.Rows) && slices.EqualFunc(a.Values, b.Values, near)
}
