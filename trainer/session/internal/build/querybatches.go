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

// QueryBatches divides queries into at most count batches of whole queries with about the same
// number of rows, in an order that the seed decides. Each batch has a query with pairs. The rows of
// a batch are in increasing order.
//
// A query whose rows are the rows p to p+n-1 in that order is in the batch of the row p + n/2, so
// that a batch differs from the mean size by at most a query.
func QueryBatches(paired, others [][]int, count int, seed uint64) [][]int {
	if len(paired) == 0 {
		paired, others = others, nil
	}
	count = max(1, min(count, len(paired)))
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
	m := &Batches{seed: seed, pass: -1, dtype: dtype, data: r.Data, whole: QueryBatches(paired, others, (n+size-1)/size, seed)}
	m.order, m.packed = make([]int, len(m.whole)), make([]func() error, len(m.whole))
	var err error
	if m.bound, err = b.Problem(r.Pick(m.whole[0]), dtype, weights); err != nil {
		return nil, nil, err
	}
	m.packed[0] = func() error { m.bound.UseOwn(); return nil }
	m.build = func(batch int) (func() error, error) {
		use, err := m.bound.AddBatch(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			return b.definition(g, r.Pick(m.whole[batch]), dtype, weights)
		}, b.Devices.Train)
		return func() error { use(); return nil }, err
	}
	return m.complete(b, all)
}

// SampleOfQueries returns the rows of a sample of whole queries in increasing order: of the queries
// with pairs and of the others the first ones, the share rounded up, of a random order. A larger
// share has the rows of a smaller one.
func SampleOfQueries(paired, others [][]int, share float64, seed uint64) []int {
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
