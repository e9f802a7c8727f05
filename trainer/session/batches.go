package session

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// batches trains on mini-batches. Every batch holds the same share of each stratum (class and
// group). Each pass over the rows of a stratum takes the rows in a new random order. Batch k is a
// function of the seed and k alone.
type batches struct {
	bound  *graph.Problem // the task on a batch, with one input: the rows
	rows   rows
	list   []int         // row numbers of a batch, stratum by stratum
	picked matrix.Matrix // the rows of list in the data matrix
	counts []int         // rows of each stratum in a batch
	orders []order
	draw   ranks.Procedure // binds the rows of a batch, in all processes
}

type (
	// smoothBatches is the task on mini-batches.
	smoothBatches struct {
		problem.Problem
		*batches
	}
	// pieceBatches is the task on mini-batches if constraints are maxima of pieces.
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

// batchStream separates the random streams of the batches from other streams of the same seed.
const batchStream = 0x62617463686573

// at returns the position in the stratum of the t-th row that the run draws. t counts over all
// passes.
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
func newBatches(b *builder, r rows, size int, seed uint64, dtype tensor.Dtype, weights models.Weights) (sampler, error) {
	r.strata = r.stratified()
	m := &batches{rows: r}
	for k, rows := range r.strata {
		n := len(rows)
		count := min(n, max(1, (size*n+r.len()/2)/r.len()))
		m.counts = append(m.counts, count)
		m.orders = append(m.orders, order{seed: seed, stratum: uint64(k), pass: -1, rows: make([]int, n)})
		m.list = append(m.list, rows[:count]...) // all batches have the same labels and groups
	}
	part := r.pick(m.list)
	m.picked = part.data
	var err error
	if m.bound, err = b.problem(part, dtype, weights); err != nil {
		return nil, err
	}
	m.draw = b.devices.everywhere(m.bind)
	p, err := b.statement.complete(m.bound)
	if pieces := problem.FeaturesOf(p).Pieces; pieces != nil {
		return pieceBatches{pieces, m}, err
	}
	return smoothBatches{p, m}, err
}

// perPass returns the number of batches in one pass over the rows.
func (b *batches) perPass() float64 {
	batch := 0
	for _, n := range b.counts {
		batch += n
	}
	return float64(b.rows.len()) / float64(batch)
}

// Sample implements problem.Sampler: it binds the rows of batch k.
func (b *batches) Sample(k int) error { return b.draw(ranks.Bytes([]float64{float64(k)})) }

// bind binds the rows of the batch whose number is the message.
func (b *batches) bind(message []byte) error {
	k, at := int(ranks.Numbers[float64](message)[0]), 0
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

// pick returns the rows of the list with their labels and groups. A later change of the list also
// changes the returned data.
func (r rows) pick(list []int) rows {
	part := rows{data: matrix.Pick(r.data, list), classes: r.classes}
	if s, ok := r.data.(matrix.Sparse); ok {
		part.data = matrix.PickSparse(s, list)
	}
	place := make([]int, r.len()) // position of each row in list, from 1
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
	pickOf := func(of []int) []int {
		own := make([]int, len(list))
		for at, i := range list {
			own[at] = of[i]
		}
		return own
	}
	for _, a := range r.attributes {
		part.attributes = append(part.attributes, constraints.Attribute{Name: a.Name, Values: a.Values, Of: pickOf(a.Of)})
	}
	for file, of := range r.earlier {
		if part.earlier == nil {
			part.earlier = map[string][]int{}
		}
		part.earlier[file] = pickOf(of)
	}
	return part
}
