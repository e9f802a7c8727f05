package constraints

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"ppal/trainer/graph/describe"
)

// ErrNoPairs is the error of documents without a pair: in each query, all documents have the same
// relevance.
var ErrNoPairs = errors.New("constraints: no pairs: every query has documents of one relevance only")

// The largest numbers of levels and groups of Documents.
const (
	mostLevels     = math.MaxUint8 + 1
	mostPairGroups = math.MaxUint16 + 1
)

// Documents describes the rows of a ranking, which compares the documents within each query.
type Documents struct {
	// Queries has the query of each document, from 0. The documents of a query need not be
	// consecutive. A document with a negative query is in no pair.
	Queries []int32
	// Levels has the relevance of each document, 0 to 255: a higher level should have a higher
	// score.
	Levels []int
	// Groups has the group of each document, from 0; nil: all documents are in group 0.
	Groups []int
}

// Pairs is the set of pairs (i, j) of documents of one query in which i is more relevant than j,
// divided into cells by the groups of i and j. Pairs takes 4 bytes for each document, and 8 bytes
// for each block of documents with equal query, relevance and group, for any number of pairs. Pairs
// is immutable.
type Pairs struct {
	p      describe.Pairs
	digest lazyDigest
}

// NewPairs returns the pairs of the documents for the groups 0..groups-1. If each is true, every
// query has its own cells; otherwise all queries share the cells. Documents without a pair are
// ErrNoPairs.
func NewPairs(d Documents, groups int, each bool) (*Pairs, error) {
	if err := d.check(groups); err != nil {
		return nil, err
	}
	p := describe.Pairs{Documents: len(d.Queries), Groups: groups, Each: each}
	starts, rows := d.byQuery()
	p.Queries = make([]int32, 1, len(starts))
	sets := 1
	if each {
		sets = len(starts) - 1
	}
	p.Counts = make([]int64, sets*groups*groups)
	for q := range len(starts) - 1 {
		d.addQuery(&p, q, rows[starts[q]:starts[q+1]])
		p.Queries = append(p.Queries, int32(len(p.Blocks)))
	}
	if len(p.Blocks) == 0 {
		return nil, ErrNoPairs
	}
	p.Order, p.Blocks = slices.Clip(p.Order), slices.Clip(p.Blocks)
	return &Pairs{p, digestLater(func(h digester) { addPairs(h, &p) })}, nil
}

// check returns an error if a query, level or group is out of range.
func (d Documents) check(groups int) error {
	n := len(d.Queries)
	switch {
	case n == 0:
		return errNoRows
	case n > math.MaxInt32:
		return fmt.Errorf("constraints: %d documents, want at most %d", n, math.MaxInt32)
	case groups < 1 || groups > mostPairGroups:
		return fmt.Errorf("constraints: %d groups of documents, want 1 to %d", groups, mostPairGroups)
	case len(d.Levels) != n || d.Groups != nil && len(d.Groups) != n:
		return fmt.Errorf("constraints: %d queries, %d levels and %d groups of documents, want equal numbers", n, len(d.Levels), len(d.Groups))
	}
	for i, level := range d.Levels {
		if level < 0 || level >= mostLevels {
			return fmt.Errorf("constraints: document %d has relevance %d, want 0 to %d", i, level, mostLevels-1)
		}
		if g := d.group(i); g < 0 || g >= groups {
			return fmt.Errorf("constraints: document %d is in group %d, want 0 to %d", i, g, groups-1)
		}
		if d.Queries[i] == math.MaxInt32 {
			return fmt.Errorf("constraints: document %d has query %d, want at most %d", i, d.Queries[i], math.MaxInt32-1)
		}
	}
	return nil
}

// group returns the group of document i.
func (d Documents) group(i int) int {
	if d.Groups == nil {
		return 0
	}
	return d.Groups[i]
}

// byQuery returns the rows of query q as rows[starts[q]:starts[q+1]], in increasing order.
func (d Documents) byQuery() (starts, rows []int32) {
	starts = make([]int32, slices.Max(d.Queries)+3)
	kept := 0
	for _, q := range d.Queries {
		if q >= 0 {
			starts[q+2]++
			kept++
		}
	}
	for q := range len(starts) - 1 {
		starts[q+1] += starts[q]
	}
	rows = make([]int32, kept)
	for i, q := range d.Queries {
		if q >= 0 {
			rows[starts[q+1]] = int32(i)
			starts[q+1]++
		}
	}
	return starts[:len(starts)-1], rows
}

// addQuery adds the blocks of a query unless all its rows have the same level. addQuery sorts the
// rows.
func (d Documents) addQuery(p *describe.Pairs, q int, rows []int32) {
	differs := func(i int32) bool { return d.Levels[i] != d.Levels[rows[0]] }
	if !slices.ContainsFunc(rows, differs) {
		return
	}
	slices.SortStableFunc(rows, func(i, j int32) int {
		return cmp.Or(cmp.Compare(d.Levels[i], d.Levels[j]), cmp.Compare(d.group(int(i)), d.group(int(j))))
	})
	from := len(p.Blocks)
	for _, i := range rows {
		p.Order = append(p.Order, i)
		b := describe.Block{End: int32(len(p.Order)), Level: uint8(d.Levels[i]), Group: uint16(d.group(int(i)))}
		if last := len(p.Blocks) - 1; last >= from && p.Blocks[last].Level == b.Level && p.Blocks[last].Group == b.Group {
			p.Blocks[last].End = b.End
		} else {
			p.Blocks = append(p.Blocks, b)
		}
	}
	for i := from; i < len(p.Blocks); i++ {
		for j := from; p.Blocks[j].Level < p.Blocks[i].Level; j++ {
			p.Counts[p.Cell(q, p.Blocks[i], p.Blocks[j])] += int64(int(p.Blocks[i].End)-p.Start(i)) * int64(int(p.Blocks[j].End)-p.Start(j))
		}
	}
}

// addPairs adds the pairs to a digest. Different sets of pairs have different digests.
func addPairs(h digester, p *describe.Pairs) {
	each := 0
	if p.Each {
		each = 1
	}
	h.ints(p.Documents, p.Groups, each)
	h.int32s(p.Order)
	h.int32s(p.Queries)
	for _, b := range p.Blocks {
		h.ints(int(b.End), int(b.Level), int(b.Group))
	}
}

// Rows returns the number of documents.
func (p *Pairs) Rows() int { return p.p.Documents }

// Cells returns the number of cells: groups^2, or groups^2 for each query if each query has its own
// cells. The pairs of a document of group a with a less relevant document of group b are in the
// cell a groups + b; if query q has its own cells, in the cell q groups^2 + a groups + b.
func (p *Pairs) Cells() int { return p.p.Cells() }

// Counts returns the number of pairs of each cell. Callers must not modify the slice.
func (p *Pairs) Counts() []int64 { return p.p.Counts }

// sum returns the digest of the pairs.
func (p *Pairs) sum() [sha256.Size]byte { return p.digest() }

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
