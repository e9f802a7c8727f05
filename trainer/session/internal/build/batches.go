package build

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// Batches draws the rows of the task on mini-batches, which are T = ceil(n/size) fixed blocks of
// the n training rows. Each pass takes all T batches in a new random order. Batch k of the run is a
// function of the seed and of k alone.
//
// A stratum s is the n_s rows of a class and group. Each batch has c_s = ceil(n_s/T) rows of
// stratum s: batch b takes the rows b c_s to (b+1) c_s - 1 of the shuffled stratum, and continues
// with the first row after the last row.
//
// A pass therefore has c_s T >= n_s rows of stratum s. Every row is in the pass, and c_s T - n_s <
// T rows are repeated. The mean of a batch estimate over a pass weighs stratum s by c_s T instead
// of n_s, a relative error below T/n_s, and weighs the repeated rows twice (more often if n_s < T).
// The estimates of f and of rates, which are means of losses, have no other bias. A nonlinear
// function of several rates has the bias of that function as well.
//
// Rows with weights are drawn instead of weighed: a stratum of the weight W_s has c_s =
// ceil(n W_s/(W T)) rows in each batch, and a row of the weight w_i takes about c_s T w_i/W_s of
// the c_s T places of a pass. A row of a small weight may have no place. The rows of a batch then
// count equally.
//
// The last iterations use all rows (see shallowShare), so that the result is a point of the problem
// without the batches' bias and noise.
//
// The engine packs a batch when the run takes the batch for the first time, and keeps the packed
// rows. Pictures are bound in each iteration, because copying them takes little of its time and the
// copies are floats. An engine that cannot keep rows also binds the batch in each iteration
// (graph.Problem.Keep).
// With bounded memory, the engine packs several batches at the same time (packAhead).
type Batches struct {
	bound *graph.Problem // the task on a batch, with one input: the rows
	data  matrix.Matrix
	// strata are the shuffled rows of the strata, counts the numbers c_s
	strata [][]int
	counts []int
	// whole has the rows of each batch if batches have whole queries; nil: strata give the rows
	whole    [][]int
	single   bool                                          // each batch of whole is one query with pairs
	at       int                                           // the batch that is bound
	build    func(batch int) (use func() error, err error) // builds the task on a batch of whole
	rowOrder *rowOrder                                     // orders the rows of a batch; nil: by their numbers
	packed   []func() error                                // makes the rows of a batch the input; nil: not packed yet
	order    []int                                         // the order of the batches in a pass
	pass     int                                           // the pass of order; -1: none
	seed     uint64
	draw     ranks.Procedure // binds the rows of a batch, in all processes
	drawn    [1]float64      // the message of draw
	Full     *FullBatch      // the task on all rows
	From     int             // the first iteration on all rows
	onAll    bool            // the last Sample chose all rows
	dtype    tensor.Dtype
	// gathers is the bound of the memory if several batches are packed together; 0: one at a time
	gathers int64
	binds   bool // batches of pictures
}

// The number of passes over the rows in the last iterations, each with all rows, as a share of the
// passes in batches that all iterations would make. Quasi-Newton steps on problems without hidden
// layers (problem.Shallow) reach a small residual in few passes, and steps on batches do not.
// Networks gain more from batches. At most half of the iterations are the last ones.
const (
	networkShare = 1.0
	shallowShare = 2.0
)

// Sampler is a problem that changes at every iteration: mini-batches, or a drawn group.
type Sampler interface {
	problem.Problem
	problem.Sampler
	// PerPass returns the number of iterations in one pass over the rows.
	PerPass() float64
}

// batchTask is the task on mini-batches, and on all rows in the last iterations.
type batchTask struct {
	problem.Problem // the task on a batch
	*Batches
}

// batchPieces is a batchTask whose constraints are maxima of pieces.
type batchPieces struct{ batchTask }

var (
	_, _ Sampler           = batchTask{}, batchPieces{}
	_    problem.Piecewise = batchPieces{}
)

// now returns the task on the rows that the last Sample chose.
func (b batchTask) now() problem.Problem {
	if b.onAll {
		return b.Full.whole()
	}
	return b.Problem
}

// Forward implements problem.Problem.
func (b batchTask) Forward(g []float64) (float64, error) { return b.now().Forward(g) }

// Backward implements problem.Problem.
func (b batchTask) Backward(coefficients []float64, d problem.Vector) error {
	return b.now().Backward(coefficients, d)
}

// Pieces implements problem.Piecewise.
func (b batchPieces) Pieces() []problem.Piece { return b.Problem.(problem.Piecewise).Pieces() }

// Terms implements problem.Piecewise.
func (b batchPieces) Terms() []float64 { return b.now().(problem.Piecewise).Terms() }

// BackwardTerms implements problem.Piecewise.
func (b batchPieces) BackwardTerms(coefficients []float64, d problem.Vector) error {
	return b.now().(problem.Piecewise).BackwardTerms(coefficients, d)
}

// batchStream separates the random streams of the batches from other streams of the same seed.
const batchStream = 0x62617463686573

// shuffle puts a list into a random order.
func shuffle(list []int, seed, stream uint64) {
	rng := rand.New(rand.NewPCG(seed^batchStream, stream))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// passStream begins the streams of the passes, which follow the streams of the strata.
const passStream = 1 << 32

// NewBatches builds the task on batches of about size rows, which have whole queries if the rows
// have queries (queryBatches). all is the task on all rows.
func NewBatches(b *Builder, r Rows, size int, seed uint64, dtype tensor.Dtype, weights models.Weights, all problem.Problem) (*Batches, Sampler, error) {
	if r.Queries != nil {
		return newQueryBatches(b, r, size, seed, dtype, weights, all)
	}
	n, _ := r.Data.Dims()
	m := &Batches{seed: seed, pass: -1, dtype: dtype, order: make([]int, (n+size-1)/size)}
	m.packed = make([]func() error, len(m.order))
	for k, rows := range r.Strata() {
		rows = slices.Clone(rows)
		shuffle(rows, seed, uint64(k))
		count := (len(rows) + len(m.order) - 1) / len(m.order)
		if r.Weights != nil {
			rows, count = places(rows, r.Weights, n, len(m.order))
			shuffle(rows, seed, placesStream+uint64(k))
		}
		m.strata = append(m.strata, rows)
		m.counts = append(m.counts, count)
	}
	m.data, m.rowOrder = r.Data, newRowOrder(r.Data)
	_, m.binds = b.Model.(models.OfPictures)
	if b.Devices.Team == nil && widened(r.Data) {
		m.gathers = b.Devices.Options.Memory
	}
	var err error
	// all batches have the same labels and groups
	if r.Weights != nil {
		r = r.Equal()
	}
	if m.bound, err = b.Problem(r.Pick(m.List(0)), dtype, weights); err != nil {
		return nil, nil, err
	}
	if b.Devices.Team == nil {
		m.bound.Yield()
	}
	return m.complete(b, all)
}

// placesStream begins the streams of the places of weighted rows, after those of the passes.
const placesStream = 1 << 62

// places returns the places of a pass that the rows of a stratum take, in batches of the same
// number, by systematic sampling: with the weights one after the other on a line, place j belongs
// to the row at (j + 1/2)/places of the line.
func places(rows []int, weights []float64, n, batches int) (list []int, count int) {
	all, own := floats.Sum(weights), 0.0
	for _, i := range rows {
		own += weights[i]
	}
	count = max(1, int(math.Ceil(float64(n)*own/all/float64(batches))))
	list = make([]int, count*batches)
	at, end := 0, weights[rows[0]]
	for j := range list {
		for at < len(rows)-1 && (float64(j)+0.5)/float64(len(list))*own >= end {
			at++
			end += weights[rows[at]]
		}
		list[j] = rows[at]
	}
	return list, count
}

// complete completes the task with its constraints. all is the task on all rows.
func (m *Batches) complete(b *Builder, all problem.Problem) (*Batches, Sampler, error) {
	m.draw = b.Devices.Team.Register(m.bind)
	p, err := b.Complete(m.bound)
	if err != nil {
		return nil, nil, err
	}
	m.Full, m.From = newFullBatch(p, all), math.MaxInt
	task := batchTask{p, m}
	if problem.FeaturesOf(p).Pieces != nil {
		return m, batchPieces{task}, nil
	}
	return m, task, nil
}

// FinishOnAll lets the last of the iterations use all rows, with quasi-Newton steps if they suit
// the method and the task, and returns a note; "" if the iterations make no pass. leads says that
// this process runs the method.
func (b *Batches) FinishOnAll(m trainer.Method, iterations int, leads bool) string {
	last := b.LastIterations(iterations)
	if last == 0 {
		return ""
	}
	b.From = iterations - last
	note := fmt.Sprintf("The last %d of the %d iterations use all rows.", last, iterations)
	if leads && method.FinishOn(m, b.Full.whole(), b.From) {
		note = fmt.Sprintf("The last %d of the %d iterations use all rows, with quasi-Newton steps.", last, iterations)
	}
	return note
}

// LastIterations returns the number of the last of the iterations, which use all rows.
func (b *Batches) LastIterations(iterations int) int {
	share := networkShare
	if problem.FeaturesOf(b.Full.All).Shallow {
		share = shallowShare
	}
	return min(int(share*float64(iterations)/b.PerPass()), iterations/2)
}

// List returns the row numbers of a batch, stratum by stratum. Within a stratum, the rows are in
// increasing order, or similar sparse rows are neighbours.
func (b *Batches) List(batch int) []int {
	if b.whole != nil {
		return b.whole[batch]
	}
	var list []int
	for s, rows := range b.strata {
		first := len(list)
		for i := range b.counts[s] {
			list = append(list, rows[(batch*b.counts[s]+i)%len(rows)])
		}
		slices.Sort(list[first:])
		if b.rowOrder != nil {
			b.rowOrder.sort(list[first:])
		}
	}
	return list
}

// PerPass returns the number of batches in one pass over the rows.
func (b *Batches) PerPass() float64 { return float64(len(b.order)) }

// Sample implements problem.Sampler: it binds the rows of batch k.
func (b *Batches) Sample(k int) error {
	if b.onAll = k >= b.From; b.onAll {
		return nil
	}
	b.drawn[0] = float64(k)
	return b.draw(ranks.Bytes(b.drawn[:]))
}

// Block implements problem.BlockSampler.
func (b *Batches) Block(k int) (block, blocks int) {
	if k >= b.From {
		return 0, 0
	}
	return b.batch(k), len(b.order)
}

// batch returns the number of the k-th batch that the run takes.
func (b *Batches) batch(k int) int {
	if pass := k / len(b.order); pass != b.pass {
		b.pass = pass
		for i := range b.order {
			b.order[i] = i
		}
		shuffle(b.order, b.seed, passStream+uint64(pass))
	}
	return b.order[k%len(b.order)]
}

// bind binds the rows of the batch whose number is the message.
func (b *Batches) bind(message []byte) (err error) {
	k := int(ranks.Numbers[float64](message)[0])
	at := b.batch(k)
	b.at = at
	if b.packed[at] == nil && b.whole != nil {
		if b.packed[at], err = b.build(at); err != nil {
			return fmt.Errorf("session: batch %d: %w", k, err)
		}
	}
	if b.packed[at] == nil && b.gathers > 0 {
		if err := b.packAhead(k); err != nil {
			return err
		}
	}
	if b.packed[at] == nil {
		rows := PickData(b.data, b.List(at))
		if b.binds {
			b.packed[at] = func() error { return b.bound.Bind(0, rows) }
		} else if b.packed[at], err = b.bound.Keep(0, rows); err != nil {
			return fmt.Errorf("session: batch %d: %w", k, err)
		}
	}
	if err := b.packed[at](); err != nil {
		return fmt.Errorf("session: batch %d: %w", k, err)
	}
	return nil
}

// widened reports whether the engine reads the matrix as floats: neither as entries nor as bytes.
func widened(data matrix.Matrix) bool {
	_, sparse := data.(matrix.Sparse)
	_, bytes := data.(matrix.EightBit)
	return !sparse && !bytes
}

// PickData returns the rows of the list of a matrix.
func PickData(data matrix.Matrix, list []int) matrix.Matrix {
	if s, ok := data.(matrix.Sparse); ok {
		return matrix.PickSparse(s, list)
	}
	return matrix.Pick(data, list)
}

// Rest gives back the memory of the layers until the next iteration on a batch.
func (b *Batches) Rest() { b.bound.Rest() }

// Products returns the kind of products with the rows of a batch.
func (b *Batches) Products() string { return b.bound.Products() }

// KeptBytes returns the least memory of the packed rows of all batches, in bytes, with floats of
// the given size. Rows in pages do not count.
func (b *Batches) KeptBytes(float uintptr, pages bool) uint64 {
	if pages || b.binds {
		return 0
	}
	rows := 0
	for s := range b.strata {
		rows += b.counts[s] * len(b.order)
	}
	n, d := b.data.Dims()
	if b.whole != nil {
		rows = n
	}
	elements := uint64(rows) * uint64(d)
	if x, ok := b.data.(matrix.Sparse); ok {
		starts, _, _ := x.Entries()
		const start, column = 8, 4
		entries := uint64(starts[n]-starts[0]) * uint64(rows) / uint64(n)
		return uint64(rows)*start + entries*column
	}
	const orders = 2 // copies for products with the rows and with the transposed rows
	switch p := plan.Products(b.bound.Products()); {
	case p.Integers():
		return orders * elements
	case p.BFloat16():
		const digit = 2
		return orders * digit * uint64(p.Digits()) * elements
	}
	return elements * uint64(float)
}
