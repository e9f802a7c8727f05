package constraints

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// rankedPopulation has the documents of random queries, with a group each and some without a group.
func rankedPopulation(rng *rand.Rand, n, queries, grades int) *Population {
	p := &Population{Attributes: []Attribute{{Name: "quality", Values: []string{"low", "high"}}, {Name: "site", Values: []string{"a", "b", "c"}}}}
	for k := range grades {
		p.Classes = append(p.Classes, "grade "+strconv.Itoa(k))
	}
	for q := range queries {
		p.QueryNames = append(p.QueryNames, "q"+strconv.Itoa(q))
	}
	for range n {
		p.Labels = append(p.Labels, rng.IntN(grades))
		p.Queries = append(p.Queries, int32(rng.IntN(queries)))
		p.Attributes[0].Of = append(p.Attributes[0].Of, rng.IntN(2))
		p.Attributes[1].Of = append(p.Attributes[1].Of, rng.IntN(4)-1)
	}
	return p
}

// pairRate counts the pairs of documents (i, j) for which counts is true, one by one: the share of
// wrong pairs, the mean of the smooth errors and the mean loss.
func pairRate(p *Population, scores []float64, counts func(i, j int) bool) (pairs int, wrong, smooth, loss float64) {
	for i := range p.Labels {
		for j := range p.Labels {
			if p.Queries[i] != p.Queries[j] || p.Labels[i] <= p.Labels[j] || !counts(i, j) {
				continue
			}
			pairs++
			d := scores[i] - scores[j]
			smooth += 1 / (1 + math.Exp(d))
			loss += math.Log1p(math.Exp(-d))
			switch {
			case d < 0:
				wrong++
			case d == 0:
				wrong += 0.5
			}
		}
	}
	n := float64(pairs)
	return pairs, wrong / n, smooth / n, loss / n
}

func parse(t *testing.T, texts ...string) (list []Constraint) {
	t.Helper()
	for _, text := range texts {
		list = append(list, must(Parse(text)))
	}
	return list
}

// TestPairRates compares the rates of pairs with loops over the pairs: counted, smooth on the host,
// and by the nodes, for all kinds of pairs, groups, single queries and grades.
func TestPairRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, grades := range []int{2, 4} {
		p := rankedPopulation(rng, 200, 5, grades)
		scores := randoms(rng, p.Len(), 1)
		for i := range scores {
			scores[i] = math.Round(4*scores[i]) / 4 // some are equal
		}
		low := func(i int) bool { return p.Attributes[0].Of[i] == 0 }
		siteA := func(i int) bool { return p.Attributes[1].Of[i] == 0 }
		for text, counts := range map[string]func(i, j int) bool{
			"pair_error":                             func(i, j int) bool { return true },
			"pair_error[low]":                        func(i, j int) bool { return low(i) },
			"cross_pair_error[quality=low]":          func(i, j int) bool { return low(i) && !low(j) },
			"own_pair_error[low]":                    func(i, j int) bool { return low(i) && low(j) },
			"cross_pair_error[site=a, quality=high]": func(i, j int) bool { return !low(i) && siteA(i) && (low(j) || !siteA(j)) },
			"pair_error[query=q3]":                   func(i, j int) bool { return p.Queries[i] == 3 },
			"cross_pair_error[low, query=q2]":        func(i, j int) bool { return p.Queries[i] == 2 && low(i) && !low(j) },
			"pair_loss[site=a]":                      func(i, j int) bool { return siteA(i) },
			"own_pair_error[query=q1, quality=high, site=b]": func(i, j int) bool {
				return p.Queries[i] == 1 && !low(i) && !low(j) && p.Attributes[1].Of[i] == 1 && p.Attributes[1].Of[j] == 1
			},
		} {
			s := must(NewSystem(PairError(), parse(t, text+" <= 0.5"), p))
			sample := must(s.On(p))
			pairs, wrong, smooth, loss := pairRate(p, scores, counts)
			f, h, err := sample.Smooth(scores)
			require.NoError(t, err)
			want := smooth
			if strings.HasPrefix(text, "pair_loss") {
				wrong, want = loss, loss
			}
			_, all, allSmooth, _ := pairRate(p, scores, func(i, j int) bool { return true })
			k := len(h) - 1 // the first cell is the objective
			c := must(sample.CountScores(scores, h))
			near := func(name string, got, want float64) {
				if !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("%d grades, %s: %s %v, by loops %v", grades, text, name, got, want)
				}
			}
			near("smooth", h[k], want)
			near("objective", f, allSmooth)
			near("counted", c.Values[0].Value, wrong)
			near("counted objective", c.Objective.Value, all)
			if c.Rows[k] != pairs || s.sizes[k] != pairs {
				t.Errorf("%d grades, %s: %d pairs, on the training rows %d, by loops %d", grades, text, c.Rows[k], s.sizes[k], pairs)
			}
			g := gorgonia.NewGraph()
			node := gorgonia.NewTensor(g, tensor.Float64, 2, gorgonia.WithShape(p.Len(), 1), gorgonia.WithName("s"))
			fn, rn, err := sample.Nodes(node)
			require.NoError(t, err)
			ln := must(sample.LossNode(node))
			let(t, node, dense(tensor.Float64, scores, p.Len(), 1))
			runVM(t, compiled(t, gorgonia.Nodes{node}, gorgonia.Nodes{fn, rn, ln}))
			near("node", widened(t, rn.Value())[k], want)
			near("objective's node", fn.Value().Data().(float64), allSmooth)
			_, _, _, loss = pairRate(p, scores, func(i, j int) bool { return true })
			near("loss node", ln.Value().Data().(float64), loss)
		}
	}
}

// TestPairGaps checks the gap of each query: its inequalities, the value, and the queries that it
// leaves out because they lack pairs.
func TestPairGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	p := rankedPopulation(rng, 120, 6, 2)
	for i, q := range p.Queries {
		if q == 4 { // its relevant documents are of one group
			p.Attributes[0].Of[i] = p.Labels[i]
		}
	}
	s := must(NewSystem(PairLoss(), parse(t, "gap(cross_pair_error[query=*], quality) <= 0.25"), p))
	if len(s.Bounds) != 10 || !s.OfQueries() || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "no pairs: query=q4") {
		t.Errorf("%d inequalities, notes %q", len(s.Bounds), s.Notes)
	}
	scores := randoms(rng, p.Len(), 1)
	sample := must(s.On(p))
	_, h, err := sample.Smooth(scores)
	c := must(sample.CountScores(scores, must(h, err)))
	worst := 0.0
	for q := range int32(6) {
		_, low, _, _ := pairRate(p, scores, func(i, j int) bool {
			return p.Queries[i] == q && p.Attributes[0].Of[i] == 0 && p.Attributes[0].Of[j] == 1
		})
		_, high, _, _ := pairRate(p, scores, func(i, j int) bool {
			return p.Queries[i] == q && p.Attributes[0].Of[i] == 1 && p.Attributes[0].Of[j] == 0
		})
		if q != 4 {
			worst = max(worst, math.Abs(low-high))
		}
	}
	if !(math.Abs(c.Values[0].Value-worst) <= 1e-12) {
		t.Errorf("the largest gap is %v, by loops %v", c.Values[0].Value, worst)
	}
	if !math.IsNaN(c.QueryError(0)) {
		t.Error("the gap of single queries has a standard error")
	}
	// Other rows have other queries: no value.
	other := *p
	other.QueryNames = []string{"a", "b", "c", "d", "e", "f"}
	if c := must(must(s.On(&other)).CountScores(scores, h)); c.Values[0].Defined {
		t.Errorf("the gap of queries that the rows do not have is %v", c.Values[0])
	}
}

// TestPairQueryError compares the standard errors of a system with those of PairErrors.
func TestPairQueryError(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	p := rankedPopulation(rng, 200, 12, 2)
	scores := randoms(rng, p.Len(), 1)
	s := must(NewSystem(PairError(), parse(t, "gap(cross_pair_error, quality) <= 0.25", "own_pair_error[high] <= 0.5", "distance(pair_error, quality) <= 0.3"), p))
	c := must(must(s.On(p)).CountScores(scores, nil))
	d := Documents{Queries: p.Queries, Levels: p.Labels, Groups: p.Attributes[0].Of}
	e := must(must(NewPairs(d, 2, false)).Errors(scores))
	estimate := func(terms ...PairTerm) float64 { _, se := e.Estimate(terms...); return se }
	of := func(a int) []int { return e.Cells(func(i, j int) bool { return i == a }) }
	all := e.Cells(func(int, int) bool { return true })
	low, _ := e.Estimate(PairTerm{1, of(0)}, PairTerm{-1, all})
	high, _ := e.Estimate(PairTerm{1, of(1)}, PairTerm{-1, all})
	far := of(0)
	if math.Abs(high) > math.Abs(low) {
		far = of(1)
	}
	for j, want := range []float64{
		estimate(PairTerm{1, []int{1}}, PairTerm{-1, []int{2}}), estimate(PairTerm{1, []int{3}}), estimate(PairTerm{1, far}, PairTerm{-1, all}),
	} {
		if got := c.QueryError(j); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: standard error %v, want %v", s.Subject[j], got, want)
		}
	}
	if got, want := c.QueryErrorOfObjective(), estimate(PairTerm{1, all}); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("the objective: standard error %v, want %v", got, want)
	}
	if c.Flat() {
		t.Error("the scores order pairs")
	}
	if c := must(must(s.On(p)).CountScores(make([]float64, p.Len()), nil)); !c.Flat() || c.Objective.Value != 0.5 {
		t.Errorf("equal scores: pair error %v", c.Objective.Value)
	}
}

// TestBatchWithoutPairs checks a mini-batch without pairs of a rate: the rate is that of all pairs
// of the batch.
func TestBatchWithoutPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	p := rankedPopulation(rng, 60, 3, 2)
	s := must(NewSystem(PairError(), parse(t, "gap(cross_pair_error, quality) <= 0.25"), p))
	batch := rankedPopulation(rng, 20, 3, 2)
	batch.Attributes[0].Of = slices.Repeat([]int{0}, 20)
	sample := must(s.On(batch))
	node := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float64, 2, gorgonia.WithShape(20, 1), gorgonia.WithName("s"))
	fn, rn, err := sample.Nodes(node)
	require.NoError(t, err)
	let(t, node, dense(tensor.Float64, randoms(rng, 20, 1), 20, 1))
	runVM(t, compiled(t, gorgonia.Nodes{node}, gorgonia.Nodes{fn, rn}))
	for _, v := range widened(t, rn.Value()) {
		if math.Abs(v-fn.Value().Data().(float64)) > 1e-12 {
			t.Errorf("rates %v, all pairs %v", rn.Value(), fn.Value())
		}
	}
}

// TestRefusedPairRates checks the errors of systems of pairs.
func TestRefusedPairRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	p := rankedPopulation(rng, 60, 3, 2)
	p.Groups = []Group{{Name: "old", Rows: []int{0, 1, 2, 3, 4, 5, 6}}, {Name: "new", Rows: []int{4, 5, 6, 7, 8}}}
	none := rankedPopulation(rng, 10, 1, 2)
	none.Queries = nil
	named := *p
	named.Attributes = append(slices.Clone(p.Attributes), Attribute{Name: "query", Values: []string{"x"}, Of: make([]int, 60)})
	oneGroup := rankedPopulation(rng, 60, 3, 2)
	oneGroup.Attributes[0].Of = make([]int, 60)
	oneWay := rankedPopulation(rng, 60, 2, 2) // the relevant documents are in the second group
	oneWay.Attributes[0].Of = oneWay.Labels
	for _, c := range []struct {
		minimize Rate
		subject  string
		p        *Population
		want     string
	}{
		{PairError(), "tpr <= 0.5", p, "the constraint is about rows, and the objective pair_error counts pairs"},
		{PairError(), "churn(a.csv) <= 0.5", p, "the constraint is about rows"},
		{Error(), "gap(pair_error, quality) <= 0.5", p, "the rate counts pairs of documents, and the objective error counts rows; minimize pair_error or pair_loss"},
		{PairError(), "cross_pair_error <= 0.5", p, "cross_pair_error needs a group of documents; write cross_pair_error[GROUP], or gap(cross_pair_error, ATTRIBUTE)"},
		{PairError(), "pair_error[grade 1] <= 0.5", p, "pair_error counts pairs of documents of two classes"},
		{PairError(), "gap(cross_pair_error, groups) <= 0.5", p, "cross_pair_error needs disjoint groups"},
		{PairError(), "own_pair_error[groups=old] <= 0.5", p, "own_pair_error needs disjoint groups"},
		{PairError(), "pair_error[query=q9] <= 0.5", p, "query has no value \"q9\""},
		{PairError(), "pair_error <= 0.5", none, "the rows have no queries"},
		{PairError(), "pair_error <= 0.5", &named, "is an attribute of the rows"},
		{PairError(), "cross_pair_error[low] <= 0.5", oneGroup, "counts no training pair"},
		{PairError(), "gap(cross_pair_error[query=*], quality) <= 0.5", oneGroup, "no query has pairs of all groups"},
		{CrossPairError("low"), "pair_error <= 0.5", p, "cross_pair_error cannot be minimized"},
		{PairError(), "gap(cross_pair_error, quality) <= 0.5", oneWay, "1 of the 2 groups has training pairs that the rate counts, but not cross_pair_error[quality=low]"},
	} {
		_, err := NewSystem(c.minimize, parse(t, c.subject), c.p)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: error %v, want %s", c.minimize, c.subject, err, c.want)
		}
	}
	if _, err := NewSystem(PairError(), nil, none); !errors.Is(err, ErrNoQueries) {
		t.Error(err)
	}
	if _, err := NewMarginSystem(PairError(), nil, p, Margins{Objective: Hinge, Constraints: Hinge}); err == nil || !strings.Contains(err.Error(), "no surrogate of margins") {
		t.Error(err)
	}
	if _, err := must(must(NewSystem(PairError(), nil, p)).On(p)).Count(make([]int, 60)); err == nil {
		t.Error("decisions of rows count pairs")
	}
	many := rankedPopulation(rng, 50000, 2800, 2)
	if _, err := NewSystem(PairError(), parse(t, "gap(cross_pair_error[query=*], quality) <= 0.25"), many); err == nil || !strings.Contains(err.Error(), "at most 5000 are supported") {
		t.Error(err)
	}
	if n := NeedsOf(PairError("query=q1"), parse(t, "gap(cross_pair_error[query=*], quality) <= 0.5")); !slices.Equal(n.Attributes, []string{"quality"}) {
		t.Errorf("needs %v", n)
	}
}
