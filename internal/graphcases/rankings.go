package graphcases

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/models"
)

// Ranking is a problem on the pairs of documents of queries.
type Ranking struct {
	Name    string
	Queries []int // the number of documents of each query
	Levels  int   // of relevance
	Groups  int
	Each    bool // bounds for each query instead of all queries
	// Objective and Constraints are the surrogates of f and g.
	Objective, Constraints constraints.Phi
}

// Rankings returns problems on pairs of all surrogates, of two and more levels and groups, with
// bounds on all queries and on each query. Some queries have one document, and some have documents
// of one level.
func Rankings() []Ranking {
	usual := []int{1, 2, 3, 17, 40, 1, 64, 9, 33}
	var list []Ranking
	for i, phi := range constraints.Phis() {
		for k, levels := range []int{2, 3, 5} {
			for _, each := range []bool{false, true} {
				r := Ranking{Queries: usual, Levels: levels, Groups: 1 + (i+k)%3, Each: each, Objective: phi, Constraints: constraints.Sigmoid}
				r.Name = fmt.Sprintf("ranking/%v/%d levels/%d groups/each=%v", phi, levels, r.Groups, each)
				list = append(list, r)
			}
		}
	}
	return list
}

// Ranked returns the cases of Rankings, with and without a hidden layer, in every form of the rows.
func Ranked() (list []Case) {
	for i, r := range Rankings() {
		list = append(list, r.Case(models.Spec{Inputs: 5, Hidden: []int{7}[i%2:]}, Storage(i%4)))
	}
	return list
}

// rows returns the number of documents.
func (r Ranking) rows() (n int) {
	for _, size := range r.Queries {
		n += size
	}
	return n
}

// Documents draws levels and groups. The documents of a query are not consecutive. Every third
// query has one level.
func (r Ranking) Documents() constraints.Documents {
	rng := rand.New(rand.NewPCG(uint64(r.Levels), uint64(r.Groups)))
	n := r.rows()
	d := constraints.Documents{Queries: make([]int32, n), Levels: make([]int, n), Groups: make([]int, n)}
	places := rng.Perm(n)
	for q, size := range r.Queries {
		for k, i := range places[:size] {
			d.Queries[i], d.Groups[i] = int32(q), rng.IntN(r.Groups)
			if q%3 != 2 {
				d.Levels[i] = min(rng.IntN(r.Levels+2), r.Levels-1) * min(1, k)
			}
		}
		places = places[size:]
	}
	return d
}

// Case returns the problem with a model of one score.
//
//	f = mean of phi over all pairs,
//	g_ab = mean of phi over the pairs (a, b) - mean over the pairs (b, a),   a > b,
//
// of all queries together or of each query. With one group g is the mean of each query, or of all.
func (r Ranking) Case(spec models.Spec, storage Storage) Case {
	spec.Outputs = 1
	c := Case{Name: fmt.Sprintf("%s/%v/form %d", r.Name, spec.Hidden, storage), Spec: spec, Rows: r.rows(), Storage: storage, Seed: uint64(7*r.Levels + r.Groups)}
	c.Nodes = func(scores *gorgonia.Node, _ *rand.Rand) (f, terms *gorgonia.Node, err error) {
		pairs, err := constraints.NewPairs(r.Documents(), r.Groups, r.Each)
		if err != nil {
			return nil, nil, err
		}
		meanOf := func(phi constraints.Phi) (*gorgonia.Node, error) {
			op, err := constraints.NewPairMeans(pairs, phi)
			if err != nil {
				return nil, err
			}
			return op.Apply(scores)
		}
		objective, err := meanOf(r.Objective)
		if err != nil {
			return nil, nil, err
		}
		bounded, err := meanOf(r.Constraints)
		if err != nil {
			return nil, nil, err
		}
		mean, gaps := r.rates(pairs)
		if f, err = must(constraints.NewGroupMean(must(constraints.NewMembership(pairs.Cells(), mean)), 0)).Apply(objective); err != nil {
			return nil, nil, err
		}
		terms, err = must(constraints.NewGroupMeans(must(constraints.NewMembership(pairs.Cells(), gaps)), nil)).Apply(bounded)
		return f, terms, err
	}
	return c
}

// rates returns the mean over all pairs, and the gaps, as weights of the cells.
func (r Ranking) rates(pairs *constraints.Pairs) (mean, gaps []constraints.Group) {
	counts := pairs.Counts()
	total := 0.0
	for _, n := range counts {
		total += float64(n)
	}
	mean = []constraints.Group{{Name: "all"}}
	for c, n := range counts {
		if n > 0 {
			mean[0].Rows, mean[0].Weights = append(mean[0].Rows, c), append(mean[0].Weights, float64(n)/total)
		}
	}
	cells := r.Groups * r.Groups
	for set := 0; set < len(counts); set += cells {
		for a := range r.Groups {
			for b := range a {
				one, other := set+a*r.Groups+b, set+b*r.Groups+a
				if counts[one] > 0 && counts[other] > 0 {
					gaps = append(gaps, constraints.Group{Name: fmt.Sprint(one), Rows: []int{one, other}, Weights: []float64{1, -1}})
				}
			}
		}
		if r.Groups == 1 && counts[set] > 0 {
			gaps = append(gaps, constraints.Group{Name: fmt.Sprint(set), Rows: []int{set}})
		}
	}
	return mean, gaps
}
