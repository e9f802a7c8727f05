package verify

import (
	"math"
	"slices"

	"ppal/constraints"
)

// decided holds the decisions on the rows of a part.
type decided struct {
	class  []int                      // the class of each row
	unsure []bool                     // rows whose decision the error of the scores can change
	chance func(i, class int) float64 // the surrogate of a decision
	miss   func(i, class int) float64 // the surrogate of another decision
	loss   func(i int, y int) float64 // the loss of a row
	norm   float64                    // the l1 norm of the weights
	rows   *constraints.Population    // the rows
	scores []float64                  // of the rows, if each has one
	error  float64                    // of each score
}

// tally is a rate on some rows.
type tally struct {
	hits, rows, unsure int     // of decisions
	base               mass    // rows before any decision: of a precision, more than rows
	hit, all, doubtful mass    // the rows of hits, rows and unsure; 0 of pairs
	weighted           bool    // the rows have weights
	smooth, weight     float64 // the smooth rate is their quotient
	subset             subset
	// parts are the rates whose sum, with the coefficients, is the rate; nil: the rate is no sum. With
	// parts, rows, weight and base are the smallest of the parts, and the other counts are 0.
	parts        []tally
	coefficients []float64
	// pairs has, of a rate of pairs, twice the wrong pairs and the pairs of each query. hits is then
	// doubled.
	pairs map[int][2]int
}

// value returns the rate, of decisions or smooth.
func (t tally) value(smooth bool) float64 {
	if t.parts != nil {
		sum := 0.0
		for k, part := range t.parts {
			sum += t.coefficients[k] * part.value(smooth)
		}
		return sum
	}
	if smooth {
		return t.smooth / t.weight
	}
	if t.pairs != nil {
		return float64(t.hits) / float64(2*t.rows)
	}
	return t.hit.weight / t.all.weight
}

// effective returns the effective number of rows; 0: the rows have no weights.
func (t tally) effective() float64 {
	if !t.weighted {
		return 0
	}
	return t.all.effective()
}

// doubt returns the largest change of the rate by doubtful rows.
func (t tally) doubt() (most float64) {
	for _, part := range t.parts {
		most = max(most, part.doubt())
	}
	switch {
	case t.unsure == 0:
	case t.pairs != nil:
		most = float64(t.unsure) / float64(max(1, t.rows-t.unsure))
	default:
		most = t.doubtful.weight / max(t.doubtful.largest, t.all.weight-t.doubtful.weight)
	}
	return most
}

// tally counts the rate of the measure on a subset.
func (m measure) tally(s subset, d *decided) (t tally) {
	if m.ofPairs() {
		return m.tallyPairs(s, d)
	}
	t.subset = s
	for k, part := range m.parts() {
		own := part.tally(s, d)
		t.parts, t.coefficients = append(t.parts, own), append(t.coefficients, sums[m.rate][k].coefficient)
		if k == 0 {
			t.rows, t.weight, t.base = own.rows, own.weight, own.base
			continue
		}
		t.rows, t.weight = min(t.rows, own.rows), min(t.weight, own.weight)
		if own.base.rows == 0 || t.base.rows > 0 && own.base.heaviest() > t.base.heaviest() {
			t.base = own.base
		}
	}
	if t.parts != nil {
		return t
	}
	t.weighted = d.rows.Weights != nil
	s.rows(d.rows, func(i int) {
		if !m.counts(d.rows, s.class, i) {
			return
		}
		target, other := m.target(d.rows, s.class, i)
		w := weightOf(d.rows, i)
		t.base.add(w)
		if d.unsure[i] {
			t.unsure++
			t.doubtful.add(w)
		}
		if m.rate == "precision" { // of the rows that are decided positive
			chance := w * d.chance(i, target)
			t.weight += chance
			if d.rows.Labels[i] == target {
				t.smooth += chance
			}
			if d.class[i] == target {
				t.rows++
				t.all.add(w)
				if d.rows.Labels[i] == target {
					t.hits++
					t.hit.add(w)
				}
			}
			return
		}
		t.rows, t.weight = t.rows+1, t.weight+w
		t.all.add(w)
		switch {
		case m.rate == "loss":
			t.smooth += w * d.loss(i, target)
		case other:
			t.smooth += w * d.miss(i, target)
		default:
			t.smooth += w * d.chance(i, target)
		}
		if (d.class[i] == target) != other {
			t.hits++
			t.hit.add(w)
		}
	})
	return t
}

// counted is a measure on the rows of a part.
type counted struct {
	value   float64 // of decisions; a loss and a norm are smooth
	defined bool    // some rows count
	smooth  float64
	sets    [][]tally
	// doubt is the largest change of a rate by the rows whose decision is doubtful.
	doubt float64
}

// count counts the measure. lower says that the smallest value of several sets counts.
func (p *plan) count(d *decided, lower bool) counted {
	if p.form == "l1" {
		return counted{value: d.norm, smooth: d.norm, defined: true}
	}
	if p.terms != nil {
		return p.sum(d)
	}
	worst := math.Inf(-1)
	if lower {
		worst = math.Inf(1)
	}
	c := counted{value: worst, smooth: worst}
	for _, set := range p.sets {
		var list []tally
		for _, s := range set {
			t := p.tally(s, d)
			c.doubt = max(c.doubt, t.doubt())
			list = append(list, t)
		}
		c.sets = append(c.sets, list)
		for _, smooth := range []bool{false, true} {
			v, ok := p.one(list, smooth || p.isLoss())
			to := &c.value
			if smooth {
				to = &c.smooth
			} else if ok {
				c.defined = true
			}
			if ok && (v < *to) == lower {
				*to = v
			}
		}
	}
	return c
}

// sum counts a sum of rates.
func (p *plan) sum(d *decided) counted {
	c, all := counted{defined: true}, tally{}
	for _, t := range p.terms {
		own := t.count(d, false)
		c.value += t.coefficient * own.value
		c.smooth += t.coefficient * own.smooth
		c.doubt += t.coefficient * own.doubt
		c.defined = c.defined && own.defined
		all.parts, all.coefficients = append(all.parts, own.sets[0][0]), append(all.coefficients, t.coefficient)
	}
	c.sets = [][]tally{{all}}
	return c
}

// one returns the value of a set of rates: the rate itself; the largest rate minus the smallest, or
// the smallest over the largest; the largest or the mean rate minus the rate of all rows; or the
// largest distance from the rate of all rows. Groups without rows do not count; ok is false if too
// few groups have rows.
func (p *plan) one(list []tally, smooth bool) (v float64, ok bool) {
	var values []float64
	for _, t := range list {
		if t.rows > 0 || smooth && t.weight > 0 {
			values = append(values, t.value(smooth))
		}
	}
	switch p.form {
	case "gap", "ratio":
		if len(values) < 2 {
			return 0, false
		}
		low, high := slices.Min(values), slices.Max(values)
		if p.form == "gap" {
			return high - low, true
		}
		if high == 0 {
			return 1, true // all rates are 0, and equal
		}
		return low / high, true
	case meanExcess:
		if len(values) < 2 {
			return 0, false
		}
		for _, x := range values[1:] {
			v += (x - values[0]) / float64(len(values)-1)
		}
		return v, true
	case "excess", "distance":
		if len(values) < 2 { // the first is that of all rows, which has rows where a group has
			return 0, false
		}
		v = math.Inf(-1)
		for _, x := range values[1:] {
			if x -= values[0]; p.form == "distance" {
				x = math.Abs(x)
			}
			v = max(v, x)
		}
		return v, true
	}
	if len(values) == 0 {
		return 0, false
	}
	return values[0], true
}

// rates returns the counts of a value for its interval; nil for a loss or a norm, which have none.
func (c counted) rates(p *plan) (sets [][]constraints.CountedRate) {
	if p.isLoss() {
		return nil
	}
	for _, set := range c.sets {
		var list []constraints.CountedRate
		for _, t := range set {
			rate := constraints.CountedRate{Hits: t.hits, Rows: t.rows, Value: t.value(false), Effective: t.effective()}
			for k, part := range t.parts {
				rate.Parts = append(rate.Parts, constraints.CountedPart{Coefficient: t.coefficients[k], Hits: part.hits, Rows: part.rows, Value: part.value(false), Effective: part.effective()})
			}
			list = append(list, rate)
		}
		sets = append(sets, list)
	}
	return sets
}
