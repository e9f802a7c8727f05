package session

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
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
	counts []int // rows of each stratum in a batch
	orders []order
	dtype  tensor.Dtype
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
	b := &batches{rows: r, dtype: dtype}
	var like []int // rows of all that the task knows of a batch: its strata
	for k, rows := range r.strata {
		n := len(rows)
		count := min(n, max(1, (size*n+r.len()/2)/r.len()))
		b.counts = append(b.counts, count)
		b.orders = append(b.orders, order{seed: seed, stratum: uint64(k), pass: -1, rows: make([]int, n)})
		like = append(like, rows[:count]...)
	}
	var err error
	if b.bound, err = t.problem(r.pick(like), dtype, weights); err != nil {
		return nil, err
	}
	p, err := t.statement.complete(b.bound)
	if pieces, ok := p.(problem.Piecewise); ok {
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
	if b.dtype == tensor.Float32 {
		return bindBatch(b, k, b.rows.data.Float32)
	}
	return bindBatch(b, k, b.rows.data.Float64)
}

func bindBatch[T float32 | float64](b *batches, k int, widen func(dst []T, from, to int)) error {
	cols := b.rows.features()
	var values []T
	for s, count := range b.counts {
		for i := range count {
			row := b.rows.strata[s][b.orders[s].at(k*count+i)]
			at := len(values)
			values = append(values, make([]T, cols)...)
			widen(values[at:], row, row+1)
		}
	}
	var v gorgonia.Value = tensor.New(tensor.WithShape(len(values)/cols, cols), tensor.WithBacking(values))
	if err := b.bound.Bind(0, v); err != nil {
		return fmt.Errorf("session: batch %d: %w", k, err)
	}
	return nil
}

// picked is a matrix of zeros in the shape of some rows of another, pickedBytes one of 8-bit values: what stands for rows until they are
// bound.
type (
	picked      struct{ rows, cols int }
	pickedBytes struct {
		picked
		scale float64
	}
)

var (
	_ matrix.Matrix   = picked{}
	_ matrix.EightBit = pickedBytes{}
)

// zerosLike stands for so many rows of the data.
func zerosLike(data matrix.Matrix, rows int) matrix.Matrix {
	_, cols := data.Dims()
	zeros := picked{rows, cols}
	switch data := data.(type) {
	case matrix.EightBit:
		return pickedBytes{zeros, data.ByteScale()}
	case *recovered:
		return pickedBytes{zeros, data.scale}
	}
	return zeros
}

// ByteScale and ByteRow implement matrix.EightBit: the values are bound before they are read.
func (p pickedBytes) ByteScale() float64 { return p.scale }
func (p pickedBytes) ByteRow(_ int, room []uint8) []uint8 {
	clear(room[:p.cols])
	return room[:p.cols]
}

func (p picked) Dims() (rows, cols int)              { return p.rows, p.cols }
func (p picked) Float32(dst []float32, from, to int) { clear(dst) }
func (p picked) Float64(dst []float64, from, to int) { clear(dst) }

// pick is what the task knows of some rows, their data left out until they are bound.
func (r rows) pick(list []int) rows {
	part := rows{data: zerosLike(r.data, len(list)), classes: r.classes}
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
