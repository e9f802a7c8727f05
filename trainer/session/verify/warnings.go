package verify

import (
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// warnings compares the warnings and notes that follow from the settings, the data, and the last
// counted decisions of the training rows. The others are listed as not checked.
func (c *check) warnings(before results.Provenance) {
	if before.Version != c.in.Version {
		c.report.skip("warnings, notes: the version %s of ppal wrote the run, and this is %s", before.Version, c.in.Version)
		return
	}
	var expected [][]results.WarningCode
	if r := c.parts[0]; c.summary.Outcome != nil {
		if c.in.BoundsOn == constraints.OnDecisions {
			expected = append(r.small(), c.ofDecisions(r)...)
		}
		expected = append(expected, c.oneSided(r)...)
	}
	c.sentences("warnings", c.summary.Warnings, append(slices.Clip(c.in.Warnings), c.unpromised...), c.coded(expected))
	c.sentences("notes", c.summary.Notes, c.in.Notes, nil)
}

// coded checks that each code of summary.json has its sentence in the list of warnings, and that
// each entry of expected has one of its codes in summary.json, with the same claim; "" is any
// claim. coded returns the places of the expected warnings.
func (c *check) coded(expected [][]results.WarningCode) (places []int) {
	list := c.summary.Warnings
	for k, own := range c.summary.WarningCodes {
		if at := own.Warning; at < 0 || at >= len(list) || own.Sentence() != list[at] {
			c.report.problem("warning_codes[%d] does not have the sentence of warnings[%d]", k, at)
			return nil
		}
	}
	for _, any := range expected {
		found := false
		for _, own := range c.summary.WarningCodes {
			for _, want := range any {
				if own.Code == want.Code && (own.Claim == want.Claim || want.Claim == "") {
					places, found = append(places, own.Warning), true
				}
			}
		}
		if !found {
			c.report.problem("warnings: summary.json lacks the warning %s: %q", any[0].Code, any[0].Claim)
		}
	}
	for k, own := range c.summary.WarningCodes {
		if !slices.Contains(places, own.Warning) {
			c.report.skip("warning_codes[%d].code: only the run knew it", k)
		}
	}
	return places
}

// sentences checks that the list under a key of summary.json has each of the whole sentences. It
// reports that the advice of the sentences at the places claimed, and all other sentences, are not
// checked.
func (c *check) sentences(key string, list, whole []string, claimed []int) {
	for _, text := range whole {
		if !slices.Contains(list, text) {
			c.report.problem("%s: summary.json lacks %q", key, text)
		}
	}
	for k, own := range list {
		switch {
		case slices.Contains(whole, own):
		case slices.Contains(claimed, k):
			c.report.skip("%s[%d]: the advice at the end of %q", key, k, own)
		default:
			c.report.skip("%s[%d]: only the run knew it: %q", key, k, own)
		}
	}
}

// small returns the warnings about constraints with inequalities in which one row weighs too much.
// The warning names one of those in which it weighs the most.
func (r *evaluator) small() (list [][]results.WarningCode) {
	rows := r.p.Population
	none := &decided{scores: make([]float64, len(r.p.Classes)), class: make([]int, len(r.p.Classes)), unsure: make([]bool, len(r.p.Classes)), rows: rows,
		chance: func(int, int) float64 { return 0 }, miss: func(int, int) float64 { return 1 }, loss: func(int, int) float64 { return 0 }}
	for j, p := range r.plans {
		subject := r.in.System.Subject[j]
		v := p.count(none, subject.IsAtLeast())
		if p.rate == "loss" || p.form == "l1" {
			continue
		}
		var claims []results.WarningCode
		unit := subject.Measure().Unit()
		largest := p.most(subject.Bound()) * (1 + 1e-12)
		for _, q := range p.inequalities(v, subject.Bound(), subject.IsAtLeast()) {
			weight := q.tolerance // in the unit of the rates, because no decision is known
			if weight < largest*(1-1e-12) || weight <= p.most(subject.Bound())*(1+1e-12) {
				continue
			}
			if weight > largest*(1+1e-12) {
				claims = nil
			}
			largest = weight
			e := p.exceeded(q, v, constraints.NotJudged, subject.Bound(), rows)
			if p.form == "ratio" { // the number of rows depends on the rates
				e.MinRows = 0
			}
			for i, t := range q.rates {
				if p.rate == "precision" { // of all rows: the decisions are not known
					e.Rows[i] = t.base.rows
				}
			}
			claims = append(claims, claim(session.WarnUnjudged, "%s: one %s of the smallest group changes the value by more than %.2g, so that the constraint may end as \"%s\"",
				subject, unit, p.most(subject.Bound()), e.Unjudged(unit)))
		}
		if claims != nil {
			list = append(list, claims)
		}
	}
	return list
}

// When a run warns of its decisions: of few accepted rows, in number and as a share, and of a
// costly threshold.
const (
	fewRows    = 10
	fewShare   = 0.01
	costlyStep = 0.005
)

// claim returns a code with its claim.
func claim(code trainer.WarningCode, format string, args ...any) results.WarningCode {
	return results.WarningCode{Code: string(code), Claim: fmt.Sprintf(format, args...)}
}

// ofDecisions returns the warnings about the decisions that r has counted.
func (c *check) ofDecisions(r *evaluator) (list [][]results.WarningCode) {
	add := func(code trainer.WarningCode, format string, args ...any) {
		list = append(list, []results.WarningCode{claim(code, format, args...)})
	}
	n := len(r.decided)
	accepted, positive := 0, 0
	for i, k := range r.decided {
		if k == 1 {
			accepted++
		}
		if r.p.Classes[i] == 1 {
			positive++
		}
	}
	pairs := c.in.System.OfPairs()
	switch {
	case r.doubt > rounding: // the run may have decided otherwise
		return nil
	case pairs && r.flat():
		add(session.WarnOneSided, "the model orders nothing: all documents of a query have the same score, so that every pair error is 0.5")
	case pairs:
	case r.outputs == 1 && accepted > 0 && accepted < positive && (accepted < fewRows || float64(accepted) < fewShare*float64(n)):
		add(session.WarnFewPositive, "the model accepts only %d of %d training rows, and %d are positive: the rates of so few rows say little", accepted, n, positive)
	}
	if over := r.exceeded(); over > 0 {
		what := "no threshold"
		switch {
		case pairs:
			what = "no ranking that the search found"
		case r.outputs > 1:
			what = "no offsets of the classes that the search found"
		}
		add(session.WarnUnmet, "%s meets all bounds on the decisions of the training rows: they are missed by %.3g in all", what, over)
	}
	if cost := c.summary.Outcome.ThresholdCost; c.in.Confidence == 0 && cost > costlyStep {
		what := "threshold"
		if pairs {
			what = "step"
		}
		add(session.WarnCost, "the exact %s costs %.1f points of the objective (%s)", what, 100*cost, c.in.System.Minimize)
	}
	return list
}

// oneSided compares the class as which the run decides nearly all training rows, and returns the
// codes of which the run must have one: it may warn of a collapsed training or of few accepted rows
// instead.
func (c *check) oneSided(r *evaluator) [][]results.WarningCode {
	if c.in.System.OfPairs() || slices.Contains(r.unsure, true) {
		return nil // the run may have decided otherwise
	}
	classes := r.p.Rows.Classes
	actual, decided := make([]mass, len(classes)), make([]mass, len(classes))
	var every mass
	for i, k := range r.decided {
		w := weightOf(r.p.Population, i)
		actual[r.p.Classes[i]].add(w)
		decided[k].add(w)
		every.add(w)
	}
	mean := every.weight / float64(every.rows)
	kept, givenUp := -1, 0
	for k, d := range decided {
		few := d.weight < fewRows*mean || d.weight < fewShare*every.weight
		switch {
		case few && 10*d.weight < actual[k].weight:
			givenUp++
		case d.rows == 0: // no row is of the class
		case kept >= 0:
			givenUp = -len(classes)
		default:
			kept = k
		}
	}
	only := ""
	if givenUp > 0 {
		only = classes[kept].Name
	}
	if own := c.summary.Outcome.Decides; own != only {
		c.report.problem("decides is %q in summary.json, and %q by the decisions", own, only)
	}
	if only == "" {
		return nil
	}
	return [][]results.WarningCode{{claim(session.WarnOneSided, ""), claim(session.WarnFewPositive, ""), claim(trainer.WarnCollapsed, "")}}
}

// exceeded returns the sum of the amounts by which the counted decisions exceed the inequalities.
// Comparisons and losses count beyond their tolerance, and norms do not count.
func (r *evaluator) exceeded() (sum float64) {
	for j, p := range r.plans {
		subject := r.in.System.Subject[j]
		if p.form == "l1" {
			continue
		}
		for _, q := range p.inequalities(r.values[j], subject.Bound(), subject.IsAtLeast()) {
			over := q.over
			if p.compares() || p.rate == "loss" {
				over -= q.tolerance
			}
			if over > rounding {
				sum += over
			}
		}
	}
	return sum
}
