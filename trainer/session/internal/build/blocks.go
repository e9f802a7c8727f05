package build

import (
	"fmt"
	"slices"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The size of a block of rows, in numbers: the rows' own and those that a layer of the model keeps
// for the gradient.
const (
	blockNumbers = 1 << 19 // of a usual block: 2 MiB in float32
	blockRows    = 480     // the least number of rows of a block, enough for a few threads
	largeBlock   = 1 << 22 // the most numbers of a block with so few rows: 32 MiB in float64
	pictureRows  = 16      // the least number of rows of any block: a picture is enough for a thread
)

// Blocks computes the model's scores S(x) one block of rows at a time. Blocks reads the rows in
// the form in which the source read them. Rows for measures then need no packed copy, and a
// certificate in float64 needs no float64 copy.
type Blocks struct {
	block     *graph.Problem // <D, S(x)> of a block; inputs: the rows and D; watched: S(x)
	rows      int            // number of rows of a block
	data      matrix.Matrix
	bound     int           // first row of the block that is bound
	list      []int         // row numbers of a block
	picked    matrix.Matrix // the rows of list in the data matrix; all rows: the data matrix
	outputs   int
	direction matrix.Dense // the rows of D
	gradient  problem.Vector
	part      []float64 // the gradient on the host
	fresh     []float64 // the scores of a block

	devices  *Devices
	from, to int             // the rows of this process
	score    ranks.Procedure // computes all
	all      []float64       // the scores of all rows
	keeps    bool            // known is kept
	known    []float64       // the last scores of all rows
	knownAt  []float64       // the weights of known; nil: none
	pull     ranks.Procedure // computes sums
	sums     [][]float64     // J^T D of all rows, for each D
	message  []float64       // the number of D, x and each D, one after the other
}

// NewBlocks builds the model for blocks of the rows.
func (b *Builder) NewBlocks(data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*Blocks, error) {
	n, _ := data.Dims()
	numbers := b.rowNumbers(data)
	return b.BlocksOf(data, min(n, max(blockNumbers/numbers, min(blockRows, largeBlock/numbers), pictureRows)), dtype, weights)
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
	if err == nil {
		k.keeps = b.Devices.Memory == 0
	}
	return k, err
}

// BlocksOf builds the model for blocks of the given number of rows, at most all rows.
func (b *Builder) BlocksOf(data matrix.Matrix, rows int, dtype tensor.Dtype, weights models.Weights) (*Blocks, error) {
	n, _ := data.Dims()
	from, to := b.Devices.share(n)
	rows = min(rows, to-from)
	k := &Blocks{rows: rows, data: data, list: make([]int, rows), outputs: b.Outputs(), devices: &b.Devices, from: from, to: to, bound: from}
	k.score, k.pull = b.Devices.Team.Register(k.runScore), b.Devices.Team.Register(k.runPull)
	if rows == 0 { // there are fewer rows than the processes share
		return k, nil
	}
	k.take(from)
	if k.picked = data; rows < n {
		k.picked = PickData(data, k.list)
	}
	k.direction = matrix.Dense{Rows: rows, Cols: k.outputs, Data: make([]float64, rows*k.outputs)}
	var err error
	k.block, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := b.Scores(g, k.picked, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		direction := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("direction"), gorgonia.WithShape(rows, k.outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, k.outputs), tensor.Of(dtype))))
		product, err := gorgonia.HadamardProd(scores, direction)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(product)
		return graph.Definition{
			Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x, direction},
			Data: []matrix.Matrix{k.picked, nil}, Watch: gorgonia.Nodes{scores},
		}, err
	}, b.Devices.Measure)
	if err != nil {
		return nil, fmt.Errorf("session: the scores of %d rows: %w", rows, err)
	}
	return k, nil
}

// Products returns the kind of products with the rows of a block; "" without rows.
func (b *Blocks) Products() string {
	if b.block == nil {
		return ""
	}
	return b.block.Products()
}

// take selects the block that begins with the given row.
func (b *Blocks) take(from int) {
	for k := range b.list {
		b.list[k] = from + k
	}
}

// AppendScores appends S [n, C], row by row, at the stacked weights x to scores. The blocks in
// float64 keep the last scores: the exact step, the certificate and the measures often have the
// same weights, and most of the time of a pass is the conversion of the rows.
func (b *Blocks) AppendScores(scores, x []float64) ([]float64, error) {
	if b.knownAt != nil && slices.Equal(b.knownAt, x) {
		return append(scores, b.known...), nil
	}
	n, _ := b.data.Dims()
	at := len(scores)
	scores = slices.Grow(scores, n*b.outputs)[:at+n*b.outputs]
	b.all = scores[at:]
	err := b.score(ranks.Bytes(x))
	if b.all = nil; err == nil && b.keeps {
		b.known, b.knownAt = append(b.known[:0], scores[at:]...), append(b.knownAt[:0], x...)
	}
	return scores, err
}

// runScore computes all scores at the stacked weights x. Each process computes its own rows.
func (b *Blocks) runScore(message []byte) error {
	x := ranks.Numbers[float64](message)
	if n, _ := b.data.Dims(); b.all == nil {
		b.all = make([]float64, n*b.outputs)
	}
	clear(b.all[:b.from*b.outputs])
	clear(b.all[b.to*b.outputs:])
	if err := b.each(x, func(at, from int) (err error) {
		if at == from {
			_, err = b.block.AppendWatched(b.all[at*b.outputs:at*b.outputs], 0)
			return err
		}
		if b.fresh, err = b.block.AppendWatched(b.fresh[:0], 0); err == nil {
			copy(b.all[at*b.outputs:], b.fresh[(at-from)*b.outputs:])
		}
		return err
	}); err != nil {
		return err
	}
	return b.devices.Team.Sum(b.all)
}

// Scores returns S [n, C]: see AppendScores.
func (b *Blocks) Scores(x []float64) ([]float64, error) { return b.AppendScores(nil, x) }

// pullBack writes J^T D to sums[i] for each D = d[i], a matrix [n, C] row by row, in one pass over
// the rows. J is the derivative of the scores by the stacked weights at x.
func (b *Blocks) pullBack(sums [][]float64, x []float64, d [][]float64) error {
	b.sums = sums
	if b.devices.Team.Size() == 1 {
		return b.addUp(x, d)
	}
	b.message = append(append(b.message[:0], float64(len(d))), x...)
	for _, v := range d {
		b.message = append(b.message, v...)
	}
	return b.pull(ranks.Bytes(b.message))
}

// runPull computes sums from the message.
func (b *Blocks) runPull(message []byte) error {
	args := ranks.Numbers[float64](message)
	n, _ := b.data.Dims()
	count, args := int(args[0]), args[1:]
	parameters := len(args) - count*n*b.outputs
	d := make([][]float64, count)
	for i := range d {
		d[i] = args[parameters+i*n*b.outputs:][:n*b.outputs]
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

// addUp computes the sums over this process's rows.
func (b *Blocks) addUp(x []float64, d [][]float64) error {
	for _, sum := range b.sums {
		clear(sum)
	}
	if b.rows == 0 {
		return nil
	}
	if b.gradient == problem.Iterate {
		b.gradient, b.part = b.block.Space().New(), make([]float64, len(x))
	}
	return b.each(x, func(at, from int) error {
		for i, sum := range b.sums {
			fresh := d[i][at*b.outputs : (from+b.rows)*b.outputs]
			old := len(b.direction.Data) - len(fresh) // elements of rows that the previous block has
			clear(b.direction.Data[:old])
			copy(b.direction.Data[old:], fresh)
			if err := b.block.Bind(1, &b.direction); err != nil {
				return err
			}
			if err := b.block.Backward([]float64{1}, b.gradient); err != nil {
				return err
			}
			b.block.Space().Read(b.part, b.gradient)
			for k, g := range b.part {
				sum[k] += g
			}
		}
		return nil
	})
}

// each calls visit for every block of this process after the block's forward pass. A block is the
// rows from to from+b.rows-1. The rows from at on are new, because the last block overlaps the
// previous block.
func (b *Blocks) each(x []float64, visit func(at, from int) error) error {
	if b.rows == 0 {
		return nil
	}
	b.block.Space().Write(problem.Iterate, x)
	for at := b.from; at < b.to; {
		from := min(at, b.to-b.rows)
		if from != b.bound {
			b.take(from)
			if err := b.block.Bind(0, b.picked); err != nil {
				return err
			}
			b.bound = from
		}
		if _, err := b.block.Forward(nil); err != nil {
			return err
		}
		if err := visit(at, from); err != nil {
			return err
		}
		at = from + b.rows
	}
	return nil
}

// TimePass returns the wall time of a forward and a backward pass of one block at the stacked
// weights x; rows is the number of its rows, 0 if this process has none. The first of two passes
// does not count, because it touches new memory.
func (b *Blocks) TimePass(x []float64) (took time.Duration, rows int, err error) {
	if b.rows == 0 {
		return 0, 0, nil
	}
	direction := make([]float64, b.rows*b.outputs)
	for range 2 {
		began := time.Now()
		if err := b.pass(x, direction); err != nil {
			return 0, 0, err
		}
		took = time.Since(began)
	}
	return took, b.rows, nil
}

// pass computes the scores of the first block of own rows and pulls D back: a part of pullBack.
func (b *Blocks) pass(x, d []float64) error {
	b.take(b.from)
	if err := b.block.Bind(0, b.picked); err != nil {
		return err
	}
	b.bound = b.from
	b.block.Space().Write(problem.Iterate, x)
	if _, err := b.block.Forward(nil); err != nil {
		return err
	}
	copy(b.direction.Data, d)
	if err := b.block.Bind(1, &b.direction); err != nil {
		return err
	}
	if b.gradient == problem.Iterate {
		b.gradient, b.part = b.block.Space().New(), make([]float64, len(x))
	}
	return b.block.Backward([]float64{1}, b.gradient)
}
