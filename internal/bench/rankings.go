package bench

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/config"
)

// rankingFeatures is the number of features of MSLR-WEB10K.
const rankingFeatures = 136

// ranked is the shape of a ranking: each query has the same numbers of relevant and of other
// documents.
type ranked struct{ queries, relevant, others int }

// documents returns the number of documents.
func (r ranked) documents() int { return r.queries * (r.relevant + r.others) }

// rankingCases returns rankings of random documents with a bound on the gap of the pair errors of
// two groups: the size of MSLR-WEB10K for a linear scorer, a tenth of it for a network, and the
// size of the paper's experiment.
func rankingCases(shrink int) []Case {
	at := func(name, about string, r ranked, more config.Values) Case {
		c := Case{Name: name, About: about, products: "auto", settings: config.Values{"problem": "rates", "dataset": "synthetic-mslr",
			"minimize": "pair_error", "bounds-on": "surrogate", "subject-to": "gap(cross_pair_error, quality) <= 0.02", "model": "linear"}}
		maps.Copy(c.settings, more)
		r.queries = max(2, r.queries/shrink)
		c.open = func(ctx context.Context, s setting) (*workload, error) { return openRanking(ctx, s, r) }
		return c
	}
	return []Case{
		at("ranking-mslr-linear", "1.2 million documents, 16.6 million pairs, linear", ranked{10000, 16, 104}, nil),
		at("ranking-mslr-mlp", "120,000 documents, 1.7 million pairs, 128 hidden units", ranked{1000, 16, 104}, config.Values{"model": "mlp", "hidden": "128"}),
		at("ranking-paper", "57,000 documents, 470,000 pairs, linear", ranked{1000, 10, 47}, nil),
	}
}

// openRanking builds a ranking of random documents.
func openRanking(ctx context.Context, s setting, r ranked) (*workload, error) {
	w, err := onTable(ctx, s, r.table(), synthetic)
	if err != nil {
		return nil, err
	}
	w.references = func() ([]reference, error) {
		products, err := bareProducts(s, w.shape.Rows, w.shape.Features, w.shape.Width)
		if err != nil {
			return nil, err
		}
		pairs, err := NewPairs[float32](s.device, r.queries, r.relevant, r.others)
		if err != nil {
			return nil, err
		}
		return []reference{{name: products.name + ", and the shares and slopes of the pairs", flops: products.flops, run: func() (time.Duration, error) {
			took, err := products.run()
			return took + pairs.Run(), err
		}}}, nil
	}
	return w, nil
}

// table draws the documents.
func (r ranked) table() *tabular.Table {
	rng := rand.New(rand.NewPCG(5, tableSeed))
	n := r.documents()
	x := matrix.NewSingles(n, rankingFeatures)
	t := &tabular.Table{Features: x, Classes: []string{"grade<=0", "grade>0"}, Labels: make([]int, n), Source: make([]int, n),
		Queries: &tabular.Queries{Of: make([]int32, n), Grades: make([]uint8, n)}, Groups: []tabular.Group{{Name: "quality=low"}, {Name: "quality=high"}}}
	for q := range r.queries {
		t.Queries.Names = append(t.Queries.Names, fmt.Sprint(q))
	}
	for i := range n {
		size := r.relevant + r.others
		t.Source[i], t.Queries.Of[i] = i, int32(i/size)
		t.Labels[i] = -1
		if i%size < r.relevant {
			t.Labels[i], t.Queries.Grades[i] = 1, 1
		}
		g := &t.Groups[i%2]
		g.Rows = append(g.Rows, i)
		for j, row := 0, x.Row(i); j < len(row); j++ {
			row[j] = rng.Float32() - 0.5
		}
	}
	return t
}
