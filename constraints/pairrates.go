package constraints

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// QueryName is the name of the attribute that selects queries in rates of pairs.
const QueryName = "query"

// ErrNoQueries says that a rate of pairs was given for rows that are no documents of queries.
var ErrNoQueries = errors.New("constraints: the rows have no queries")

// pairKind says which pairs of documents a cell counts. The more relevant document of a pair is in
// the group of the cell's conditions, or any document without conditions.
type pairKind uint8

const (
	noPairs    pairKind = iota // rows instead of pairs
	allPairs                   // the less relevant document is any document
	crossPairs                 // the less relevant document is not in the group
	ownPairs                   // the less relevant document is in the group
)

// rate returns the rate that counts all pairs of the kind, as an error or as a loss.
func (k pairKind) rate(loss bool) rateKind {
	for _, d := range definitions() {
		if d.pairs == k && (d.kind == kindPairLoss) == loss {
			return d.kind
		}
	}
	return ""
}

// OfPairs reports whether the rates count pairs of documents.
func (s *System) OfPairs() bool { return s.Minimize.OfPairs() }

// OfQueries reports whether a rate counts the pairs of a single query.
func (s *System) OfQueries() bool {
	return slices.ContainsFunc(s.Rates, func(c Cell) bool { query, _ := c.queried(); return query != "" })
}

// Unit is what the rates count: "row" or "pair".
func (s *System) Unit() string {
	if s.OfPairs() {
		return "pair"
	}
	return "row"
}

// setDocuments prepares a system of pairs. It returns an error if the rows have no queries, and if
// some rates count rows and others count pairs.
func (s *System) setDocuments() error {
	for _, c := range s.Subject {
		switch {
		case c.measure.form == formL1:
		case c.measure.rate.OfPairs() == s.OfPairs() && (c.measure.form != formChurn || !s.OfPairs()):
		case s.OfPairs():
			return &SyntaxError{Text: c.String(), Problem: fmt.Sprintf("the constraint is about rows, and the objective %s counts pairs of documents", s.Minimize),
				Hint: "bound rates of pairs, or minimize a rate of rows"}
		default:
			return &SyntaxError{Text: c.String(), Problem: fmt.Sprintf("the rate counts pairs of documents, and the objective %s counts rows", s.Minimize),
				Hint: fmt.Sprintf("minimize %s or %s", kindPairError, kindPairLoss)}
		}
	}
	switch {
	case !s.OfPairs():
		return nil
	case s.Margins != nil:
		return fmt.Errorf("constraints: %s has no surrogate of margins", s.Minimize)
	case s.train.Queries == nil:
		return fmt.Errorf("%w, and %s compares the documents of a query", ErrNoQueries, s.Minimize)
	case s.train.attribute(QueryName) != nil:
		return fmt.Errorf("constraints: rates of pairs need the name %q for the queries, and it is an attribute of the rows", QueryName)
	}
	s.documents = newDocuments(s.train)
	return nil
}

// checkPairs refuses selectors that a rate of pairs cannot have.
func (s *System) checkPairs(r *resolver, d definition, rows subset) error {
	where := slices.DeleteFunc(slices.Clone(rows.where), func(w condition) bool { return w.attribute == QueryName })
	switch {
	case rows.class >= 0:
		return r.failed(rows.className, fmt.Sprintf("%s counts pairs of documents of two classes", d.kind), "name a group of documents instead of a class")
	case d.pairs == allPairs:
	case len(where) == 0:
		return r.failed("", fmt.Sprintf("%s needs a group of documents", d.kind), fmt.Sprintf("write %s[GROUP], or gap(%s, ATTRIBUTE)", d.kind, d.kind))
	case slices.ContainsFunc(where, func(w condition) bool { return r.p.attribute(w.attribute) == nil }):
		return r.failed("", fmt.Sprintf("%s needs disjoint groups", d.kind), "name an attribute, because these groups may overlap")
	}
	return nil
}

// mostInequalities bounds the inequalities about single queries, each of which has a coefficient
// for each rate.
const mostInequalities = 5000

// checkSize refuses a system of pairs with too many inequalities.
func (s *System) checkSize() error {
	if !s.OfPairs() {
		return nil
	}
	n := 0
	for _, m := range s.measured {
		for _, set := range m.sets {
			n += max(1, len(set)*(len(set)-1))
		}
	}
	if n > mostInequalities {
		return fmt.Errorf("constraints: the bounds are %d inequalities, at most %d are supported: leave out queries with few pairs, as in gap(%s[%s=*], GROUP, min 100) <= 0.25, "+
			"or bound all queries together", n, mostInequalities, kindCrossPairs, QueryName)
	}
	return nil
}

// leaveOut leaves out the queries of rows, which lack pairs that a measure compares: it forgets the
// cells from index cells on, and replaces the texts and the names that groups has added.
func (s *System) leaveOut(rows subset, m Measure, cells, out, left int) {
	s.forget(cells)
	s.leftOut = append(s.leftOut[:out], rows.group())
	names := &s.LeftOut[len(s.LeftOut)-1]
	*names = append((*names)[:left], string(m.rate.kind)+"["+strings.Join(rows.label, ", ")+"]")
}

// queried returns the query of the cell's conditions, "" for none, and the other conditions.
func (c *Cell) queried() (query string, where []condition) {
	at := slices.IndexFunc(c.where, func(w condition) bool { return c.pairs != noPairs && w.attribute == QueryName })
	if at < 0 {
		return "", c.where
	}
	return c.where[at].value, slices.Delete(slices.Clone(c.where), at, at+1)
}

// PairRate returns the rate of pairs that the cell is, and the conditions on the more relevant
// document: attributes, such as QueryName, with their values. rate is "" for a cell of rows.
func (c *Cell) PairRate() (rate string, where [][2]string) {
	if c.pairs == noPairs {
		return "", nil
	}
	for _, w := range c.where {
		where = append(where, [2]string{w.attribute, w.value})
	}
	return string(c.pairs.rate(c.loss)), where
}

// documents counts the pairs of a population.
type documents struct {
	p       *Population
	byQuery [][]int32
	place   map[string]int32 // of the queries by their names
	groups  [][]bool         // the members of the groups of cells
	known   map[string]int   // indices into groups by conditions
}

func newDocuments(p *Population) *documents {
	d := &documents{p: p, byQuery: make([][]int32, len(p.QueryNames)), place: map[string]int32{}, known: map[string]int{}}
	for i, q := range p.Queries {
		d.byQuery[q] = append(d.byQuery[q], int32(i))
	}
	for q, name := range p.QueryNames {
		d.place[name] = int32(q)
	}
	return d
}

// group returns the index of the rows that meet the conditions in d.groups; -1: no conditions.
func (d *documents) group(where []condition) (int, error) {
	if len(where) == 0 {
		return -1, nil
	}
	key := fmt.Sprintf("%q", where)
	if k, known := d.known[key]; known {
		return k, nil
	}
	all := slices.Repeat([]bool{true}, d.p.Len())
	for _, w := range where {
		meets, err := d.p.with(w)
		if err != nil {
			return 0, err
		}
		for i, is := range meets {
			all[i] = all[i] && is
		}
	}
	d.known[key] = len(d.groups)
	d.groups = append(d.groups, all)
	return d.known[key], nil
}

// count returns the number of pairs of a cell; 0 for conditions that the rows do not have.
func (d *documents) count(c *Cell) (pairs int) {
	query, where := c.queried()
	group, err := d.group(where)
	if err != nil {
		return 0
	}
	lists := d.byQuery
	if query != "" {
		q, known := d.place[query]
		if !known {
			return 0
		}
		lists = lists[q : q+1]
	}
	inside, all := make([]int, len(d.p.Classes)), make([]int, len(d.p.Classes)) // documents by relevance
	for _, rows := range lists {
		clear(inside)
		clear(all)
		for _, i := range rows {
			all[d.p.Labels[i]]++
			if group < 0 || d.groups[group][i] {
				inside[d.p.Labels[i]]++
			}
		}
		below := 0
		for level, n := range inside {
			pairs += n * below
			switch c.pairs {
			case allPairs:
				below += all[level]
			case crossPairs:
				below += all[level] - n
			case ownPairs:
				below += n
			}
		}
	}
	return pairs
}

// countPairs counts the wrong pairs of the scores. smooth has the values of losses and of the l1
// norm.
func (s *Sample) countPairs(scores, smooth []float64) (Counted, error) {
	y, p := s.system, s.ranked
	c := Counted{Terms: make([]float64, y.Terms()), Hits: make([]int, len(y.Rates)), Rows: p.counts, system: y}
	switch {
	case smooth == nil && y.NeedsSmooth():
		return Counted{}, ErrNeedsSmooth
	case smooth != nil && len(smooth) != y.Terms():
		return Counted{}, fmt.Errorf("constraints: %d smooth values, want %d", len(smooth), y.Terms())
	}
	if p.pairs != nil {
		var err error
		if c.pairs, err = p.pairs.Errors(scores); err != nil {
			return Counted{}, err
		}
		doubled := c.pairs.doubled(p.pairs)
		for k := range y.Rates {
			if y.Rates[k].loss || p.counts[k] == 0 {
				continue
			}
			wrong := int64(0)
			for _, id := range p.cells[k] {
				wrong += doubled[id]
			}
			c.Terms[k] = float64(wrong) / (2 * float64(p.counts[k]))
		}
	}
	for k := range c.Terms {
		if k >= len(y.Rates) || y.Rates[k].loss {
			c.Terms[k] = smooth[k]
		}
	}
	c.sample = p
	c.setValues()
	return c, nil
}

// doubled returns twice the number of wrong pairs in each cell.
func (e *PairErrors) doubled(p *Pairs) []int64 {
	list := make([]int64, p.Cells())
	for _, q := range e.Queries {
		id := int(q.Cell)
		if p.p.Each {
			id += int(q.Query) * e.groups * e.groups
		}
		list[id] += q.Doubled
	}
	return list
}

// PairError returns the share of wrong pairs among all pairs. defined is false without pairs, and
// for rates of rows.
func (c *Counted) PairError() (share float64, defined bool) {
	if c.pairs == nil {
		return 0, false
	}
	doubled, pairs := c.pairs.Counts(c.pairs.Cells(func(int, int) bool { return true })...)
	return float64(doubled) / float64(2*pairs), true
}

// QueryGaps is PairErrors.QueryGaps of the two kinds of documents that the rates tell apart. n is 0
// for rates of rows, and for other numbers of kinds.
func (c *Counted) QueryGaps() (n int, mean, p90, largest float64) {
	if c.pairs == nil || c.pairs.groups != 2 {
		return 0, 0, 0, 0
	}
	return c.pairs.QueryGaps(0, 1)
}

// QueryError returns the standard error of the value of constraint j, with the queries as the
// sampling units: see PairErrors.Estimate. It is NaN for rates of rows, of several sets or of
// single queries, for losses, ratios and means of groups, and if fewer than two queries count.
func (c *Counted) QueryError(j int) float64 {
	sets, m := c.system.measured[j].sets, c.system.Subject[j].measure
	if len(sets) != 1 || m.IsRatio() || m.IsMean() || !c.Values[j].Defined {
		return math.NaN()
	}
	if !m.Compares() {
		return c.queryError(sets[0][0])
	}
	order := slices.Clone(sets[0])
	if m.WithAll() {
		order = order[1:]
	}
	order = slices.DeleteFunc(order, func(l linear) bool { return l.rows(c.Rows) == 0 })
	slices.SortStableFunc(order, func(a, b linear) int { return cmp.Compare(a.value(c.Terms), b.value(c.Terms)) })
	low, high := order[0], order[len(order)-1]
	if m.WithAll() {
		all, least := sets[0][0], low
		if low = all; m.IsDistance() && all.value(c.Terms)-least.value(c.Terms) == c.Values[j].Value {
			low, high = least, all
		}
	}
	return c.queryError(high, low)
}

// QueryErrorOfObjective returns the standard error of the objective: see QueryError.
func (c *Counted) QueryErrorOfObjective() float64 { return c.queryError(c.system.objective) }

// queryError returns the standard error of a rate, or of the first rate minus the second one.
func (c *Counted) queryError(list ...linear) float64 {
	if c.pairs == nil {
		return math.NaN()
	}
	terms := make([]PairTerm, len(list))
	for i, l := range list {
		cell := &c.system.Rates[l.parts[0].cell]
		if query, _ := cell.queried(); query != "" || cell.loss {
			return math.NaN()
		}
		terms[i] = PairTerm{[2]float64{1, -1}[i], c.sample.pooled(l.parts[0].cell)}
	}
	_, standardError := c.pairs.Estimate(terms...)
	return standardError
}

// pooled returns the cells of cell k of the system as if all queries shared the cells.
func (s *pairSample) pooled(k int) (cells []int) {
	size := s.pairs.p.Groups * s.pairs.p.Groups
	for _, id := range s.cells[k] {
		if !slices.Contains(cells, id%size) {
			cells = append(cells, id%size)
		}
	}
	return cells
}

// Flat reports whether the scores order no pair: all pairs are half wrong.
func (c *Counted) Flat() bool {
	return c.pairs != nil && !slices.ContainsFunc(c.pairs.Queries, func(q QueryErrors) bool { return q.Doubled != q.Pairs })
}

// Kinds divides the rows of a system of pairs: rows of a kind belong to the same groups of all
// rates. It returns the number of kinds, and the kind of each row.
func (s *Sample) Kinds() (n int, kindOf []int) { return s.ranked.kinds, s.ranked.kindOf }
