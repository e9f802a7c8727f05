package session

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// batches binds mini-batches that hold the same share of every stratum (class, and group), each one's rows in a new random order every
// time they have all been used. Batch k is a function of the seed and k alone.
type batches struct {
	bound  *graph.Problem
	rows   rows
	list   []int         // the numbers of a batch's rows, stratum by stratum
	picked matrix.Matrix // these rows of the data
	counts []int         // rows of each stratum in a batch
	orders []order
}

// smoothBatches and pieceBatches are the task on mini-batches, the latter where constraints are maxima.
type (
	smoothBatches struct {
		problem.Problem
		*batches
	}
	pieceBatches struct {
		problem.Piecewise
		*batches
	}
)

var _, _ sampler = smoothBatches{}, pieceBatches{}

// order is one stratum's permutation in one pass over its rows.
type order struct {
	seed, stratum uint64
	pass          int
	rows          []int
}

// batchStream tells the batches' random streams from others of the same seed.
const batchStream = 0x62617463686573

// at returns the place of the t-th row that the stratum contributes to the run, counted over all passes.
func (o *order) at(t int) int {
	n := len(o.rows)
	if pass := t / n; pass != o.pass {
		o.pass = pass
		for i := range o.rows {
			o.rows[i] = i
		}
		rng := rand.New(rand.NewPCG(o.seed^batchStream, o.stratum<<32|uint64(pass)))
		rng.Shuffle(n, func(i, j int) { o.rows[i], o.rows[j] = o.rows[j], o.rows[i] })
	}
	return o.rows[t%n]
}

// newBatches builds the task on batches of about size rows.
func newBatches(t *builder, r rows, size int, seed uint64, dtype tensor.Dtype, weights models.Weights) (sampler, error) {
	b := &batches{rows: r}
	for k, rows := range r.strata {
		n := len(rows)
		count := min(n, max(1, (size*n+r.len()/2)/r.len()))
		b.counts = append(b.counts, count)
		b.orders = append(b.orders, order{seed: seed, stratum: uint64(k), pass: -1, rows: make([]int, n)})
		b.list = append(b.list, rows[:count]...) // as good as any for what the task knows of a batch
	}
	part := r.pick(b.list)
	b.picked = part.data
	var err error
	if b.bound, err = t.problem(part, dtype, weights); err != nil {
		return nil, err
	}
	p, err := t.statement.complete(b.bound)
	if pieces := problem.FeaturesOf(p).Pieces; pieces != nil {
		return pieceBatches{pieces, b}, err
	}
	return smoothBatches{p, b}, err
}

// perPass is the number of batches in one pass over the rows.
func (b *batches) perPass() float64 {
	batch := 0
	for _, n := range b.counts {
		batch += n
	}
	return float64(b.rows.len()) / float64(batch)
}

// Sample implements problem.Sampler: it binds the rows of batch k.
func (b *batches) Sample(k int) error {
	at := 0
	for s, count := range b.counts {
		for i := range count {
			b.list[at] = b.rows.strata[s][b.orders[s].at(k*count+i)]
			at++
		}
	}
	if err := b.bound.Bind(0, b.picked); err != nil {
		return fmt.Errorf("session: batch %d: %w", k, err)
	}
	return nil
}

// pick returns some rows, with what the task knows of them. The data follow later changes of the
// list.
func (r rows) pick(list []int) rows {
	part := rows{data: matrix.Pick(r.data, list), classes: r.classes}
	place := make([]int, r.len()) // of each row, from 1
	for at, i := range list {
		part.labels = append(part.labels, r.labels[i])
		place[i] = at + 1
	}
	for _, g := range r.groups {
		own := constraints.Group{Name: g.Name}
		for _, i := range g.Rows {
			if place[i] > 0 {
				own.Rows = append(own.Rows, place[i]-1)
			}
		}
		part.groups = append(part.groups, own)
	}
	return part
}
