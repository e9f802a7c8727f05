package session

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// A block has so many of the rows' numbers, 2 MiB in float32, but at least so many rows, enough for a few threads.
const (
	blockNumbers = 1 << 19
	blockRows    = 480
)

// blocks are the model's scores S(x) of rows that are kept as they were read, a block at a time: rows that are only measured need no
// packed copy, and a certificate in float64 no wide one.
type blocks struct {
	block     *graph.Problem // <D, S(x)> of a block's rows, its inputs the rows and D, its watched value 0 S(x)
	rows      int            // of a block
	data      matrix.Matrix
	list      []int         // the numbers of a block's rows
	picked    matrix.Matrix // these rows of the data
	outputs   int
	direction matrix.Dense // the rows of D
	gradient  problem.Vector
	part      []float64 // the gradient on the host
}

// newBlocks builds the model for blocks of the rows.
func (t *builder) newBlocks(data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*blocks, error) {
	n, d := data.Dims()
	return t.blocksOf(data, min(n, max(blockRows, blockNumbers/d)), dtype, weights)
}

// blocksOf takes the number of a block's rows, at most all.
func (t *builder) blocksOf(data matrix.Matrix, rows int, dtype tensor.Dtype, weights models.Weights) (*blocks, error) {
	b := &blocks{rows: rows, data: data, list: make([]int, rows), outputs: t.spec.Outputs}
	b.take(0)
	b.picked = matrix.Pick(data, b.list)
	b.direction = matrix.Dense{Rows: rows, Cols: b.outputs, Data: make([]float64, rows*b.outputs)}
	var err error
	b.block, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := t.scores(g, b.picked, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		direction := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("direction"), gorgonia.WithShape(rows, b.outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, b.outputs), tensor.Of(dtype))))
		product, err := gorgonia.HadamardProd(scores, direction)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(product)
		return graph.Definition{
			Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x, direction},
			Data: []matrix.Matrix{b.picked, nil}, Watch: gorgonia.Nodes{scores},
		}, err
	}, t.host)
	if err != nil {
		return nil, fmt.Errorf("session: the scores of %d rows: %w", rows, err)
	}
	return b, nil
}

// take makes the rows from the given one on the block's rows.
func (b *blocks) take(from int) {
	for k := range b.list {
		b.list[k] = from + k
	}
}

// scores are S [n, C], row by row, at the stacked weights x.
func (b *blocks) scores(x []float64) ([]float64, error) {
	n, _ := b.data.Dims()
	scores := make([]float64, 0, n*b.outputs)
	err := b.each(x, func(at, from int) error {
		v, err := b.block.Watched(0)
		if err == nil {
			scores = append(scores, Float64s(v)[(at-from)*b.outputs:]...)
		}
		return err
	})
	return scores, err
}

// pullBack writes J^T D to sum, J the derivative of the scores by the stacked weights at x, D [n, C] row by row.
func (b *blocks) pullBack(sum, x, d []float64) error {
	if b.gradient == problem.Iterate {
		b.gradient, b.part = b.block.Space().New(), make([]float64, len(sum))
	}
	clear(sum)
	return b.each(x, func(at, from int) error {
		fresh := d[at*b.outputs : (from+b.rows)*b.outputs]
		old := len(b.direction.Data) - len(fresh) // rows of the block before
		clear(b.direction.Data[:old])
		copy(b.direction.Data[old:], fresh)
		if err := b.block.Bind(1, &b.direction); err != nil {
			return err
		}
		if err := b.block.Backward([]float64{1}, b.gradient); err != nil {
			return err
		}
		b.block.Space().Read(b.part, b.gradient)
		for i, g := range b.part {
			sum[i] += g
		}
		return nil
	})
}

// each visits the blocks after their forward pass. Blocks are rows from to from+b.rows-1, of which those from at on are new: the last
// one begins early enough to be whole.
func (b *blocks) each(x []float64, visit func(at, from int) error) error {
	b.block.Space().Write(problem.Iterate, x)
	n, _ := b.data.Dims()
	for at := 0; at < n; {
		from := min(at, n-b.rows)
		b.take(from)
		if err := b.block.Bind(0, b.picked); err != nil {
			return err
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
