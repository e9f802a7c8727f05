package constraints

import (
	"errors"
	"fmt"
)

// pairSample holds the pairs of a population, divided into the cells that a system needs.
type pairSample struct {
	pairs        *Pairs
	errors, loss *PairMeans
	cells        [][]int // the cells of pairs of each cell of the system
	counts       []int   // the pairs of each cell of the system
	kinds        int     // see Sample.Kinds
	kindOf       []int
}

// newPairSample divides the pairs of the documents. Documents of a kind belong to the same groups
// of all cells. Rows without a pair have no Pairs.
func newPairSample(s *System, p *Population) (*pairSample, error) {
	if p.Queries == nil {
		return nil, fmt.Errorf("%w, and %s compares the documents of a query", ErrNoQueries, s.Minimize)
	}
	d := newDocuments(p)
	groupOf := make([]int, len(s.Rates)) // an index into d.groups; -1: all documents
	var err error
	for k := range s.Rates {
		_, where := s.Rates[k].queried()
		if groupOf[k], err = d.group(where); err != nil {
			return nil, err
		}
	}
	kinds, kindOf := divide(d.groups, p.Len())
	out := &pairSample{cells: make([][]int, len(s.Rates)), counts: make([]int, len(s.Rates)), kinds: len(kinds), kindOf: kindOf}
	each := s.OfQueries()
	out.pairs, err = NewPairs(Documents{Queries: p.Queries, Levels: p.Labels, Groups: kindOf}, len(kinds), each)
	if errors.Is(err, ErrNoPairs) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	out.errors, out.loss = newPairMeans(out.pairs, Sigmoid, 2), newPairMeans(out.pairs, Logistic, 2)
	sets := out.pairs.Cells() / (len(kinds) * len(kinds))
	for k := range s.Rates {
		c, from, to := &s.Rates[k], 0, sets
		if query, _ := c.queried(); query != "" {
			q, known := d.place[query]
			if !known {
				continue
			}
			from, to = int(q), int(q)+1
		}
		for set := from; set < to; set++ {
			for a, first := range kinds {
				for b, second := range kinds {
					id := (set*len(kinds)+a)*len(kinds) + b
					if n := out.pairs.Counts()[id]; n > 0 && c.counts(groupOf[k], first, second) {
						out.cells[k] = append(out.cells[k], id)
						out.counts[k] += int(n)
					}
				}
			}
		}
	}
	return out, nil
}

// counts reports whether the cell counts the pairs of documents of two kinds, each of which is
// given as its groups. group is the group of the cell; -1: all documents.
func (c *Cell) counts(group int, first, second []bool) bool {
	switch {
	case group < 0:
		return true
	case !first[group]:
		return false
	}
	return c.pairs == allPairs || second[group] == (c.pairs == ownPairs)
}

// divide divides n rows into kinds, the rows of the same groups. Kind k has the groups kinds[k].
func divide(groups [][]bool, n int) (kinds [][]bool, kindOf []int) {
	kindOf = make([]int, n)
	place := map[string]int{}
	key := make([]byte, len(groups))
	for i := range kindOf {
		for g, in := range groups {
			key[g] = 0
			if in[i] {
				key[g] = 1
			}
		}
		k, known := place[string(key)]
		if !known {
			k = len(kinds)
			place[string(key)] = k
			own := make([]bool, len(groups))
			for g := range own {
				own[g] = key[g] == 1
			}
			kinds = append(kinds, own)
		}
		kindOf[i] = k
	}
	return kinds, kindOf
}

// group returns cell k as a weighted group of the means of the cells of pairs. A mini-batch may
// have no pair of a cell. The rate of all pairs of the batch then replaces the rate of the cell.
func (s *pairSample) group(k int, name string) (Group, error) {
	if s.pairs == nil {
		return Group{}, fmt.Errorf("%w: %s: %w", ErrEmptyGroup, name, ErrNoPairs)
	}
	if s.counts[k] == 0 {
		return s.all(name), nil
	}
	return s.mean(s.cells[k], name), nil
}

// all returns all pairs as a weighted group.
func (s *pairSample) all(name string) Group {
	var cells []int
	for id, n := range s.pairs.Counts() {
		if n > 0 {
			cells = append(cells, id)
		}
	}
	return s.mean(cells, name)
}

// mean returns the mean over the pairs of the cells as a weighted group of the means of the cells.
func (s *pairSample) mean(cells []int, name string) Group {
	g := Group{Name: name, Rows: cells, Weights: make([]float64, len(cells))}
	total := 0.0
	for _, id := range cells {
		total += float64(s.pairs.Counts()[id])
	}
	for e, id := range cells {
		g.Weights[e] = float64(s.pairs.Counts()[id]) / total
	}
	return g
}

// smooth returns the smooth rates of the scores; 0 for a cell without pairs.
func (s *pairSample) smooth(y *System, scores []float64) []float64 {
	rates := make([]float64, len(y.Rates))
	if s.pairs == nil {
		return rates
	}
	var means [2][]float64
	for k := range y.Rates {
		at, phi := 0, Sigmoid
		if y.Rates[k].loss {
			at, phi = 1, Logistic
		}
		if means[at] == nil {
			means[at] = s.pairs.means(phi, scores)
		}
		g := s.mean(s.cells[k], "")
		for e, id := range g.Rows {
			rates[k] += g.Weights[e] * means[at][id]
		}
	}
	return rates
}
