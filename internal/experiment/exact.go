package experiment

import (
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// exactBlock is the number of rows that are widened to float64 at a time.
const exactBlock = 4096

// exact is the task in float64 throughout, evaluated a block of rows at a time: a class's loss is the mean of the blocks' means,
// weighted by the blocks' shares of its rows, and so are the gradients. It is for certificates: it is slow, and small.
type exact struct {
	*trainer.HostSpace[float64]
	t      *task
	rows   rows
	parts  int
	counts []int
	bounds []float64
}

var _ trainer.Problem = (*exact)(nil)

// newExact returns the problem with its iterate at x, weights as trained, stacked.
func newExact(t *task, r rows, x []float64) *exact {
	space := trainer.NewHostSpace(append([]float64{}, x...), t.regularizer)
	e := &exact{HostSpace: space, t: t, rows: r, counts: r.counts(), bounds: t.goal.Bounds()}
	smallest := e.counts[0]
	for _, n := range e.counts {
		smallest = min(smallest, n)
	}
	total := r.offsets[len(r.offsets)-1]
	e.parts = min((total+exactBlock-1)/exactBlock, smallest)
	return e
}

func (e *exact) Dims() (n, m int) { return len(e.Slice(trainer.Iterate)), len(e.bounds) }

// NonSmooth implements trainer.NonSmooth.
func (e *exact) NonSmooth() bool { return e.t.nonSmooth() }

func (e *exact) Forward(g []float64) (f float64, err error) {
	for j, kappa := range e.bounds {
		g[j] = -kappa
	}
	part := make([]float64, len(g))
	err = e.each(func(p *graph.Problem, share []float64) error {
		value, err := p.Forward(part)
		f += share[0] * value
		for j := range g {
			g[j] += share[1+j] * (part[j] + e.bounds[j])
		}
		return err
	})
	return f, err
}

func (e *exact) Backward(weights []float64, d trainer.Vector) error {
	sum := e.Slice(d)
	clear(sum)
	scaled, unused, gradient := make([]float64, len(weights)), make([]float64, len(e.bounds)), make([]float64, len(sum))
	return e.each(func(p *graph.Problem, share []float64) error {
		if _, err := p.Forward(unused); err != nil {
			return err
		}
		for i, w := range weights {
			scaled[i] = share[i] * w
		}
		v := p.NewVector()
		if err := p.Backward(scaled, v); err != nil {
			return err
		}
		p.Read(gradient, v)
		for i, x := range gradient {
			sum[i] += x
		}
		return nil
	})
}

// each visits the blocks, with each class's share of its rows there.
func (e *exact) each(visit func(p *graph.Problem, share []float64) error) error {
	weights, err := models.Unstack(e.t.spec, e.Slice(trainer.Iterate))
	if err != nil {
		return err
	}
	share := make([]float64, len(e.counts))
	for b := range e.parts {
		r := e.rows.block(b, e.parts)
		p, err := e.t.problem(r, tensor.Float64, weights)
		if err != nil {
			return err
		}
		for k, n := range r.counts() {
			share[k] = float64(n) / float64(e.counts[k])
		}
		if err := visit(p, share); err != nil {
			return err
		}
	}
	return nil
}
