package session

import (
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// exact is the task in float64 throughout, a block of rows at a time: the scores S(x) of the blocks, then f and g over all scores, and
// backwards D = d(w_0 f + w.g)/dS over all, then the sum of the blocks' gradients of <D, S(x)>. It is for certificates: it is slow, and
// needs little memory.
type exact struct {
	*problem.HostSpace[float64]
	b         *builder
	blocks    *blocks
	head      *graph.Problem // f and g of the scores
	direction problem.Vector // of head: D
}

var _ problem.Problem = (*exact)(nil)

// newExact returns the problem with its iterate x, weights as trained, stacked: the slice itself, not a copy.
func newExact(b *builder, r rows, x []float64) (*exact, error) {
	e := &exact{HostSpace: problem.NewHostSpace(x, b.regularizer), b: b}
	weights, err := models.Unstack(b.spec, x)
	if err != nil {
		return nil, err
	}
	if e.blocks, err = b.newBlocks(r.data, tensor.Float64, weights); err != nil {
		return nil, err
	}
	if e.head, err = b.head(r); err != nil {
		return nil, err
	}
	e.direction = e.head.Space().New()
	return e, nil
}

func (e *exact) Dims() (n, m int) {
	_, m = e.head.Dims()
	return len(e.Slice(problem.Iterate)), m
}

// NonSmooth implements problem.NonSmooth.
func (e *exact) NonSmooth() bool { return e.b.nonSmooth() }

func (e *exact) Forward(g []float64) (f float64, err error) {
	scores, err := e.blocks.scores(e.Slice(problem.Iterate))
	if err != nil {
		return 0, err
	}
	e.head.Space().Write(problem.Iterate, scores)
	return e.head.Forward(g)
}

func (e *exact) Backward(weights []float64, d problem.Vector) error {
	if err := e.head.Backward(weights, e.direction); err != nil {
		return err
	}
	n, _ := e.head.Dims()
	direction := make([]float64, n)
	e.head.Space().Read(direction, e.direction)
	return e.blocks.pullBack(e.Slice(d), e.Slice(problem.Iterate), direction)
}
