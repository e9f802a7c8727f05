package verify

import (
	"fmt"
	"math"
	"slices"

	"ppal/constraints"
	"ppal/internal/rates"
)

// namedQueries is the name by which rates of pairs name queries.
const namedQueries = "query"

// ofPairs reports whether the rate counts pairs of documents.
func (m *measure) ofPairs() bool {
	return slices.Contains([]string{"pair_error", "cross_pair_error", "own_pair_error", "pair_loss"}, m.rate)
}

// pairSet is a set of pairs (i, j) of documents of one query, of which i is more relevant.
type pairSet struct {
	rate  string
	group subset // i is in the group
	query string // the only query; "": all queries
}

// each calls do for each pair of the set, query by query, in plain loops.
func (s pairSet) each(p *constraints.Population, do func(query, i, j int)) {
	in := make([]bool, len(p.Labels))
	s.group.rows(p, func(i int) { in[i] = true })
	lists := make([][]int, len(p.QueryNames))
	for i, q := range p.Queries {
		if s.query == "" || p.QueryNames[q] == s.query {
			lists[q] = append(lists[q], i)
		}
	}
	for q, list := range lists {
		for _, i := range list {
			if !in[i] {
				continue
			}
			for _, j := range list {
				if p.Labels[i] <= p.Labels[j] || s.rate == "cross_pair_error" && in[j] || s.rate == "own_pair_error" && !in[j] {
					continue
				}
				do(q, i, j)
			}
		}
	}
}

// size returns the number of pairs.
func (s pairSet) size(p *constraints.Population) (n int) {
	s.each(p, func(_, _, _ int) { n++ })
	return n
}

// tallyPairs counts the pairs of a set. The hits are doubled, because a pair of equal scores is
// half wrong.
func (m measure) tallyPairs(s subset, d *decided) (t tally) {
	t.subset, t.pairs = s, map[int][2]int{}
	pairSet{m.rate, s, s.query}.each(d.rows, func(query, i, j int) {
		t.rows, t.weight = t.rows+1, t.weight+1
		t.base.add(1)
		change, hits := d.scores[i]-d.scores[j], 0
		switch {
		case change < 0:
			hits = 2
		case change == 0:
			hits = 1
		}
		t.hits += hits
		t.pairs[query] = [2]int{t.pairs[query][0] + hits, t.pairs[query][1] + 1}
		if m.rate == "pair_loss" {
			t.smooth += logisticLoss(change)
		} else {
			t.smooth += logisticOf(-change)
		}
		if change != 0 && math.Abs(change) <= 2*d.error { // equal documents have equal scores
			t.unsure++
		}
	})
	return t
}

// flat reports whether the counted scores order no pair.
func (r *evaluator) flat() bool {
	for _, n := range r.objective.sets[0][0].pairs {
		if n[0] != n[1] {
			return false
		}
	}
	return true
}

// newPairCell returns the pairs of a rate of the system.
func newPairCell(c *constraints.Cell, p *constraints.Population) *pairSet {
	rate, where := c.PairRate()
	s := &pairSet{rate: rate, group: subset{class: -1}}
	attributes, values := names(p)
	for _, w := range where {
		if w[0] == namedQueries {
			s.query = w[1]
			continue
		}
		a := index(attributes, w[0])
		s.group = s.group.with(place{a, index(values[a], w[1])})
	}
	return s
}

// pairTerm returns the mean of the surrogate over the pairs of a cell: of the loss, or of the
// error.
func (r *evaluator) pairTerm(c *cell, scores []float64) float64 {
	sum, n := 0.0, 0
	c.pairs.each(r.p.Population, func(_, i, j int) {
		if n++; c.loss {
			sum += logisticLoss(scores[i] - scores[j])
		} else {
			sum += logisticOf(scores[j] - scores[i])
		}
	})
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// addPairSlope adds a weight times the derivative of the cell's mean by the scores.
func (r *evaluator) addPairSlope(c *cell, scores, d []float64, weight float64) {
	n := c.pairs.size(r.p.Population)
	c.pairs.each(r.p.Population, func(_, i, j int) {
		change := scores[i] - scores[j]
		v := -logisticOf(-change)
		if !c.loss {
			v *= logisticOf(change)
		}
		v *= weight / float64(n)
		d[i] += v
		d[j] -= v
	})
}

// pairInterval returns the 95% interval of a value on new queries: of a share, or of the difference
// of the first and the second share. Each query adds
//
//	z_q = sum over the shares of sign (wrong_q - share pairs_q) / pairs,
//
// and the variance is Q/(Q-1) sum z_q^2 for Q queries. nil: none.
func pairInterval(value float64, list ...tally) *[2]float64 {
	z := map[int]float64{}
	for k, t := range list {
		if t.rows == 0 || t.subset.query != "" {
			return nil
		}
		for q, n := range t.pairs {
			z[q] += [2]float64{1, -1}[k] * (float64(n[0])/2 - t.value(false)*float64(n[1])) / float64(t.rows)
		}
	}
	if len(z) < 2 {
		return nil
	}
	sum := 0.0
	for _, v := range z {
		sum += v * v
	}
	half := rates.Quantile((1+rates.Level)/2) * math.Sqrt(float64(len(z))/float64(len(z)-1)*sum)
	return &[2]float64{max(0, value-half), min(1, value+half)}
}

// interval returns the interval of a counted measure of pairs on new queries; nil: none.
func (p *plan) interval(v counted) *[2]float64 {
	if !v.defined || len(v.sets) != 1 || p.rate == "pair_loss" {
		return nil
	}
	var groups []tally
	for _, t := range v.sets[0] {
		if t.rows > 0 {
			groups = append(groups, t)
		}
	}
	least := func(a, b tally) int {
		if a.value(false) < b.value(false) {
			return -1
		}
		return 1
	}
	switch p.form {
	case "gap":
		return pairInterval(v.value, slices.MaxFunc(groups, least), slices.MinFunc(groups, least))
	case "excess", "distance":
		all, low, high := groups[0], slices.MinFunc(groups[1:], least), slices.MaxFunc(groups[1:], least)
		if p.form == "distance" && all.value(false)-low.value(false) == v.value {
			return pairInterval(v.value, all, low)
		}
		return pairInterval(v.value, high, all)
	case "rate":
		return pairInterval(v.value, groups[0])
	}
	return nil
}

// ndcg returns the normalized discounted cumulative gains of a ranking, in plain loops: of each
// place the best document that is left, the first row of equal ones. Scores that an error could
// order otherwise make the values doubtful: see number.
func (r *evaluator) ndcg(scores []float64, e float64) (list []named) {
	q := r.p.Rows.Queries
	if !r.in.System.OfPairs() || q.Grades == nil {
		return nil
	}
	lists := make([][]int, len(q.Names))
	for i, query := range q.Of {
		lists[query] = append(lists[query], i)
	}
	gain := func(i int) float64 { return math.Exp2(float64(q.Grades[i])) - 1 }
	for _, k := range []int{5, 10} {
		sum, doubt, queries := 0.0, 0.0, 0
		for _, rows := range lists {
			dcg := func(better func(a, b int) bool) (sum float64) {
				left := slices.Clone(rows)
				for place := range min(k, len(rows)) {
					best := 0
					for at := range left {
						if better(left[at], left[best]) {
							best = at
						}
					}
					sum += gain(left[best]) / math.Log2(float64(place+2))
					left = slices.Delete(left, best, best+1)
				}
				return sum
			}
			most := dcg(func(a, b int) bool { return q.Grades[a] > q.Grades[b] })
			if most == 0 {
				continue
			}
			queries++
			sum += dcg(func(a, b int) bool { return scores[a] > scores[b] }) / most
			close := func(i int) bool {
				return slices.ContainsFunc(rows, func(j int) bool {
					return q.Grades[i] != q.Grades[j] && scores[i] != scores[j] && math.Abs(scores[i]-scores[j]) <= 2*e
				})
			}
			if slices.ContainsFunc(rows, close) {
				doubt++
			}
		}
		if queries > 0 {
			list = append(list, named{fmt.Sprintf("ndcg@%d", k), number{sum / float64(queries), rounding + doubt/float64(queries), true}})
		}
	}
	return list
}
