package experiment

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// batches is the task on mini-batches that hold the same share of every class, each class's rows in a new random order every
// time they have all been used. Batch k is a function of the seed and k alone.
type batches struct {
	*graph.Problem
	rows   rows
	counts []int // rows of each class in a batch
	orders []order
	dtype  tensor.Dtype
}

var _ trainer.Sampler = (*batches)(nil)

// order is one class's permutation in one pass over its rows.
type order struct {
	seed, class uint64
	pass        int
	rows        []int
}

// batchStream tells the batches' random streams from others of the same seed.
const batchStream = 0x62617463686573

// at returns the t-th row that the class contributes to the run, counted over all passes.
func (o *order) at(t int) int {
	n := len(o.rows)
	if pass := t / n; pass != o.pass {
		o.pass = pass
		for i := range o.rows {
			o.rows[i] = i
		}
		rng := rand.New(rand.NewPCG(o.seed^batchStream, o.class<<32|uint64(pass)))
		rng.Shuffle(n, func(i, j int) { o.rows[i], o.rows[j] = o.rows[j], o.rows[i] })
	}
	return o.rows[t%n]
}

// newBatches builds the task on batches of about size rows.
func newBatches(t *task, r rows, size int, seed uint64, dtype tensor.Dtype, weights models.Weights) (*batches, error) {
	total := r.offsets[len(r.offsets)-1]
	b := &batches{rows: r, dtype: dtype}
	first := rows{offsets: []int{0}}
	for k, n := range r.counts() {
		count := min(n, max(1, (size*n+total/2)/total))
		b.counts = append(b.counts, count)
		b.orders = append(b.orders, order{seed: seed, class: uint64(k), pass: -1, rows: make([]int, n)})
		first.offsets = append(first.offsets, first.offsets[k]+count)
	}
	_, cols := r.pixels.Dims()
	n := first.offsets[len(first.offsets)-1]
	first.pixels = &datasets.Bytes{Rows: n, Cols: cols, Data: make([]uint8, n*cols), Scale: r.pixels.Scale}
	var err error
	b.Problem, err = t.problem(first, dtype, weights)
	return b, err
}

// perPass is the number of batches in one pass over the rows.
func (b *batches) perPass() float64 {
	total, batch := b.rows.offsets[len(b.rows.offsets)-1], 0
	for _, n := range b.counts {
		batch += n
	}
	return float64(total) / float64(batch)
}

// Sample implements trainer.Sampler: it binds the rows of batch k.
func (b *batches) Sample(k int) error {
	if b.dtype == tensor.Float32 {
		return bindBatch(b, k, b.rows.pixels.Float32)
	}
	return bindBatch(b, k, b.rows.pixels.Float64)
}

func bindBatch[T float32 | float64](b *batches, k int, widen func(dst []T, from, to int)) error {
	_, cols := b.rows.pixels.Dims()
	var values []T
	for class, count := range b.counts {
		for i := range count {
			row := b.rows.offsets[class] + b.orders[class].at(k*count+i)
			at := len(values)
			values = append(values, make([]T, cols)...)
			widen(values[at:], row, row+1)
		}
	}
	var v gorgonia.Value = tensor.New(tensor.WithShape(len(values)/cols, cols), tensor.WithBacking(values))
	if err := b.Bind(0, v); err != nil {
		return fmt.Errorf("experiment: batch %d: %w", k, err)
	}
	return nil
}
