package constraints

import (
	"fmt"
	"math"
	"strings"

	"ppal/internal/option"
)

// State is the judgement of a constraint on counted decisions.
type State string

// AllRows is the name of a group without conditions.
const AllRows = "all rows"

// The states. The first three count as met. MetToTolerance is of losses and of the l1 norm, which
// count no rows.
const (
	Met            State = "met"
	MetToOneRow    State = "to one row"
	MetToTolerance State = "to 0.001"
	NotMet         State = "not met"
	NotJudged      State = "cannot be judged"
)

// Holds reports whether the state counts as met.
func (s State) Holds() bool { return s == Met || s.Nearly() }

// Nearly reports whether the state counts as met, although an inequality is exceeded.
func (s State) Nearly() bool { return s == MetToOneRow || s == MetToTolerance }

// Judgement says whether a constraint holds on counted decisions. All numbers have the unit of the
// constraint's value.
type Judgement struct {
	State State
	// Tolerance is the tolerance of the inequality that decides: the share of one row, the heaviest,
	// in the smaller of its cells.
	Tolerance float64
	// Exceeded is that inequality if the decisions exceed it, else nil.
	Exceeded *Exceeded
}

// Exceeded is an inequality that decisions exceed: the one or two groups whose rates it bounds. The
// JSON names are keys of summary.json.
type Exceeded struct {
	Groups []string  `json:"groups"`
	Rows   []int     `json:"rows"` // that the rate counts
	Values []float64 `json:"values"`
	By     float64   `json:"by"`
	// MinRows is the number of rows from which one row is little enough to judge the constraint, for
	// "min N"; 0: one row is little enough here, or the constraint has too few groups of that size.
	MinRows int `json:"min_rows,omitempty"`
}

// Unjudged says why the constraint cannot be judged, and what to do: "cannot be judged: group
// race=Other has 7 rows; use min 40". The unit is what the rate counts: see [Measure.Unit].
func (e *Exceeded) Unjudged(unit string) string { return "cannot be judged: " + e.WhyUnjudged(unit) }

// WhyUnjudged is Unjudged without the words "cannot be judged".
func (e *Exceeded) WhyUnjudged(unit string) string {
	text := e.smallest(unit)
	if e.MinRows > 0 {
		return fmt.Sprintf("%s; use %s %d", text, wordMin, e.MinRows)
	}
	return text + "; use more " + unit + "s or a looser bound"
}

// smallest names the smaller group with its size.
func (e *Exceeded) smallest(unit string) string {
	k := 0
	if len(e.Rows) > 1 && e.Rows[1] < e.Rows[0] {
		k = 1
	}
	name := e.Groups[k]
	switch {
	case name == AllRows:
		return "the rate counts " + option.Counted(e.Rows[k], unit)
	case !strings.HasPrefix(name, "class "):
		name = "group " + name
	}
	return fmt.Sprintf("%s has %s", name, option.Counted(e.Rows[k], unit))
}

const (
	// A tolerance above both resolution and a share of the bound cannot make a constraint met.
	resolution   = 0.005
	shareOfBound = 0.2

	roundOff      = 1e-12 // rounding error of sums of quotients
	lossTolerance = 1e-3  // absolute for a loss, relative for the l1 norm: the default feasibility tolerance
)

// MostTolerance returns the largest tolerance with which a constraint counts as met: 0.005, or a
// fifth of the bound if this is more. For a ratio it is a fifth of 1 - bound.
func (c Constraint) MostTolerance() float64 {
	share := c.bound
	if c.measure.IsRatio() {
		share = 1 - c.bound
	}
	return math.Max(resolution, shareOfBound*share)
}

// Judge judges constraint j. Each of its inequalities has a tolerance of its own: one row of the
// smaller cell that it counts. For a loss the tolerance is 0.001, for the l1 norm a thousandth of
// the bound. The worst inequality decides:
//
//   - NotMet: the decisions exceed an inequality by more than its tolerance.
//   - NotJudged: they exceed an inequality by at most its tolerance, and the tolerance is above
//     Constraint.MostTolerance. Also if the constraint has no rows to count.
//   - MetToOneRow: they exceed an inequality by at most its tolerance. For a loss and the l1 norm:
//     MetToTolerance.
//   - Met: they exceed no inequality.
//
// Decisions that accept no row meet a bound on a precision, because no accepted row is wrong.
func (c *Counted) Judge(j int) Judgement {
	list := []State{Met, MetToOneRow, NotJudged, NotMet} // from the best to the worst
	if c.system.DependsOnLoss(j) {
		list[1] = MetToTolerance
	}
	rank, worst, by, at := 0, Judgement{State: NotJudged}, math.Inf(-1), -1
	for k, b := range c.system.Bounds {
		if b.Constraint != j {
			continue
		}
		over, tolerance, unit, counts := c.exceeds(k, c.Terms)
		if !counts {
			continue
		}
		own := 0
		switch {
		case over <= roundOff:
		case over > tolerance+roundOff:
			own = 3
		case c.coarse(k, tolerance*unit):
			own = 2
		default:
			own = 1
		}
		if at < 0 || own > rank || own == rank && over*unit > by {
			rank, by, at = own, over*unit, k
			worst = Judgement{State: list[own], Tolerance: tolerance * unit}
		}
	}
	if rank > 0 {
		worst.Exceeded = c.exceeded(at, by, worst)
	}
	return worst
}

// JudgeRates judges constraint j on rates that were counted elsewhere: the value and the number of
// rows of each of Rates. The values may be expected values of decisions that are drawn.
func (s *System) JudgeRates(j int, rates []float64, rows []int) Judgement {
	c := Counted{Terms: rates, Rows: rows, system: s}
	for k, v := range rates {
		c.Hits = append(c.Hits, int(math.Round(v*float64(rows[k]))))
	}
	return c.Judge(j)
}

// Coarse returns the inequality of constraint j with the largest tolerance, if the tolerance is
// above Constraint.MostTolerance, so that the constraint cannot be judged if the decisions exceed
// it. Coarse returns nil if no tolerance is too large. The values of the inequality are not set.
func (c *Counted) Coarse(j int) *Exceeded {
	most, at := 0.0, -1
	for k, b := range c.system.Bounds {
		if b.Constraint != j {
			continue
		}
		if tolerance := c.tolerance(k); c.coarse(k, tolerance) && tolerance > most {
			most, at = tolerance, k
		}
	}
	if at < 0 {
		return nil
	}
	e := c.exceeded(at, 0, Judgement{State: NotJudged, Tolerance: most})
	for i, l := range c.system.sides[at] {
		e.Rows[i] = l.rows(c.Rows)
	}
	if c.system.Subject[j].measure.IsRatio() { // the number depends on the rates
		e.MinRows = 0
	}
	e.Values = nil
	return e
}

// Tolerance returns the tolerance of inequality k of System.Bounds, in the unit of the inequality,
// and whether the tolerance cannot make the constraint met at the terms h.
func (c *Counted) Tolerance(k int, h []float64) (tolerance float64, coarse bool) {
	_, tolerance, unit, counts := c.exceeds(k, h)
	return tolerance, counts && c.coarse(k, tolerance*unit)
}

// ToleranceVaries reports whether the second result of Tolerance depends on the terms: the unit of
// the inequality of a ratio or of a precision does.
func (c *Counted) ToleranceVaries(k int) bool {
	sides := c.system.sides[k]
	return len(sides) > 0 && (sides[0].precision || c.system.Subject[c.system.Bounds[k].Constraint].measure.IsRatio())
}

// exceeds returns the amount by which the terms h exceed inequality k, and the tolerance. unit is
// the factor from the unit of the inequality to the unit of the constraint's value: an inequality
// of a ratio is b rate_c - rate_a <= 0, and of a precision a difference of shares of all rows.
// counts is false if a cell has no rows.
func (c *Counted) exceeds(k int, h []float64) (over, tolerance, unit float64, counts bool) {
	if !c.system.counts(k, c.Rows) {
		return 0, 0, 0, false
	}
	b, rates := c.system.Bounds[k], c.system.sides[k]
	over = b.Constant - b.Bound
	for i, w := range b.Coefficients {
		over += w * h[i]
	}
	unit = 1
	divisor := 0.0
	switch {
	case len(rates) == 0:
	case rates[0].precision:
		divisor = h[rates[0].parts[0].cell] + h[rates[0].parts[1].cell]
	case c.system.Subject[b.Constraint].measure.IsRatio():
		divisor = rates[1].value(h)
	}
	if divisor > 0 {
		unit = 1 / divisor
	}
	return over, c.tolerance(k), unit, true
}

// tolerance returns the weight of one row of the smallest cell of inequality k, in the unit of the
// inequality; the tolerances of a loss and of the l1 norm are fixed.
func (c *Counted) tolerance(k int) (tolerance float64) {
	b := c.system.Bounds[k]
	if c.system.measured[b.Constraint].l1 {
		return lossTolerance * b.Bound
	}
	if c.system.Subject[b.Constraint].measure.IsMean() { // one row of the smallest group moves the mean by its share
		for i, w := range b.Coefficients {
			if w != 0 && c.Rows[i] > 0 {
				tolerance = max(tolerance, math.Abs(w)/c.heaviest(i))
			}
		}
		return tolerance
	}
	for _, l := range c.system.sides[k] {
		for _, p := range l.parts {
			switch {
			case b.Coefficients[p.cell] == 0 || c.Rows[p.cell] == 0:
			case c.system.Rates[p.cell].loss:
				return lossTolerance
			default:
				tolerance = max(tolerance, math.Abs(p.coefficient)/c.heaviest(p.cell))
			}
		}
	}
	return tolerance
}

// coarse reports whether a tolerance of inequality k, in the unit of the value, cannot make the
// constraint met. The tolerances of a loss and of the l1 norm are not of rows, and never coarse.
func (c *Counted) coarse(k int, tolerance float64) bool {
	j := c.system.Bounds[k].Constraint
	return tolerance > c.system.Subject[j].MostTolerance()*(1+roundOff) && !c.system.DependsOnLoss(j)
}

// exceeded describes inequality k.
func (c *Counted) exceeded(k int, by float64, judged Judgement) *Exceeded {
	e := &Exceeded{By: by}
	least := 0
	for _, l := range c.system.sides[k] {
		r := c.one(l).Rates[0]
		e.Groups, e.Rows, e.Values = append(e.Groups, l.subset.group()), append(e.Rows, r.Rows), append(e.Values, r.Value)
		if n := l.rows(c.sizes()); least == 0 || n < least {
			least = n
		}
	}
	if judged.State == NotJudged {
		j := c.system.Bounds[k].Constraint
		n := int(math.Ceil(float64(least)*judged.Tolerance/c.system.Subject[j].MostTolerance() - roundOff))
		if c.system.enough(j, n) {
			e.MinRows = n
		}
	}
	return e
}

// enough reports whether constraint j can leave out the groups with fewer than n training rows:
// whether it is about groups, and enough of them remain.
func (s *System) enough(j, n int) bool {
	m := s.Subject[j].measure
	least := 1
	if m.Compares() && !m.WithAll() {
		least = 2
	}
	if !m.Compares() && len(s.measured[j].sets) < 2 {
		return false
	}
	remain := 0
	for _, set := range s.measured[j].sets {
		own := 0
		for i, l := range set {
			if (i > 0 || !m.WithAll()) && s.rows(l) >= n {
				own++
			}
		}
		if m.Compares() && own < least {
			return false
		}
		remain += own
	}
	return remain >= least
}

// BoundsOn says which values the bounds of a run apply to. The empty string means OnDecisions.
type BoundsOn string

// The values to which bounds apply.
const (
	OnDecisions BoundsOn = "decisions" // rates of counted decisions
	OnSurrogate BoundsOn = "surrogate" // smooth functions of the scores, as in the published problems
)
