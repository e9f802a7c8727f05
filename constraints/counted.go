package constraints

import (
	"errors"
	"fmt"
	"math"
)

// Counted is the result of counting decisions on a set of rows.
type Counted struct {
	// Hits and Rows are the numerators and denominators of System.Rates, as numbers of rows. For a
	// loss, and for pairs, Hits is 0.
	Hits, Rows []int
	// Terms is the vector h of the decisions: Hits / Rows, or with Population.Weights the weight of
	// the hits over the weight of the rows, followed by the l1 norm if System.L1 is true. Losses and
	// the norm have their smooth values. A rate without rows has the value 0.
	Terms []float64
	// Values are the values of the user's constraints, in the order of System.Subject.
	Values []Value
	// Objective is the value of System.Minimize.
	Objective Value
	// Accepted is the share of the rows, by weight, that are decided to be of each class. With two
	// classes Accepted[1] is the acceptance rate.
	Accepted []float64

	system  *System
	weighed []weighedCell // of each of Rows; nil: the rows have no weights
	pairs   *PairErrors   // of a system of pairs
	sample  *pairSample   // of a system of pairs
}

// weighedCell describes the weights of a cell: the weight of its rows over that of the heaviest,
// its rows, and the rows with a decision that counts.
type weighedCell struct {
	heaviest  float64
	all, hits mass
}

// effective returns Kish's effective number of the rows of a cell; 0: the rows have no weights.
func (c *Counted) effective(cell int) float64 {
	if c.weighed == nil {
		return 0
	}
	return c.weighed[cell].all.effective()
}

// Weights returns the weight of the rows of a cell with a decision that counts, and of all its
// rows: the numbers of rows without weights.
func (c *Counted) Weights(cell int) (hits, rows float64) {
	if c.weighed == nil {
		return float64(c.Hits[cell]), float64(c.Rows[cell])
	}
	return c.weighed[cell].hits.total, c.weighed[cell].all.total
}

// heaviest returns the weight of a cell over the weight of its heaviest row: the number of rows
// without weights.
func (c *Counted) heaviest(cell int) float64 {
	if c.weighed == nil {
		return float64(c.Rows[cell])
	}
	return c.weighed[cell].heaviest
}

// sizes returns the numbers of rows that "min" compares: of rows with weights the effective
// numbers.
func (c *Counted) sizes() []int {
	if c.weighed == nil {
		return c.Rows
	}
	list := make([]int, len(c.weighed))
	for k := range list {
		list[k] = c.weighed[k].all.size()
	}
	return list
}

// Value is a value on counted decisions.
type Value struct {
	// Value is the rate; the largest gap, excess or distance; the smallest ratio; for a constraint on
	// each class or group, the largest of the values for an upper bound and the smallest for a lower
	// bound.
	Value float64
	// Defined is false if the value has no rows to count: the cell has no rows, fewer than two
	// groups have rows, or, for a precision, no row is decided positive. Value is then 0.
	Defined bool
	// Rates are the rates from which the value follows: a single rate, or a rate for each class or
	// group; nil for l1. The rate of all rows precedes the rates of the groups of an excess or a
	// distance.
	Rates []CountedRate
}

// CountedRate is a rate as two counts, Hits / Rows. For a loss Hits is 0.
type CountedRate struct {
	Name       string
	Value      float64
	Hits, Rows int
	// Effective is Kish's effective number of rows, for intervals of a rate of rows with weights; 0:
	// the rows have no weights, and Value is Hits / Rows.
	Effective float64
	// Weight is the weight of the rows; 0: the rows have no weights.
	Weight float64
	// Constant and Parts define a rate of several cells: Constant + sum of Coefficient Hits / Rows
	// over the parts. Hits is then 0, and Rows has the rows of the smallest part. Parts is nil for the
	// other rates.
	Constant float64
	Parts    []CountedPart
}

// CountedPart is a term of a rate of several cells: Coefficient Hits / Rows.
type CountedPart struct {
	Coefficient float64
	Hits, Rows  int
	Value       float64 // the rate of the part
	Effective   float64 // as in CountedRate
}

// ErrNeedsSmooth says that decisions do not determine a loss or the l1 norm of the weights.
var ErrNeedsSmooth = errors.New("constraints: a loss and l1(weights) are not rates of decisions: pass the smooth values, too")

// Count counts the rates of the decisions. decisions holds an index into Population.Classes for
// each row. Count returns ErrNeedsSmooth if System.NeedsSmooth is true; CountWith counts for any
// system.
func (s *Sample) Count(decisions []int) (Counted, error) { return s.CountWith(decisions, nil) }

// CountWith counts the rates of the decisions for any system. smooth is the smooth vector h of the
// same rows and weights, of length System.Terms; Counted copies the losses and the l1 norm from
// smooth. smooth may be nil if System.NeedsSmooth is false.
func (s *Sample) CountWith(decisions []int, smooth []float64) (Counted, error) {
	if s.ranked != nil {
		return Counted{}, fmt.Errorf("constraints: pairs are counted from scores, not from decisions")
	}
	if len(decisions) != s.p.Len() {
		return Counted{}, fmt.Errorf("constraints: %d decisions for %d rows", len(decisions), s.p.Len())
	}
	accepted := make([]float64, len(s.p.Classes))
	for i, d := range decisions {
		if d < 0 || d >= len(s.p.Classes) {
			return Counted{}, fmt.Errorf("constraints: row %d has decision %d, want 0..%d", i, d, len(s.p.Classes)-1)
		}
		accepted[d] += s.p.weight(int32(i))
	}
	return s.counted(func(k int) mass { return s.cells[k].hits(decisions) }, accepted, smooth)
}

// CountScores counts the decisions of the scores, as Decide and CountWith do, or the wrong pairs.
func (s *Sample) CountScores(scores, smooth []float64) (Counted, error) {
	if s.ranked != nil {
		return s.countPairs(scores, smooth)
	}
	decisions, err := s.Decide(scores)
	if err != nil {
		return Counted{}, err
	}
	return s.CountWith(decisions, smooth)
}

// counted computes the values of decisions. hitsOf returns the rows of a cell on which the decision
// counts. accepted has the weight of the rows that are decided to be of each class.
func (s *Sample) counted(hitsOf func(cell int) mass, accepted, smooth []float64) (Counted, error) {
	y := s.system
	switch {
	case smooth == nil && y.NeedsSmooth():
		return Counted{}, ErrNeedsSmooth
	case smooth != nil && len(smooth) != y.Terms():
		return Counted{}, fmt.Errorf("constraints: %d smooth values, want %d", len(smooth), y.Terms())
	}
	c := Counted{Terms: make([]float64, y.Terms()), Accepted: accepted, system: y}
	all := 0.0
	for _, v := range c.Accepted {
		all += v
	}
	for k := range c.Accepted {
		c.Accepted[k] /= all
	}
	for k := range s.cells {
		cell := &s.cells[k]
		hits, rows := mass{}, len(cell.rows)
		switch {
		case cell.loss:
			c.Terms[k] = smooth[k]
		case rows > 0:
			hits = hitsOf(k)
			c.Terms[k] = hits.total / cell.total
		}
		if s.p.Weights != nil {
			c.weighed = append(c.weighed, weighedCell{cell.total / cell.heavy, cell.mass, hits})
		}
		c.Hits, c.Rows = append(c.Hits, hits.n), append(c.Rows, rows)
	}
	if y.L1 {
		c.Terms[len(y.Rates)] = smooth[len(y.Rates)]
	}
	c.setValues()
	return c, nil
}

// setValues sets the values of the objective and of the constraints from the terms.
func (c *Counted) setValues() {
	c.Objective = c.one(c.system.objective)
	for j := range c.system.Subject {
		c.Values = append(c.Values, c.value(j))
	}
}

// value returns the value of constraint j.
func (c *Counted) value(j int) Value {
	m, con := c.system.measured[j], c.system.Subject[j]
	if m.l1 {
		return Value{Value: c.Terms[len(c.system.Rates)], Defined: true}
	}
	var all Value
	for _, set := range m.sets {
		var v Value
		switch {
		case con.measure.WithAll():
			v = c.fromAll(set, con.measure.form)
		case con.measure.Compares():
			v = c.spread(set, con.measure.form)
		default:
			v = c.one(set[0])
		}
		all.Rates = append(all.Rates, v.Rates...)
		lower := con.atLeast
		if v.Defined && (!all.Defined || lower && v.Value < all.Value || !lower && v.Value > all.Value) {
			all.Value, all.Defined = v.Value, true
		}
	}
	return all
}

// one returns the value of a single rate.
func (c *Counted) one(l linear) Value {
	r := CountedRate{Name: l.name, Rows: l.rows(c.Rows)}
	k := l.parts[0].cell
	switch {
	case l.precision:
		r.Hits = c.Hits[k]
		if r.Rows = r.Hits + c.Hits[l.parts[1].cell]; r.Rows > 0 {
			r.Value = float64(r.Hits) / float64(r.Rows)
		}
		if c.weighed != nil && r.Rows > 0 {
			right, wrong := c.weighed[k].hits, c.weighed[l.parts[1].cell].hits
			both := right.plus(wrong)
			r.Value, r.Effective, r.Weight = right.total/both.total, both.effective(), both.total
		}
	case c.system.Rates[k].loss || c.system.Rates[k].pairs != noPairs && r.Rows > 0:
		r.Value = l.value(c.Terms)
	case len(l.parts) > 1:
		r.Constant = l.constant
		for _, p := range l.parts {
			r.Parts = append(r.Parts, CountedPart{p.coefficient, c.Hits[p.cell], c.Rows[p.cell], c.Terms[p.cell], c.effective(p.cell)})
		}
		if r.Rows > 0 {
			r.Value = l.value(c.Terms)
		}
	case r.Rows > 0: // a quotient of counts has one rounding
		r.Hits = c.Hits[k]
		if l.parts[0].coefficient < 0 { // of 1 - h
			r.Hits = r.Rows - r.Hits
		}
		r.Value = float64(r.Hits) / float64(r.Rows)
		if c.weighed != nil {
			r.Value, r.Effective, r.Weight = l.value(c.Terms), c.effective(k), c.weighed[k].all.total
		}
	}
	return Value{Value: r.Value, Defined: r.Rows > 0, Rates: []CountedRate{r}}
}

// spread returns the gap or the ratio of the groups that have rows.
func (c *Counted) spread(set []linear, form form) Value {
	var v Value
	smallest, largest, groups := math.Inf(1), math.Inf(-1), 0
	for _, l := range set {
		one := c.one(l)
		v.Rates = append(v.Rates, one.Rates...)
		if one.Defined {
			groups++
			smallest, largest = min(smallest, one.Value), max(largest, one.Value)
		}
	}
	if groups < 2 {
		return v
	}
	v.Defined = true
	switch {
	case form == formGap:
		v.Value = largest - smallest
	case largest == 0:
		v.Value = 1 // all rates are 0 and therefore equal
	default:
		v.Value = smallest / largest
	}
	return v
}

// fromAll returns the excess, the mean excess or the distance of the groups that have rows. The
// first rate of the set counts all rows. Without such groups the value is not defined.
func (c *Counted) fromAll(set []linear, form form) Value {
	v := c.one(set[0])
	all := v.Value
	v.Value, v.Defined = math.Inf(-1), false
	sum, groups := 0.0, 0
	for _, l := range set[1:] {
		one := c.one(l)
		v.Rates = append(v.Rates, one.Rates...)
		if one.Defined { // then the set of all rows has rows, too
			v.Value, v.Defined = math.Max(v.Value, form.difference(one.Value, all)), true
			sum, groups = sum+one.Value-all, groups+1
		}
	}
	if form == formMeanExcess && groups > 0 {
		v.Value = sum / float64(groups)
	}
	return v
}

// difference returns the difference between a group's rate and the rate of all rows that the form
// bounds.
func (f form) difference(group, all float64) float64 {
	if f == formDistance {
		return math.Abs(group - all)
	}
	return group - all
}

// CountedSets returns the counted rates of constraint j in sets. A set holds a single rate, or the
// rates of the groups that a measure compares, after the rate of all rows if Measure.WithAll is
// true. It is nil if decisions do not determine the constraint.
func (c *Counted) CountedSets(j int) (sets [][]CountedRate) {
	if c.system.DependsOnLoss(j) {
		return nil
	}
	for _, set := range c.system.measured[j].sets {
		var list []CountedRate
		for _, l := range set {
			list = append(list, c.one(l).Rates...)
		}
		sets = append(sets, list)
	}
	return sets
}
