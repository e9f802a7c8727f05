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
	outputs   int
	widen     func(from, to int) gorgonia.Value // rows of the data
	direction func(d []float64) gorgonia.Value  // rows of D
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
	_, d := data.Dims()
	b := &blocks{rows: rows, data: data, outputs: t.spec.Outputs}
	if dtype == tensor.Float32 {
		b.widen, b.direction = widener(data.Float32, rows, d), narrower[float32](rows, b.outputs)
	} else {
		b.widen, b.direction = widener(data.Float64, rows, d), narrower[float64](rows, b.outputs)
	}
	var err error
	b.block, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		zeros := zerosLike(data, rows)
		net, x, scores, err := t.scores(g, zeros, dtype, weights)
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
			Data: []matrix.Matrix{zeros, nil}, Watch: gorgonia.Nodes{scores},
		}, err
	}, t.host)
	if err != nil {
		return nil, fmt.Errorf("session: the scores of %d rows: %w", rows, err)
	}
	return b, nil
}

// widener gives the values of a block's rows in memory that it uses again.
func widener[T float32 | float64](widen func(dst []T, from, to int), rows, cols int) func(from, to int) gorgonia.Value {
	values := make([]T, rows*cols)
	v := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(values))
	return func(from, to int) gorgonia.Value {
		widen(values, from, to)
		return v
	}
}

// narrower rounds the last rows of a matrix, the others being zeros, in memory that it uses again.
func narrower[T float32 | float64](rows, cols int) func(d []float64) gorgonia.Value {
	values := make([]T, rows*cols)
	v := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(values))
	return func(d []float64) gorgonia.Value {
		first := len(values) - len(d)
		clear(values[:first])
		for i, x := range d {
			values[first+i] = T(x)
		}
		return v
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
		if err := b.block.Bind(1, b.direction(d[at*b.outputs:(from+b.rows)*b.outputs])); err != nil {
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
		if err := b.block.Bind(0, b.widen(from, from+b.rows)); err != nil {
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
