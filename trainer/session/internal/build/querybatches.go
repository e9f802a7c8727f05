package build

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// pairedStream is the stream of the order of queries, which follows the streams of the strata.
const pairedStream = passStream - 1

// queryBatches divides queries into at most count batches of whole queries with about the same
// number of rows, in an order that the seed decides. Each batch has a query with pairs. The rows of
// a batch are in increasing order. If there is a batch for each query with pairs, each batch is
// such a query, and the other queries, which change neither f nor g, are in no batch.
//
// A query whose rows are the rows p to p+n-1 in that order is in the batch of the row p + n/2, so
// that a batch differs from the mean size by at most a query.
func queryBatches(paired, others [][]int, count int, seed uint64) [][]int {
	if len(paired) == 0 {
		paired, others = others, nil
	}
	if count >= len(paired) {
		return paired
	}
	count = max(1, count)
	batches := make([][]int, count)
	for k, queries := range [2][][]int{paired, others} {
		total := 0
		for _, rows := range queries {
			total += len(rows)
		}
		first := 0
		for _, q := range shuffled(len(queries), seed, pairedStream-uint64(k)) {
			rows := queries[q]
			at := (first + len(rows)/2) * count / total
			batches[at] = append(batches[at], rows...)
			first += len(rows)
		}
		if k == 0 { // batches without a query with pairs go
			batches = slices.DeleteFunc(batches, func(rows []int) bool { return len(rows) == 0 })
			count = len(batches)
		}
	}
	for _, rows := range batches {
		slices.Sort(rows)
	}
	return batches
}

// shuffled returns the numbers below n in a random order.
func shuffled(n int, seed, stream uint64) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	shuffle(order, seed, stream)
	return order
}

// newQueryBatches builds the task on batches of whole queries. Every batch has its own graph,
// because the batches differ in their labels and in their numbers of rows. The graph of a batch is
// built when the run takes the batch for the first time.
func newQueryBatches(b *Builder, r Rows, size int, seed uint64, dtype tensor.Dtype, weights models.Weights, all problem.Problem) (*Batches, Sampler, error) {
	if b.Devices.Team != nil {
		return nil, nil, fmt.Errorf("session: mini-batches of queries need one process; use --batch-size 0, or start one process")
	}
	n, _ := r.Data.Dims()
	paired, others := r.Queries()
	m := &Batches{seed: seed, pass: -1, dtype: dtype, data: r.Data, whole: queryBatches(paired, others, (n+size-1)/size, seed)}
	m.order, m.packed = make([]int, len(m.whole)), make([]func() error, len(m.whole))
	var err error
	if m.bound, err = b.Problem(r.Pick(m.whole[0]), dtype, weights); err != nil {
		return nil, nil, err
	}
	m.packed[0] = func() error { m.bound.UseOwn(); return nil }
	m.single = len(m.whole) == len(paired)
	m.build = func(batch int) (func() error, error) {
		use, err := m.bound.AddBatch(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			return b.definition(g, r.Pick(m.whole[batch]), dtype, weights)
		}, b.Devices.Train)
		return func() error { use(); return nil }, err
	}
	batches, task, err := m.complete(b, all)
	if plain, whole := task.(batchTask); err == nil && whole && m.single && r.Violations != nil {
		task = &queryTask{Sampler: plain, batches: m, rows: r, center: b.Center, scale: b.Scale, drawn: make([]*drawnQuery, len(m.whole))}
	}
	return batches, task, err
}

// queryTask is a batchTask whose batches have one query each. The constraints of a batch bound that
// query, so that a method does not average them over the batches: a queryTask is no BlockSampler.
type queryTask struct {
	Sampler
	batches       *Batches
	rows          Rows
	center, scale []float64 // of Builder
	drawn         []*drawnQuery
	scores        []float64
}

var _ problem.DrawnGroup = (*queryTask)(nil)

// drawnQuery is what a queryTask knows of a query.
type drawnQuery struct {
	features   []float64 // the means of the documents' features, normalised
	violations func(scores []float64) ([]float64, error)
}

// Sample implements problem.Sampler.
func (q *queryTask) Sample(k int) error {
	if err := q.Sampler.Sample(k); err != nil || q.drawn[q.batches.at] != nil {
		return err
	}
	part := q.rows.Pick(q.batches.whole[q.batches.at])
	violations, err := part.Violations()
	if err != nil {
		return fmt.Errorf("session: batch %d: %w", k, err)
	}
	n, d := part.Data.Dims()
	means, row := make([]float64, d), make([]float64, d)
	for i := range n {
		part.Data.Float64(row, i, i+1)
		for j, v := range row {
			means[j] += v / float64(n)
		}
	}
	for j, c := range q.center {
		means[j] -= c
	}
	for j, a := range q.scale {
		means[j] *= a
	}
	q.drawn[q.batches.at] = &drawnQuery{means, violations}
	return nil
}

// GroupFeatures implements problem.DrawnGroup.
func (q *queryTask) GroupFeatures() []float64 { return q.drawn[q.batches.at].features }

// DecisionViolations implements problem.DrawnGroup. The values count the query's pairs.
func (q *queryTask) DecisionViolations() (_ []float64, err error) {
	if q.scores, err = q.batches.bound.AppendWatched(q.scores[:0], 0); err != nil {
		return nil, err
	}
	return q.drawn[q.batches.at].violations(q.scores)
}

// sampleOfQueries returns the rows of a sample of whole queries in increasing order: of the queries
// with pairs and of the others the first ones, the share rounded up, of a random order. A larger
// share has the rows of a smaller one.
func sampleOfQueries(paired, others [][]int, share float64, seed uint64) []int {
	var list []int
	for k, queries := range [2][][]int{paired, others} {
		order := shuffled(len(queries), seed^sampleStream, pairedStream-uint64(k))
		for _, q := range order[:int(math.Ceil(share*float64(len(order))))] {
			list = append(list, queries[q]...)
		}
	}
	slices.Sort(list)
	return list
}
