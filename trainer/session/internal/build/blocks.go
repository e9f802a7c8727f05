package build

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/cuda/driver"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The size of a block of rows, in numbers: the rows' own and those that a layer of the model keeps
// for the gradient. It does not depend on the number of threads, because the sums of the blocks do
// not.
const (
	blockNumbers = 1 << 19 // of a usual block: 2 MiB in float32
	blockRows    = 480     // the least number of rows of a block, enough for a few threads
	largeBlock   = 1 << 21 // the most numbers of a block with so few rows: 16 MiB in float64
	pictureRows  = 16      // the least number of rows of any block: a picture is enough for a thread
)

// Blocks computes the model's scores S(x) one block of rows at a time on each lane. Blocks reads
// the rows in the form in which the source read them. Rows for measures then need no packed copy,
// and a certificate in float64 needs no float64 copy.
type Blocks struct {
	lanes   []*lane // compute blocks at the same time; none: this process has no rows
	rows    int     // number of rows of a block
	data    matrix.Matrix
	outputs int
	order   []int // the rows in the order of the blocks; nil: by their numbers

	devices  *Devices
	from, to int             // the rows of this process
	score    ranks.Procedure // computes all
	all      []float64       // the scores of all rows
	keeps    bool            // known is kept
	known    []float64       // the last scores of all rows
	knownAt  []float64       // the weights of known; empty: none
	pull     ranks.Procedure // computes sums
	sums     [][]float64     // J^T D of all rows, for each D
	message  []float64       // the number of D, x and each D, one after the other
}

// lane computes one block of rows at a time.
type lane struct {
	block     *graph.Problem // <D, S(x)> of a block; inputs: the rows and D; watched: S(x)
	at, from  int            // the rows from at on of the block that begins with row from are new
	bound     int            // first row of the block that is bound
	list      []int          // row numbers of a block
	picked    matrix.Matrix  // the rows of list in the data matrix; all rows: the data matrix
	direction matrix.Dense   // the rows of D
	gradient  problem.Vector
	parts     [][]float64 // the gradients on the host, for each D
	fresh     []float64   // the scores of a block
}

// gpuNumbers is the number of elements of a block on a GPU: 1 GiB in float64. Most data sets are
// one block, whose rows stay on the device.
const gpuNumbers = 1 << 27

// NewBlocks builds the model for blocks of the rows. A single process whose GPU has too little
// memory computes them on the host.
func (b *Builder) NewBlocks(data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*Blocks, error) {
	n, _ := data.Dims()
	numbers, d := b.rowNumbers(data), b.Devices
	rows := max(blockNumbers/numbers, min(blockRows, largeBlock/numbers), pictureRows)
	if d.GPU != nil {
		rows = max(blockRows, gpuNumbers/numbers)
		if _, sparse := data.(matrix.Sparse); sparse { // binding another block makes the rows dense
			rows = n
		}
	}
	k, err := b.BlocksOf(data, min(n, rows), dtype, weights)
	if d.GPU != nil && d.Team == nil && errors.Is(err, driver.ErrOutOfMemory) {
		host := &Builder{Model: b.Model, Center: b.Center, Scale: b.Scale, Devices: &Devices{Options: d.Options, Measure: d.Host, Host: d.Host}}
		return host.NewBlocks(data, dtype, weights)
	}
	return k, err
}

// rowNumbers returns the number of elements that a row takes in a block: its features, or the mean
// number of its entries if the rows are sparse, but at least its scores, and its hidden layers.
func (b *Builder) rowNumbers(data matrix.Matrix) int {
	n, numbers := data.Dims()
	if s, ok := data.(matrix.Sparse); ok && n > 0 {
		numbers = min(numbers, (matrix.CountEntries(s)+n-1)/n)
	}
	return max(numbers, b.Outputs(), b.rowCost().numbers)
}

// NewExactBlocks builds the model for blocks of the rows in float64. x are the stacked weights as
// trained. The blocks keep the last scores, unless rows lie in files: then scores may take more
// memory than there is.
func (b *Builder) NewExactBlocks(data matrix.Matrix, x []float64) (*Blocks, error) {
	weights, err := models.Unstack(b.Model, x)
	if err != nil {
		return nil, err
	}
	k, err := b.NewBlocks(data, tensor.Float64, weights)
	if err == nil && b.Devices.Options.Memory == 0 {
		k.Keep()
	}
	return k, err
}

// Keep makes the blocks keep the last scores, which AppendScores returns again at the same weights.
func (b *Blocks) Keep() { b.keeps = true }

// Rest gives back the memory of the layers until the next pass. New blocks rest.
func (b *Blocks) Rest() {
	if b == nil {
		return
	}
	for _, l := range b.lanes {
		l.block.Rest()
	}
}

// BlocksOf builds the model for blocks of the given number of rows, at most all rows.
func (b *Builder) BlocksOf(data matrix.Matrix, rows int, dtype tensor.Dtype, weights models.Weights) (*Blocks, error) {
	n, _ := data.Dims()
	from, to := b.Devices.Share(n)
	rows = min(rows, to-from)
	k := &Blocks{rows: rows, data: data, outputs: b.Outputs(), devices: b.Devices, from: from, to: to}
	k.score, k.pull = b.Devices.Team.Register(k.runScore), b.Devices.Team.Register(k.runPull)
	if rows == 0 { // there are fewer rows than the processes share
		return k, nil
	}
	for _, engine := range b.engines(rows, (to-from+rows-1)/rows) {
		l, err := b.newLane(k, engine, dtype, weights)
		if err != nil {
			return nil, fmt.Errorf("session: the scores of %d rows: %w", rows, err)
		}
		k.lanes = append(k.lanes, l)
	}
	k.Rest()
	return k, nil
}

// laneNumbers is the largest number of elements of all lanes, 128 MiB in float64: each lane has the
// rows of a block and several copies of the weights.
const laneNumbers = 1 << 24

// engines returns the engine of each lane for a number of blocks of the given number of rows. If a
// block has too few units of rows for even shares of all threads, several lanes divide the threads.
// Pictures are units of a few rows, and bounded memory has room for one lane.
func (b *Builder) engines(rows, blocks int) []graph.Engine {
	const copies = 4
	d := b.Devices
	if _, pictures := b.Model.(models.OfPictures); pictures || d.lanes == nil || d.Options.Memory > 0 {
		return []graph.Engine{d.Measure}
	}
	shares := max(1, rows/kernel.RowBlock/2) // even shares of a block, of at least two units
	lanes := min((d.threads+shares-1)/shares, blocks, laneNumbers/(rows*b.Inputs()+copies*b.Parameters()))
	if lanes < 2 {
		return []graph.Engine{d.Measure}
	}
	return d.lanes(lanes)
}

// newLane builds the model for one block of k's rows.
func (b *Builder) newLane(k *Blocks, engine graph.Engine, dtype tensor.Dtype, weights models.Weights) (*lane, error) {
	l := &lane{list: make([]int, k.rows), bound: k.from}
	for i := range l.list {
		l.list[i] = k.from + i
	}
	if n, _ := k.data.Dims(); k.rows < n {
		l.picked = PickData(k.data, l.list)
	} else {
		l.picked = k.data
	}
	l.direction = matrix.Dense{Rows: k.rows, Cols: k.outputs, Data: make([]float64, k.rows*k.outputs)}
	var err error
	l.block, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := b.Scores(g, l.picked, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		direction := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("direction"), gorgonia.WithShape(k.rows, k.outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(k.rows, k.outputs), tensor.Of(dtype))))
		product, err := gorgonia.HadamardProd(scores, direction)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(product)
		return graph.Definition{
			Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x, direction},
			Data: []matrix.Matrix{l.picked, nil}, Watch: gorgonia.Nodes{scores},
		}, err
	}, engine)
	if err == nil && b.Devices.Team == nil {
		l.block.Yield()
	}
	return l, err
}

// Products returns the kind of products with the rows of a block; "" without rows.
func (b *Blocks) Products() string {
	if len(b.lanes) == 0 {
		return ""
	}
	return b.lanes[0].block.Products()
}

// AppendScores appends S [n, C], row by row, at the stacked weights x to scores. The blocks in
// float64 keep the last scores: the exact step, the certificate and the measures often have the
// same weights, and most of the time of a pass is the conversion of the rows.
func (b *Blocks) AppendScores(scores, x []float64) ([]float64, error) {
	n, _ := b.data.Dims()
	at := len(scores)
	scores = slices.Grow(scores, n*b.outputs)[:at+n*b.outputs]
	last := len(b.knownAt) > 0 && slices.Equal(b.knownAt, x)
	err := b.fill(scores[at:], x)
	if err == nil && b.keeps && !last {
		b.known = slices.Clone(scores[at:]) // the caller may change scores
	}
	return scores, err
}

// fill writes the scores at x. Blocks in float64 keep the slice scores, not a copy: the caller must
// not change its elements.
func (b *Blocks) fill(scores, x []float64) error {
	if len(b.knownAt) > 0 && slices.Equal(b.knownAt, x) {
		copy(scores, b.known)
		return nil
	}
	b.all, b.knownAt = scores, b.knownAt[:0]
	err := b.score(ranks.Bytes(x))
	if b.all = nil; err == nil && b.keeps {
		b.known, b.knownAt = scores, append(b.knownAt, x...)
	}
	return err
}

// runScore computes all scores at the stacked weights x. Each process computes its own rows.
func (b *Blocks) runScore(message []byte) error {
	x := ranks.Numbers[float64](message)
	if n, _ := b.data.Dims(); b.all == nil {
		b.all = make([]float64, n*b.outputs)
	}
	clear(b.all[:b.from*b.outputs])
	clear(b.all[b.to*b.outputs:])
	if err := b.each(x, func(l *lane) (err error) {
		if err := l.forward(b); err != nil {
			return err
		}
		if l.at == l.from && b.order == nil {
			_, err = l.block.AppendWatched(b.all[l.at*b.outputs:l.at*b.outputs], 0)
			return err
		}
		if l.fresh, err = l.block.AppendWatched(l.fresh[:0], 0); err == nil {
			for i := l.at; i < l.from+b.rows; i++ {
				copy(b.all[b.row(i)*b.outputs:][:b.outputs], l.fresh[(i-l.from)*b.outputs:])
			}
		}
		return err
	}, nil); err != nil {
		return err
	}
	return b.devices.Team.Sum(b.all)
}

// ByStrata orders the rows by disjoint sets of all rows, so that most blocks have rows of one set.
// A gradient of <D, S(x)> then skips the blocks of sets on which D is zero. It has no effect on
// several processes and if one block has all rows.
func (b *Blocks) ByStrata(strata [][]int) {
	if n, _ := b.data.Dims(); b.devices.Team == nil && b.rows < n {
		b.order = slices.Concat(strata...)
		for _, l := range b.lanes {
			l.bound = -1
		}
	}
}

// row returns the row number of place i in the order of the blocks.
func (b *Blocks) row(i int) int {
	if b.order == nil {
		return i
	}
	return b.order[i]
}

// Scores returns S [n, C]: see AppendScores.
func (b *Blocks) Scores(x []float64) ([]float64, error) { return b.AppendScores(nil, x) }

// span is a matrix D [n, C] whose rows, in the order of the blocks, are zero before and after the
// rows of values. Bounds on single classes have such gradients by the scores.
type span struct {
	from   int       // the first row of values
	values []float64 // row by row
}

// trim makes s the span of the matrix d.
func (b *Blocks) trim(s *span, d []float64) {
	from, to := 0, len(d)/b.outputs
	zero := func(k int) bool {
		return !slices.ContainsFunc(d[b.row(k)*b.outputs:][:b.outputs], func(v float64) bool { return v != 0 })
	}
	for ; from < to && zero(from); from++ {
	}
	for ; from < to && zero(to-1); to-- {
	}
	n := (to - from) * b.outputs
	if s.from = from; cap(s.values) < n {
		s.values = make([]float64, n)
	}
	s.values = s.values[:n]
	for k := from; k < to; k++ {
		copy(s.values[(k-from)*b.outputs:], d[b.row(k)*b.outputs:][:b.outputs])
	}
}

// pullBack writes J^T D to sums[i] for each D = d[i], in one pass over the rows. J is the
// derivative of the scores by the stacked weights at x.
func (b *Blocks) pullBack(sums [][]float64, x []float64, d []span) error {
	b.sums = sums
	if b.devices.Team.Size() == 1 {
		return b.addUp(x, d)
	}
	b.message = append(append(b.message[:0], float64(len(d))), x...)
	n, _ := b.data.Dims()
	for _, s := range d {
		at := len(b.message)
		b.message = append(b.message, make([]float64, n*b.outputs)...)
		copy(b.message[at+s.from*b.outputs:], s.values)
	}
	return b.pull(ranks.Bytes(b.message))
}

// runPull computes sums from the message.
func (b *Blocks) runPull(message []byte) error {
	args := ranks.Numbers[float64](message)
	n, _ := b.data.Dims()
	count, args := int(args[0]), args[1:]
	parameters := len(args) - count*n*b.outputs
	d := make([]span, count)
	for i := range d {
		d[i].values = args[parameters+i*n*b.outputs:][:n*b.outputs]
	}
	if len(b.sums) != count || len(b.sums[0]) != parameters {
		b.sums = make([][]float64, count)
		for i := range b.sums {
			b.sums[i] = make([]float64, parameters)
		}
	}
	if err := b.addUp(args[:parameters], d); err != nil {
		return err
	}
	for _, sum := range b.sums {
		if err := b.devices.Team.Sum(sum); err != nil {
			return err
		}
	}
	return nil
}

// addUp computes the sums over this process's rows: the gradients of the blocks, in order.
func (b *Blocks) addUp(x []float64, d []span) error {
	for _, sum := range b.sums {
		clear(sum)
	}
	return b.each(x, func(l *lane) error {
		l.reserve(len(d), len(x))
		passed := false
		for i := range d {
			clear(l.direction.Data) // also of rows that the previous block has
			from, end := max(l.at, d[i].from), min(l.from+b.rows, d[i].from+len(d[i].values)/b.outputs)
			if from < end {
				copy(l.direction.Data[(from-l.from)*b.outputs:], d[i].values[(from-d[i].from)*b.outputs:(end-d[i].from)*b.outputs])
			}
			if b.order != nil && !slices.ContainsFunc(l.direction.Data, func(v float64) bool { return v != 0 }) {
				clear(l.parts[i])
				continue
			}
			if !passed {
				if err := l.forward(b); err != nil {
					return err
				}
				passed = true
			}
			if err := l.pullBack(l.parts[i]); err != nil {
				return err
			}
		}
		return nil
	}, func(l *lane) {
		for i, sum := range b.sums {
			for k, g := range l.parts[i] {
				sum[k] += g
			}
		}
	})
}

// reserve allocates the given number of gradients.
func (l *lane) reserve(count, parameters int) {
	if l.gradient == problem.Iterate {
		l.gradient = l.block.Space().New()
	}
	for len(l.parts) < count {
		l.parts = append(l.parts, make([]float64, parameters))
	}
}

// pullBack writes J^T D of the block to part.
func (l *lane) pullBack(part []float64) error {
	if err := l.block.Bind(1, &l.direction); err != nil {
		return err
	}
	if err := l.block.Backward([]float64{1}, l.gradient); err != nil {
		return err
	}
	l.block.Space().Read(part, l.gradient)
	return nil
}

// each calls visit for every block of this process. The last block
// overlaps the previous block. The lanes visit consecutive blocks at the same time. Then each calls
// after for these blocks, one after the other in the order of the rows; nil: nothing.
func (b *Blocks) each(x []float64, visit func(l *lane) error, after func(l *lane)) error {
	if b.rows == 0 {
		return nil
	}
	for _, l := range b.lanes {
		l.block.Space().Write(problem.Iterate, x)
	}
	for at := b.from; at < b.to; {
		var running []func() error
		var first error
		for _, l := range b.lanes {
			if at >= b.to {
				break
			}
			l.at, l.from = at, min(at, b.to-b.rows)
			at = l.from + b.rows
			if len(b.lanes) == 1 {
				first = visit(l)
			} else {
				running = append(running, relay.Go(func() error { return visit(l) }))
			}
		}
		for _, wait := range running {
			if err := wait(); first == nil {
				first = err
			}
		}
		if first != nil {
			return first
		}
		for k, l := range b.lanes {
			if after != nil && (k < len(running) || len(b.lanes) == 1) {
				after(l)
			}
		}
	}
	return nil
}

// forward binds the lane's block of rows and computes its scores.
func (l *lane) forward(b *Blocks) error {
	if l.from != l.bound {
		for k := range l.list {
			l.list[k] = b.row(l.from + k)
		}
		if err := l.block.Bind(0, l.picked); err != nil {
			return err
		}
		l.bound = l.from
	}
	_, err := l.block.Forward(nil)
	return err
}

// TimePass returns the wall time of a forward and a backward pass of one block on each lane at the
// stacked weights x; rows is the number of their rows, 0 if this process has none. The first of two
// passes does not count, because it touches new memory.
func (b *Blocks) TimePass(x []float64) (took time.Duration, rows int, err error) {
	if b.rows == 0 {
		return 0, 0, nil
	}
	one := *b
	one.to = min(b.to, b.from+b.rows*len(b.lanes))
	one.sums = [][]float64{make([]float64, len(x))}
	n, _ := b.data.Dims()
	direction := []span{{values: make([]float64, n*b.outputs)}}
	for range 2 {
		began := time.Now()
		if err := one.addUp(x, direction); err != nil {
			return 0, 0, err
		}
		took = time.Since(began)
	}
	return took, one.to - one.from, nil
}
