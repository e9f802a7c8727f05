package verify

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"ppal/constraints"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// scoreError returns the largest error of a training device's score, relative to max(1, max
// |score|), for the kind of products: a generous multiple of the errors in
// docs/reference/products.md.
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
	var moved model
	if c.output.normalized {
		moved = c.output.as(true, rand.New(rand.NewPCG(moveSeed, 1)))
	}
	for k := range c.in.Parts {
		p := &c.in.Parts[k]
		scores := n.scores(p.Features)
		e := c.parts[k]
		e.norm, e.shifts = l1(c.in.Model, n), nil
		change := 1e-12 * largest(scores) // counted on float64 scores
		if moved != nil {
			change = movedBy(scores, moved.scores(p.Features))
		}
		allowed := slackOf(e, scores, len(c.in.Constraints), change)
		c.measures(k, scores, allowed)
		if err := c.decisions(k, scores, allowed); err != nil {
			return err
		}
		if s.Outcome != nil {
			if k == 0 {
				c.thresholdCost(scores, allowed.score)
			}
			if err := c.intervals(k); err != nil {
				return err
			}
		}
		if c.in.System.OfPairs() {
			continue // no decisions on rows
		}
		if t := s.Rates[p.Name]; t != nil {
			c.rates(p, t, scores, allowed.score)
		} else {
			c.report.problem("rates: summary.json has none of the %s rows", p.Name.Word())
		}
	}
	return nil
}

// movedBy returns the error of a score that the move of the weights measures. A function of all
// scores may change by chance much less in one move than in another, so that its error follows from
// that of the scores.
func movedBy(scores, moved []float64) (change float64) {
	for i, x := range moved {
		change = max(change, moveFactor*math.Abs(x-scores[i]))
	}
	return change
}

// measures compares the measures of a split.
func (c *check) measures(k int, scores []float64, e slack) {
	p, reported := &c.in.Parts[k], map[results.Split]map[string]float64{
		results.Training: c.summary.Train, results.Validation: c.summary.Validation, results.Test: c.summary.Test}
	list := c.parts[k].measures(scores, e)
	own := reported[p.Name]
	known := map[string]bool{}
	_, given := c.given()
	for _, m := range list {
		if known[m.name] = true; given && (m.name == "objective" || m.name == "max_violation") {
			continue // smooth functions, which thresholds do not use
		}
		if v, ok := own[m.name]; ok || m.defined {
			c.report.compare(string(p.Name), fmt.Sprintf("%s.%s", p.Name, m.name), v, m.number)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !known[name] {
			c.report.skip("%s.%s: the check does not know the measure", p.Name, name)
		}
	}
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
	objective, list := c.parts[k].decisions(scores, e.score)
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
	own := c.parts[k]
	var exceeded, nodes []float64
	if c.in.Nodes != nil {
		_, nodes = own.smooth(scores)
	} else {
		exceeded = own.inequalities(own.terms(scores))
	}
	for j, n := range list {
		d := o.Constraints[j]
		if in := c.in.System; k == 0 && d.Constraint != in.Subject[j].String() {
			r.problem("decisions[%d] is about %q, and config.yaml states %q", j, d.Constraint, in.Subject[j])
		}
		same(fmt.Sprintf("%s of %s", p.Name, d.Constraint), d.Of(p.Name), n)
		if k > 0 {
			continue
		}
		if d.Surrogate != nil && d.SurrogateMet != nil {
			over := math.Inf(-1)
			for i, b := range c.in.System.Bounds {
				if nodes == nil && b.Constraint == j {
					over = max(over, exceeded[i])
				}
			}
			smooth := own.values[j].smooth
			if nodes != nil {
				over, smooth = nodes[j], nodes[j]+c.in.Constraints[j].Bound
			}
			r.compare(sectionDecisions, "surrogate of "+d.Constraint, *d.Surrogate, smoothNumber(smooth, worst(e.g)))
			if met := over <= c.in.Tolerance; met != *d.SurrogateMet && math.Abs(over-c.in.Tolerance) > worst(e.g)+rounding {
				r.problem("surrogate_met of %s is %t in summary.json, and %t recomputed", d.Constraint, *d.SurrogateMet, met)
			}
		}
		c.met(j, n)
	}
	same("acceptance_rate."+string(p.Name), o.AcceptanceRate.Of(p.Name), c.accepted(k, scores, e.score))
	return nil
}

// accepted returns the share of the rows of a part that are decided as the second of two classes.
func (c *check) accepted(k int, scores []float64, e float64) number {
	p, outputs := &c.in.Parts[k], c.in.Outputs()
	if len(p.Rows.Classes) != 2 || c.in.System.OfPairs() {
		return number{}
	}
	return share(p.Population, all(len(p.Classes)), func(i int) bool {
		own := scores[i*outputs:][:outputs]
		return outputs == 1 && own[0] > 0 || outputs > 1 && largestAt(own) == 1
	}, func(i int) bool { return unsureOf(scores[i*outputs:][:outputs], e) })
}

// thresholdCost compares the increase of the objective on training decisions by the threshold.
func (c *check) thresholdCost(scores []float64, e float64) {
	r := c.parts[0]
	if c.in.BoundsOn != constraints.OnDecisions || c.mixed() {
		return
	}
	want := number{0, rounding, true} // decisions do not change a loss
	if !r.minimised.isLoss() {
		r.count(c.output.as(false, nil).scores(c.in.Parts[0].Features), e)
		before, doubt := r.objective.value, r.doubt
		r.count(scores, e)
		want = number{r.objective.value - before, 2*(doubt+r.doubt) + rounding, true}
	}
	c.report.compare(sectionDecisions, "threshold_cost", c.summary.Outcome.ThresholdCost, want)
}

// classNames returns the names of the classes of a part.
func classNames(p *session.Part) (names []string) {
	for _, c := range p.Rows.Classes {
		names = append(names, c.Name)
	}
	return names
}

// rates compares the rates of a split, counted in one pass over the rows.
func (c *check) rates(p *session.Part, t *results.RateTable, scores []float64, e float64) {
	r, outputs, classes := c.report, c.in.Outputs(), len(p.Rows.Classes)
	section := string(p.Name) + " rates"
	decided, unsure := make([]int, len(p.Classes)), make([]bool, len(p.Classes))
	for i := range decided {
		own := scores[i*outputs:][:outputs]
		unsure[i] = unsureOf(own, e)
		if outputs == 1 {
			if own[0] > 0 {
				decided[i] = 1
			}
		} else {
			decided[i] = largestAt(own)
		}
	}
	count := func(rows []int) (table [][]mass, doubtful mass) {
		table = make([][]mass, classes)
		for k := range table {
			table[k] = make([]mass, classes)
		}
		for _, i := range rows {
			w := weightOf(p.Population, i)
			table[p.Classes[i]][decided[i]].add(w)
			if unsure[i] {
				doubtful.add(w)
			}
		}
		return table, doubtful
	}
	if !slices.Equal(t.Classes, classNames(p)) || len(t.Confusion) != classes {
		r.problem("%s: summary.json has the classes %q, the data have %q", section, t.Classes, classNames(p))
		return
	}
	r.exact(section, "rows", float64(t.Rows), float64(len(p.Classes)))
	compare := func(where string, reported results.Rates, rows []int) [][]mass {
		table, doubtful := count(rows)
		shares := sharesOf(table, t.Classes)
		for name := range reported {
			if _, ok := shares[name]; !ok {
				r.problem("%s: summary.json has a rate %s%s that the check does not know", section, where, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(shares)) {
			counts := shares[name]
			v, ok := reported[name]
			switch {
			case !ok && counts[1].rows == 0:
			case !ok || counts[1].rows == 0 && doubtful.rows == 0:
				r.problem("%s: %s: summary.json and the check differ in whether there are rows", section, where+name)
			case counts[1].rows > 0:
				share := 2*doubtful.weight/counts[1].weight + 1e-12
				r.compare(section, fmt.Sprintf("rates.%s %s%s", p.Name, where, name), v.Value,
					number{counts[0].weight / counts[1].weight, share, true})
				r.compare(section, fmt.Sprintf("rows of rates.%s %s%s", p.Name, where, name), float64(v.Rows), number{float64(counts[1].rows), float64(doubtful.rows), true})
				if p.Population.Weights != nil {
					n := counts[1].effective()
					r.compare(section, fmt.Sprintf("effective rows of rates.%s %s%s", p.Name, where, name), v.Effective, number{n, 2*float64(doubtful.rows) + rounding*n, true})
				}
				if p.Name == results.Training {
					c.interval(section, fmt.Sprintf("interval of rates.%s %s%s", p.Name, where, name), v.Interval, nil, 0)
				} else {
					c.interval(section, fmt.Sprintf("interval of rates.%s %s%s", p.Name, where, name), v.Interval,
						clopperPearson(counts[0], counts[1], p.Population.Weights != nil), share)
				}
			}
		}
		return table
	}
	table := compare("", t.Overall, all(len(p.Classes)))
	_, doubtful := count(all(len(p.Classes)))
	for a, row := range t.Confusion {
		if len(row) != classes {
			r.problem("%s: the confusion matrix has %d numbers in row %d", section, len(row), a)
			continue
		}
		for d, n := range row {
			r.compare(section, fmt.Sprintf("confusion.%s[%d][%d]", p.Name, a, d), n, number{table[a][d].weight, doubtful.weight, true})
		}
	}
	if len(t.ByGroup) != len(p.Groups) {
		r.problem("%s: summary.json has %d groups, the data have %d", section, len(t.ByGroup), len(p.Groups))
		return
	}
	marked := results.RateTable{}
	for _, g := range t.ByGroup {
		g.Extremes = nil
		marked.ByGroup = append(marked.ByGroup, g)
	}
	marked.MarkExtremes(c.in.System.BoundGroups())
	for k, g := range p.Groups {
		if !maps.Equal(t.ByGroup[k].Extremes, marked.ByGroup[k].Extremes) {
			r.problem("%s: extremes of %s are %v in summary.json, and %v by the rates", section, g.Name, t.ByGroup[k].Extremes, marked.ByGroup[k].Extremes)
		}
		if t.ByGroup[k].Group != g.Name {
			r.problem("%s: summary.json has the group %q, the data have %q", section, t.ByGroup[k].Group, g.Name)
		}
		r.exact(section, fmt.Sprintf("rows of %s (%s)", g.Name, p.Name), float64(t.ByGroup[k].Rows), float64(len(g.Rows)))
		compare(g.Name+" ", t.ByGroup[k].Rates, g.Rows)
	}
}

// sharesOf returns the rates of a confusion matrix as hits and rows, by name.
func sharesOf(table [][]mass, classes []string) map[string][2]mass {
	var total, wrong mass
	actual, decided := make([]mass, len(table)), make([]mass, len(table))
	for a, row := range table {
		for d, n := range row {
			if total = total.plus(n); a != d {
				wrong = wrong.plus(n)
			}
			actual[a] = actual[a].plus(n)
			decided[d] = decided[d].plus(n)
		}
	}
	list := map[string][2]mass{results.ErrorRate: {wrong, total}}
	if len(table) == 2 {
		list[results.PositiveRate] = [2]mass{decided[1], total}
		list[results.TruePositiveRate] = [2]mass{table[1][1], actual[1]}
		list[results.FalsePositiveRate] = [2]mass{table[0][1], actual[0]}
		list[results.Precision] = [2]mass{table[1][1], decided[1]}
		return list
	}
	for k, class := range classes {
		list[results.RecallOf(class)] = [2]mass{table[k][k], actual[k]}
		list[results.PrecisionOf(class)] = [2]mass{table[k][k], decided[k]}
	}
	return list
}
