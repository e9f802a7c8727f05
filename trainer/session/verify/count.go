package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ppal/constraints"
)

// plan says which rates of which rows a measure in words consists of.
type plan struct {
	measure
	text string
	// sets are the rates of one value: a single set of rows, or the groups that are compared. The
	// first set of an excess or a distance has all rows. Of several sets, the set with the worst
	// value counts.
	sets [][]subset
}

// slice is a set of rows: of a class, or with class -1 of all classes, that have the values of the
// attributes.
type subset struct {
	class int
	where []place
	query string // of a rate of pairs, the only query; "": all
}

// place is a value of an attribute, by the indices of the population. The index
// after the last attribute stands for groups that overlap.
type place struct{ attribute, value int }

// with returns the slice with one more condition.
func (s subset) with(p place) subset {
	return subset{s.class, append(slices.Clip(s.where), p), s.query}
}

// rows calls do for each row of the population that meets the conditions on attributes.
func (s subset) rows(p *constraints.Population, do func(i int)) {
	meets := func(i int) bool {
		for _, w := range s.where {
			if w.attribute < len(p.Attributes) && p.Attributes[w.attribute].Of[i] != w.value {
				return false
			}
		}
		return true
	}
	for _, w := range s.where {
		if w.attribute == len(p.Attributes) { // one of the groups that overlap
			for _, i := range p.Groups[w.value].Rows {
				if meets(i) {
					do(i)
				}
			}
			return
		}
	}
	for i := range p.Labels {
		if meets(i) {
			do(i)
		}
	}
}

// namedGroups is the name by which constraints name groups that overlap.
const namedGroups = "groups"

// names lists the attributes of a population and their values.
func names(p *constraints.Population) (attributes []string, values [][]string) {
	for _, a := range p.Attributes {
		attributes, values = append(attributes, a.Name), append(values, a.Values)
	}
	if len(p.Groups) > 0 && !slices.Contains(attributes, namedGroups) {
		var own []string
		for _, g := range p.Groups {
			own = append(own, g.Name)
		}
		attributes, values = append(attributes, namedGroups), append(values, own)
	}
	return attributes, values
}

// index returns the index of a name: as written, or else without regard to case; -1: none.
func index(list []string, name string) int {
	if k := slices.Index(list, name); k >= 0 {
		return k
	}
	return slices.IndexFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// newPlan finds the rows of a measure. The training rows decide which groups are left out: those
// with fewer training rows than the measure's minimum, and without any.
func newPlan(text string, train *constraints.Population) (*plan, error) {
	m, err := measureOf(text)
	if err != nil {
		return nil, err
	}
	p := &plan{measure: m, text: text}
	if m.form == "l1" {
		return p, nil
	}
	list := []subset{{class: -1}}
	ofQueries := false
	for _, s := range m.selectors {
		if m.ofPairs() && strings.EqualFold(s.attribute, namedQueries) {
			list, ofQueries = ofQuery(list, s, train), true
			continue
		}
		if list, err = narrowed(list, s, train); err != nil {
			return nil, fmt.Errorf("verify: %s: %w", text, err)
		}
	}
	enough := func(s subset) bool {
		if m.ofPairs() {
			return pairSet{m.rate, s, s.query}.size(train) >= max(1, m.least)
		}
		for _, own := range p.halves() {
			n := 0
			s.rows(train, func(i int) {
				if own.counts(train, s.class, i) {
					n++
				}
			})
			if n < max(1, m.least) {
				return false
			}
		}
		return true
	}
	for _, rows := range list {
		if !m.compares() {
			if enough(rows) {
				p.sets = append(p.sets, []subset{rows})
			}
			continue
		}
		groups := []subset{rows}
		for _, name := range m.attributes {
			if groups, err = narrowed(groups, selector{attribute: name, value: m.only, each: m.only == ""}, train); err != nil {
				return nil, fmt.Errorf("verify: %s: %w", text, err)
			}
		}
		set := slices.DeleteFunc(groups, func(s subset) bool { return !enough(s) })
		if ofQueries && len(set) < 2 {
			continue // a query without some of the pairs has no bound
		}
		if m.withAll() {
			set = slices.Insert(set, 0, rows)
		}
		p.sets = append(p.sets, set)
	}
	return p, nil
}

// ofQuery restricts every subset to a query, or to each of the queries.
func ofQuery(list []subset, s selector, p *constraints.Population) (next []subset) {
	for _, old := range list {
		for _, name := range p.QueryNames {
			if s.each || strings.EqualFold(name, s.value) {
				old.query = name
				next = append(next, old)
			}
		}
	}
	return next
}

// narrowed adds a selector to every slice.
func narrowed(list []subset, s selector, p *constraints.Population) (next []subset, err error) {
	attributes, values := names(p)
	class := func(k int) func(subset) subset { return func(s subset) subset { return subset{k, s.where, s.query} } }
	value := func(a, k int) func(subset) subset { return func(s subset) subset { return s.with(place{a, k}) } }
	var add []func(subset) subset
	switch a := index(attributes, s.attribute); {
	case s.attribute == "" && s.each, s.attribute == "class" && a < 0 && s.each:
		for k := range p.Classes {
			add = append(add, class(k))
		}
	case s.attribute == "class" && a < 0:
		if k := index(p.Classes, s.value); k >= 0 {
			add = append(add, class(k))
		}
	case s.attribute == "": // a class, or a value of one attribute; the exact spelling comes first
		for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
			is := func(name string) bool { return same(name, s.value) }
			if k := slices.IndexFunc(p.Classes, is); k >= 0 && add == nil {
				add = append(add, class(k))
			}
			for a, list := range values {
				if k := slices.IndexFunc(list, is); k >= 0 && add == nil {
					add = append(add, value(a, k))
				}
			}
		}
	case a >= 0 && s.each:
		for k := range values[a] {
			add = append(add, value(a, k))
		}
	case a >= 0:
		if k := index(values[a], s.value); k >= 0 {
			add = append(add, value(a, k))
		}
	}
	if add == nil {
		return nil, fmt.Errorf("the rows have no %q %q", s.attribute, s.value)
	}
	for _, old := range list {
		for _, narrow := range add {
			next = append(next, narrow(old))
		}
	}
	return next, nil
}

// halves returns the two rates whose mean is the balanced error, or the measure's own rate.
func (m measure) halves() []measure {
	if m.rate != "balanced_error" {
		return []measure{m}
	}
	fpr, fnr := m, m
	fpr.rate, fnr.rate = "fpr", "fnr"
	return []measure{fpr, fnr}
}

// isLoss reports whether the rate is a mean loss.
func (m *measure) isLoss() bool { return m.rate == "loss" || m.rate == "pair_loss" }

// counts reports whether the rate counts row i, before any decision. class is the selected class,
// or -1.
func (m *measure) counts(p *constraints.Population, class, i int) bool {
	if m.form == "churn" {
		return p.Earlier[m.file][i] >= 0
	}
	positive := class
	if positive < 0 {
		positive = len(p.Classes) - 1 // of two
	}
	switch m.rate {
	case "tpr", "recall", "fnr":
		return p.Labels[i] == positive
	case "fpr", "tnr":
		return p.Labels[i] != positive
	case "error", "accuracy", "loss":
		return class < 0 || p.Labels[i] == class
	}
	return true // positive_rate, precision
}

// target returns the decision that the rate counts on row i, and whether the rate is the share of
// the other decisions.
func (m *measure) target(p *constraints.Population, class, i int) (target int, other bool) {
	switch m.rate {
	case "error":
		return p.Labels[i], true
	case "accuracy", "loss":
		return p.Labels[i], false
	}
	if m.form == "churn" {
		return p.Earlier[m.file][i], true
	}
	if class < 0 {
		class = len(p.Classes) - 1
	}
	return class, m.rate == "fnr" || m.rate == "tnr"
}

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
	base               int     // rows before any decision: of a precision, more than rows
	smooth, weight     float64 // the smooth rate is their quotient
	subset             subset
	// halves are the rates whose mean is the rate; rows and weight are then those of the smaller, and
	// the other counts are 0.
	halves []tally
	// pairs has, of a rate of pairs, twice the wrong pairs and the pairs of each query. hits is then
	// doubled.
	pairs map[int][2]int
}

// value returns the rate, of decisions or smooth.
func (t tally) value(smooth bool) float64 {
	if t.halves != nil {
		return (t.halves[0].value(smooth) + t.halves[1].value(smooth)) / 2
	}
	if smooth {
		return t.smooth / t.weight
	}
	if t.pairs != nil {
		return float64(t.hits) / float64(2*t.rows)
	}
	return float64(t.hits) / float64(t.rows)
}

// doubt returns the largest change of the rate by doubtful rows.
func (t tally) doubt() (most float64) {
	for _, half := range t.halves {
		most = max(most, half.doubt())
	}
	if t.unsure > 0 {
		most = float64(t.unsure) / float64(max(1, t.rows-t.unsure))
	}
	return most
}

// tally counts the rate of the measure on a slice.
func (m measure) tally(s subset, d *decided) (t tally) {
	if m.ofPairs() {
		return m.tallyPairs(s, d)
	}
	t.subset = s
	if list := m.halves(); len(list) > 1 {
		t.halves = []tally{list[0].tally(s, d), list[1].tally(s, d)}
		t.rows, t.base = min(t.halves[0].rows, t.halves[1].rows), min(t.halves[0].base, t.halves[1].base)
		t.weight = min(t.halves[0].weight, t.halves[1].weight)
		return t
	}
	s.rows(d.rows, func(i int) {
		if !m.counts(d.rows, s.class, i) {
			return
		}
		target, other := m.target(d.rows, s.class, i)
		t.base++
		if d.unsure[i] {
			t.unsure++
		}
		if m.rate == "precision" { // of the rows that are decided positive
			chance := d.chance(i, target)
			t.weight += chance
			if d.rows.Labels[i] == target {
				t.smooth += chance
			}
			if d.class[i] == target {
				t.rows++
				if d.rows.Labels[i] == target {
					t.hits++
				}
			}
			return
		}
		t.rows, t.weight = t.rows+1, t.weight+1
		switch {
		case m.rate == "loss":
			t.smooth += d.loss(i, target)
		case other:
			t.smooth += d.miss(i, target)
		default:
			t.smooth += d.chance(i, target)
		}
		if (d.class[i] == target) != other {
			t.hits++
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
			rate := constraints.CountedRate{Hits: t.hits, Rows: t.rows}
			for _, half := range t.halves {
				rate.Parts = append(rate.Parts, constraints.CountedPart{Coefficient: 0.5, Hits: half.hits, Rows: half.rows})
			}
			list = append(list, rate)
		}
		sets = append(sets, list)
	}
	return sets
}
