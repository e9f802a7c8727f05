package constraints

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/graph/describe"
)

// PairErrors has the numbers of wrong pairs for some scores s. A pair (i, j) is wrong if s_i < s_j,
// and half wrong if s_i = s_j. The numbers are doubled, so that they are integers.
type PairErrors struct {
	// Queries has an entry for each query and each of its cells with pairs, in the order of the
	// queries.
	Queries []QueryErrors
	groups  int
}

// QueryErrors has the numbers of pairs of a query in one cell. The cell a groups + b has the pairs
// of a document of group a with a less relevant document of group b.
type QueryErrors struct {
	Query, Cell int32
	Pairs       int64
	Doubled     int64 // twice the number of wrong pairs
}

// PairTerm is Weight times the share of wrong pairs among the pairs of Cells. The number of a cell
// is a groups + b: see QueryErrors.
type PairTerm struct {
	Weight float64
	Cells  []int
}

// Errors counts the wrong pairs. Errors sorts the scores of each query: a query of n documents
// takes about n log n comparisons, and n operations for each group and level. All cores share the
// queries. A score that is NaN is an error, which names the document.
func (p *Pairs) Errors(scores []float64) (*PairErrors, error) {
	if len(scores) != p.Rows() {
		return nil, fmt.Errorf("constraints: %d scores for %d documents", len(scores), p.Rows())
	}
	if i := slices.IndexFunc(scores, func(s float64) bool { return s != s }); i >= 0 {
		return nil, fmt.Errorf("constraints: the score of document %d is NaN", i)
	}
	queries := len(p.p.Queries) - 1
	parts := max(1, min(runtime.GOMAXPROCS(0), queries, len(scores)/leastPart))
	lists, tasks := make([][]QueryErrors, parts), make([]func(), parts)
	for k := range tasks {
		tasks[k] = func() {
			c := newPairCounter(&p.p)
			for q := queries * k / parts; q < queries*(k+1)/parts; q++ {
				lists[k] = c.appendQuery(lists[k], q, scores)
			}
		}
	}
	concurrently(tasks...)
	return &PairErrors{slices.Concat(lists...), p.p.Groups}, nil
}

// pairCounter counts the wrong pairs, query by query.
type pairCounter struct {
	p              *describe.Pairs
	ranked         []rankedDocument
	pairs, doubled []int64 // pairs, and twice the wrong pairs, by cell
	above          []int64 // documents of lower levels with higher scores, by level and group
	sorter         vec.Sorter
	spare          []rankedDocument
}

// rankedDocument is a document of a query. level is the number of lower levels in the query.
type rankedDocument struct {
	score        float64
	level, group int32
}

// newPairCounter returns a counter of the pairs.
func newPairCounter(p *describe.Pairs) *pairCounter {
	return &pairCounter{p: p, pairs: make([]int64, p.Groups*p.Groups), doubled: make([]int64, p.Groups*p.Groups)}
}

// appendQuery appends the entries of query q.
func (c *pairCounter) appendQuery(list []QueryErrors, q int, scores []float64) []QueryErrors {
	p, groups := c.p, c.p.Groups
	from, to := int(p.Queries[q]), int(p.Queries[q+1])
	if from == to {
		return list
	}
	levels := c.rank(from, to, scores)
	c.above = slices.Grow(c.above[:0], levels*groups)[:levels*groups]
	clear(c.above)
	for at := 0; at < len(c.ranked); {
		end := at + 1
		for end < len(c.ranked) && c.ranked[end].score == c.ranked[at].score {
			end++
		}
		equal := c.ranked[at:end]
		c.add(equal) // twice, before and after the equal scores are counted: a pair of equal scores is half wrong
		for _, d := range equal {
			for level := int(d.level) + 1; level < levels; level++ {
				c.above[level*groups+int(d.group)]++
			}
		}
		c.add(equal)
		at = end
	}
	for cell, n := range c.pairs {
		if n > 0 {
			list = append(list, QueryErrors{int32(q), int32(cell), n, c.doubled[cell]})
		}
	}
	clear(c.pairs)
	clear(c.doubled)
	return list
}

// rank sorts the documents of the blocks [from, to) by decreasing score, counts their pairs, and
// returns the number of their levels.
func (c *pairCounter) rank(from, to int, scores []float64) (levels int) {
	p := c.p
	c.ranked = c.ranked[:0]
	for i := from; i < to; i++ {
		if i == from || p.Blocks[i].Level != p.Blocks[i-1].Level {
			levels++
		}
		for _, row := range p.Order[p.Start(i):p.Blocks[i].End] {
			c.ranked = append(c.ranked, rankedDocument{scores[row], int32(levels - 1), int32(p.Blocks[i].Group)})
		}
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			n := int64(int(p.Blocks[i].End)-p.Start(i)) * int64(int(p.Blocks[j].End)-p.Start(j))
			c.pairs[p.Cell(0, p.Blocks[i], p.Blocks[j])] += n
		}
	}
	c.sort()
	return levels
}

// radixDocuments is the number of documents of a query from which a sort by radix is faster than a
// sort by comparisons.
const radixDocuments = 4096

// sort sorts the documents by decreasing score.
func (c *pairCounter) sort() {
	if len(c.ranked) < radixDocuments {
		slices.SortFunc(c.ranked, func(a, b rankedDocument) int {
			switch { // cmp.Compare takes longer, because it looks for NaN
			case a.score > b.score:
				return -1
			case a.score < b.score:
				return 1
			}
			return 0
		})
		return
	}
	c.spare = append(c.spare[:0], c.ranked...)
	for k, i := range c.sorter.Order(len(c.spare), func(i int) float64 { return -c.spare[i].score }) {
		c.ranked[k] = c.spare[i]
	}
}

// add adds the numbers of less relevant documents with higher scores to doubled, for each of the
// documents.
func (c *pairCounter) add(documents []rankedDocument) {
	groups := c.p.Groups
	for _, d := range documents {
		if d.level == 0 {
			continue
		}
		doubled := c.doubled[int(d.group)*groups:][:groups]
		for b, n := range c.above[int(d.level)*groups:][:groups] {
			doubled[b] += n
		}
	}
}

// Counts returns twice the number of wrong pairs, and the number of pairs, in the cells of all
// queries.
func (e *PairErrors) Counts(cells ...int) (doubled, pairs int64) {
	for _, q := range e.Queries {
		if slices.Contains(cells, int(q.Cell)) {
			doubled, pairs = doubled+q.Doubled, pairs+q.Pairs
		}
	}
	return doubled, pairs
}

// QueryGaps describes the gaps |err(a > not a) - err(b > not b)| between the errors of two groups'
// pairs with documents outside of the group, one gap for each query that has both kinds of pairs. n
// is their number, and p90 the least gap that is at least as large as 90% of them.
func (e *PairErrors) QueryGaps(a, b int) (n int, mean, p90, largest float64) {
	var gaps []float64
	for at := 0; at < len(e.Queries); {
		var doubled, pairs [2]float64
		q := e.Queries[at].Query
		for ; at < len(e.Queries) && e.Queries[at].Query == q; at++ {
			entry := e.Queries[at]
			first, second := int(entry.Cell)/e.groups, int(entry.Cell)%e.groups
			for k, group := range [2]int{a, b} {
				if first == group && second != group {
					doubled[k], pairs[k] = doubled[k]+float64(entry.Doubled), pairs[k]+float64(entry.Pairs)
				}
			}
		}
		if pairs[0] > 0 && pairs[1] > 0 {
			gaps = append(gaps, math.Abs(doubled[0]/(2*pairs[0])-doubled[1]/(2*pairs[1])))
		}
	}
	if n = len(gaps); n == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(gaps)
	for _, g := range gaps {
		mean += g / float64(n)
	}
	return n, mean, gaps[int(math.Ceil(0.9*float64(n)))-1], gaps[n-1]
}

// Cells returns the cells for which keep is true. a is the group of the more relevant document, and
// b the group of the less relevant document.
func (e *PairErrors) Cells(keep func(a, b int) bool) (cells []int) {
	for a := range e.groups {
		for b := range e.groups {
			if keep(a, b) {
				cells = append(cells, a*e.groups+b)
			}
		}
	}
	return cells
}

// Estimate returns the sum v of the terms, and the standard error of v. The sampling units are the
// queries, because the pairs of a query share documents. Term t has N_t pairs, of which the share
// R_t is wrong. Query q has n_tq of these pairs, of which w_tq are wrong. Q is the number of
// queries that have pairs of at least one term. Then
//
//	z_q = sum_t Weight_t (w_tq - R_t n_tq) / N_t,   standard error = sqrt(Q/(Q-1) sum_q z_q^2),
//
// from the linearised variance of a combination of ratios. v is NaN if a term has no pairs. The
// standard error is NaN for fewer than two queries.
func (e *PairErrors) Estimate(terms ...PairTerm) (v, standardError float64) {
	rates, sizes := make([]float64, len(terms)), make([]float64, len(terms))
	for t, term := range terms {
		doubled, pairs := e.Counts(term.Cells...)
		sizes[t] = float64(pairs)
		rates[t] = float64(doubled) / (2 * sizes[t])
		v += term.Weight * rates[t]
	}
	queries, sum := 0, 0.0
	for at := 0; at < len(e.Queries); {
		z, counts := 0.0, false
		q := e.Queries[at].Query
		for ; at < len(e.Queries) && e.Queries[at].Query == q; at++ {
			entry := e.Queries[at]
			for t, term := range terms {
				if slices.Contains(term.Cells, int(entry.Cell)) {
					counts = true
					z += term.Weight * (float64(entry.Doubled)/2 - rates[t]*float64(entry.Pairs)) / sizes[t]
				}
			}
		}
		if counts {
			queries++
		}
		sum += z * z
	}
	if queries < 2 {
		return v, math.NaN()
	}
	return v, math.Sqrt(float64(queries) / float64(queries-1) * sum)
}
