package verify

import (
	"fmt"
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
	// terms are the rates of a sum, with coefficients; nil: the plan is no sum.
	terms []term
}

// term is a coefficient times a rate.
type term struct {
	coefficient float64
	*plan
}

// newObjective finds the rows of an objective: a rate, or a sum such as 5*fnr + fpr.
func newObjective(text string, train *constraints.Population) (*plan, error) {
	list := sumOf(text)
	if len(list) == 1 {
		return newPlan(text, train)
	}
	sum := &plan{text: text}
	for _, own := range list {
		p, err := newPlan(own.text, train)
		if err != nil {
			return nil, err
		}
		sum.terms = append(sum.terms, term{own.coefficient, p})
	}
	sum.form, sum.rate = "rate", sum.terms[0].rate // all rates are losses, or none
	return sum, nil
}

// subset is a set of rows: of a class, or with class -1 of all classes, that have the values of the
// attributes.
type subset struct {
	class int
	where []place
	query string // of a rate of pairs, the only query; "": all
}

// place is a value of an attribute, by the indices of the population. The index
// after the last attribute stands for groups that overlap.
type place struct{ attribute, value int }

// with returns the subset with one more condition.
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
		own := p.parts()
		if own == nil {
			own = []measure{p.measure}
		}
		for _, own := range own {
			var n mass
			s.rows(train, func(i int) {
				if own.counts(train, s.class, i) {
					n.add(weightOf(train, i))
				}
			})
			if n.size() < max(1, m.least) {
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

// narrowed adds a selector to every subset.
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
	if add == nil && (s.attribute == "" || s.attribute == "class" && index(attributes, s.attribute) < 0) { // cat of class=cat
		for k, name := range p.Classes {
			if strings.HasSuffix(name, "="+s.value) {
				add = append(add, class(k))
			}
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

// sums are the rates that are sums of others, with their coefficients.
var sums = map[string][]addend{"balanced_error": {{0.5, "fpr"}, {0.5, "fnr"}}}

// addend is a coefficient times a rate.
type addend struct {
	coefficient float64
	rate        string
}

// parts returns the measures of the rates whose sum is the rate; nil: the rate is no sum.
func (m measure) parts() (list []measure) {
	for _, own := range sums[m.rate] {
		part := m
		part.rate = own.rate
		list = append(list, part)
	}
	return list
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
