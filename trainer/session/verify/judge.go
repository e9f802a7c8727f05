package verify

import (
	"math"
	"slices"
	"strings"

	"ppal/constraints"
)

// inequality is one of the inequalities by which a constraint in words is judged.
type inequality struct {
	over      float64 // the amount by which the decisions exceed it, at most 0 if they do not
	tolerance float64 // the share of one row, the heaviest, in its smaller set of rows
	unit      float64 // factor from these units to the unit of the constraint's value
	rates     []tally // the one or two rates that it bounds
}

// lossTolerance is the absolute tolerance of a loss, and the tolerance of the l1 norm relative to
// the bound.
const lossTolerance = 1e-3

// inequalities lists the inequalities of a counted constraint:
//
//	rate <= b          rate - b <= 0
//	precision >= b     (b a - h)/n <= 0 for h right rows among a accepted rows of n
//	gap <= b           rate_x - rate_y - b <= 0 for each ordered pair of groups
//	ratio >= b         b rate_y - rate_x <= 0 for each ordered pair
//	excess <= b        rate_x - rate - b <= 0 for each group; a distance also rate - rate_x - b <= 0
//	mean_excess <= b   the mean of rate_x - rate - b <= 0
//
// Inequalities without rows are left out.
func (p *plan) inequalities(v counted, bound float64, atLeast bool) (list []inequality) {
	sign := 1.0
	if atLeast {
		sign = -1
	}
	if p.form == "l1" {
		return []inequality{{over: sign * (v.value - bound), tolerance: lossTolerance * bound, unit: 1}}
	}
	rate := func(t tally) float64 { return t.value(p.isLoss()) }
	add := func(over, unit float64, rates ...tally) {
		tolerance := 0.0
		for _, t := range rates {
			if t.base.rows == 0 {
				return
			}
			if t.parts == nil {
				tolerance = max(tolerance, t.base.heaviest())
			}
			for k, part := range t.parts {
				tolerance = max(tolerance, math.Abs(t.coefficients[k])*part.base.heaviest())
			}
		}
		if p.isLoss() {
			tolerance = lossTolerance
		}
		list = append(list, inequality{over, tolerance, unit, rates})
	}
	for _, set := range v.sets {
		if p.form == meanExcess { // one row of the smallest group moves the mean by its share
			share, tolerance := 1/float64(len(set)-1), set[0].base.heaviest()
			for _, t := range set[1:] {
				tolerance = max(tolerance, share*t.base.heaviest())
			}
			list = append(list, inequality{v.value - bound, tolerance, 1, set[:1]})
			continue
		}
		for a, x := range set {
			if !p.compares() {
				switch {
				case p.rate != "precision" || x.base.rows == 0:
					add(sign*(rate(x)-bound), 1, x)
				case x.rows == 0:
					add(0, 1, x)
				default:
					n := x.base.weight
					add(sign*(x.hit.weight-bound*x.all.weight)/n, n/x.all.weight, x)
				}
				continue
			}
			for b, y := range set {
				switch {
				case a == b:
				case p.form == "gap":
					add(rate(x)-rate(y)-bound, 1, x, y)
				case p.form == "ratio" && rate(y) > 0:
					add(bound*rate(y)-rate(x), 1/rate(y), x, y)
				case p.form == "ratio":
					add(bound*rate(y)-rate(x), 1, x, y)
				case b == 0 || a == 0 && p.form == "distance":
					add(rate(x)-rate(y)-bound, 1, x, y)
				}
			}
		}
	}
	return list
}

// The most that one row may weigh in a constraint that it makes met: an absolute weight, or a share
// of the bound; of a ratio, of 1 - bound.
const (
	leastResolution = 0.005
	shareOfBound    = 0.2
)

// judgement is a judgement of a constraint on counted decisions: the state, and the inequalities
// that are equally the worst.
type judgement struct {
	state constraints.State
	worst []inequality
}

// judge judges a counted constraint. An inequality is not met if the decisions exceed it by more
// than its tolerance. It cannot be judged if they exceed it by less and the tolerance is above
// most. The worst inequality decides.
func (p *plan) judge(v counted, bound float64, atLeast bool) (worst judgement) {
	states := []constraints.State{constraints.Met, constraints.MetToOneRow, constraints.NotJudged, constraints.NotMet}
	countsNoRows := p.isLoss() || p.form == "l1"
	if countsNoRows {
		states[1] = constraints.MetToTolerance
	}
	rank, by := -1, 0.0
	for _, q := range p.inequalities(v, bound, atLeast) {
		own := 3
		switch {
		case q.over <= 1e-12:
			own = 0
		case q.over > q.tolerance+1e-12:
		case !countsNoRows && q.tolerance*q.unit > p.most(bound)*(1+1e-12):
			own = 2
		default:
			own = 1
		}
		switch over := q.over * q.unit; {
		case own > rank, own == rank && over > by+rounding:
			rank, by, worst.worst = own, over, []inequality{q}
		case own == rank && over >= by-rounding:
			worst.worst = append(worst.worst, q)
		}
	}
	if worst.state = constraints.NotJudged; rank >= 0 {
		worst.state = states[rank]
	}
	return worst
}

// most returns the largest weight of one row that makes a constraint met.
func (p *plan) most(bound float64) float64 {
	if p.form == "ratio" {
		bound = 1 - bound
	}
	return max(leastResolution, shareOfBound*bound)
}

// exceeded describes an inequality that decisions exceed, as summary.json does. state is the
// judgement.
func (p *plan) exceeded(q inequality, v counted, state constraints.State, bound float64, rows *constraints.Population) *constraints.Exceeded {
	e := &constraints.Exceeded{By: q.over * q.unit}
	least := math.MaxInt
	for _, t := range q.rates {
		e.Groups, e.Rows, e.Values = append(e.Groups, t.subset.name(rows)), append(e.Rows, t.rows), append(e.Values, t.value(p.isLoss()))
		least = min(least, t.base.size())
	}
	if state == constraints.NotJudged {
		if n := int(math.Ceil(float64(least)*q.tolerance*q.unit/p.most(bound) - 1e-12)); p.remain(v, n) {
			e.MinRows = n
		}
	}
	return e
}

// remain reports whether enough groups have n training rows, so that the constraint can leave out
// the others.
func (p *plan) remain(v counted, n int) bool {
	if !p.compares() && len(v.sets) < 2 {
		return false
	}
	total, needed := 0, 1
	if p.compares() && !p.withAll() {
		needed = 2
	}
	for _, set := range v.sets {
		own := 0
		for k, t := range set {
			if t.base.size() >= n && (k > 0 || !p.withAll()) {
				own++
			}
		}
		if total += own; p.compares() && own < needed {
			return false
		}
	}
	return total >= needed
}

// name names the rows of a subset.
func (s subset) name(p *constraints.Population) string {
	attributes, values := names(p)
	where := slices.Clone(s.where)
	slices.SortFunc(where, func(a, b place) int { return strings.Compare(attributes[a.attribute], attributes[b.attribute]) })
	var list []string
	for _, w := range where {
		list = append(list, constraints.GroupName(attributes[w.attribute], values[w.attribute][w.value]))
	}
	if s.query != "" {
		list = append(list, constraints.GroupName(namedQueries, s.query))
		slices.SortFunc(list, strings.Compare)
	}
	if s.class >= 0 {
		list = append(list, "class "+p.Classes[s.class])
	}
	if list == nil {
		return constraints.AllRows
	}
	return strings.Join(list, ", ")
}

// met compares the judgement of constraint j on the training rows. n is its value.
func (c *check) met(j int, n number) {
	d, report := &c.summary.Outcome.Constraints[j], c.report
	r := c.parts[0]
	p, v, bound := r.plans[j], r.values[j], r.in.System.Subject[j].Bound()
	want := p.judge(v, bound, r.in.System.Subject[j].IsAtLeast())
	// a decision or a loss is in doubt, so that other inequalities may be the worst
	doubtful := r.doubt > rounding || p.isLoss() || p.form == "l1"
	if d.State == "" { // of an earlier version
		if d.Met != want.state.Holds() && math.Abs(n.value-d.Bound) > n.tolerance {
			report.problem("%s is met: %t in summary.json, and %s recomputed", d.Constraint, d.Met, want.state)
		}
		return
	}
	if d.Met != d.State.Holds() || d.State != want.state && (!doubtful || math.Abs(n.value-d.Bound) > n.tolerance) {
		report.problem("%s is met: %t (%s) in summary.json, and %s recomputed", d.Constraint, d.Met, d.State, want.state)
		return
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= max(rounding, n.tolerance) }
	fits := len(want.worst) == 0 && d.Tolerance == 0 && d.Exceeded == nil || doubtful && d.State != want.state
	for _, q := range want.worst {
		own := near(q.tolerance*q.unit, d.Tolerance)
		if exceeds := d.State != constraints.Met; own && exceeds && d.Exceeded != nil {
			e, g := p.exceeded(q, v, d.State, bound, r.p.Population), d.Exceeded
			own = near(e.By, g.By) && e.MinRows == g.MinRows && slices.Equal(e.Groups, g.Groups) &&
				slices.Equal(e.Rows, g.Rows) && slices.EqualFunc(e.Values, g.Values, near)
		} else {
			own = own && exceeds == (d.Exceeded != nil)
		}
		fits = fits || own
	}
	if !fits {
		report.problem("tolerance, exceeded: %s is %s with %v and %+v in summary.json, and the check finds no such inequality", d.Constraint, d.State, d.Tolerance, d.Exceeded)
	}
}
