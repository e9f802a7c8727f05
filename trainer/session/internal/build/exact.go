package build

import (
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Exact is the task in float64, computed one block of rows at a time. A forward pass computes the
// scores S(x) block by block, then f and g of all scores. A backward pass computes D = d(w_0 f +
// w.g)/dS for all scores, then sums the blocks' gradients of <D, S(x)>. The terms of the
// parameters follow the terms of the scores. Certificates use Exact, because Exact needs little
// memory; Exact is slow.
type Exact struct {
	*problem.HostSpace[float64]
	b         *Builder
	blocks    *Blocks
	head      *graph.Problem // f and g of the scores
	scores    *problem.HostVectors[float64]
	direction problem.Vector // gradient D of head
	spans     []span         // D of each gradient of a pass
}

var (
	_ problem.Problem = (*Exact)(nil)
	_ problem.Several = (*Exact)(nil)
)

// NewExact returns the problem at the iterate x, the stacked weights as trained. blocks compute the
// scores in float64, and head, on the host, is f and g of the scores. The problem keeps the slice x
// as its iterate.
func NewExact(b *Builder, blocks *Blocks, head *graph.Problem, x []float64) *Exact {
	return &Exact{HostSpace: problem.NewHostSpace(x, b.Regularizer), b: b, blocks: blocks, head: head,
		scores: head.Space().Vectors.(*problem.HostVectors[float64]), direction: head.Space().New()}
}

// Dims implements problem.Problem.
func (e *Exact) Dims() (n, m int) {
	_, m = e.head.Dims()
	return len(e.Slice(problem.Iterate)), m + e.b.Terms.Len()
}

// NonSmooth implements problem.NonSmooth. f and g of the scores, the network, and the terms of the
// parameters may have kinks. A process without rows has no network, and asks the model.
func (e *Exact) NonSmooth() bool {
	terms := e.b.Terms
	if e.head.NonSmooth() || terms != nil && terms.problem.NonSmooth() {
		return true
	}
	if lanes := e.blocks.lanes; len(lanes) > 0 {
		return lanes[0].block.NonSmooth()
	}
	k, known := e.b.Model.(models.Kinked)
	return !known || k.Kinks()
}

// Forward implements problem.Problem.
func (e *Exact) Forward(g []float64) (f float64, err error) {
	if err := e.blocks.fill(e.scores.Slice(problem.Iterate), e.Slice(problem.Iterate)); err != nil {
		return 0, err
	}
	own, err := e.b.Terms.At(e.Slice(problem.Iterate))
	if err != nil {
		return 0, err
	}
	copy(g[len(g)-len(own):], own)
	return e.head.Forward(g[:len(g)-len(own)])
}

// Backward implements problem.Problem.
func (e *Exact) Backward(coefficients []float64, d problem.Vector) error {
	return e.BackwardSeveral([][]float64{coefficients}, []problem.Vector{d})
}

// BackwardSeveral implements problem.Several. Most of the time of a pass is the conversion of the
// rows to float64.
func (e *Exact) BackwardSeveral(coefficients [][]float64, d []problem.Vector) error {
	sums := make([][]float64, len(d))
	for i, c := range coefficients {
		if err := e.head.Backward(c[:len(c)-e.b.Terms.Len()], e.direction); err != nil {
			return err
		}
		if i == len(e.spans) {
			e.spans = append(e.spans, span{})
		}
		e.blocks.trim(&e.spans[i], e.scores.Slice(e.direction))
		sums[i] = e.Slice(d[i])
	}
	if err := e.blocks.pullBack(sums, e.Slice(problem.Iterate), e.spans[:len(d)]); err != nil {
		return err
	}
	for i, c := range coefficients {
		if err := e.b.Terms.addGradient(sums[i], c[len(c)-e.b.Terms.Len():]); err != nil {
			return err
		}
	}
	return nil
}
