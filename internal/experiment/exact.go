package experiment

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// exactNumbers is how many of the rows' numbers are widened to float64 at a time.
const exactNumbers = 1 << 22

// exact is the task in float64 throughout, a block of rows at a time: the scores S(x) of the blocks, then f and g over all scores, and
// backwards D = d(w_0 f + w.g)/dS over all, then the sum of the blocks' gradients of <D, S(x)>. It is for certificates: it is slow, and
// needs little memory.
type exact struct {
	*trainer.HostSpace[float64]
	t         *task
	rows      rows
	block     int            // rows
	head      *graph.Problem // f and g of the scores
	direction trainer.Vector // of head: D
}

var _ trainer.Problem = (*exact)(nil)

// newExact returns the problem with its iterate at x, weights as trained, stacked.
func newExact(t *task, r rows, x []float64) (*exact, error) {
	e := &exact{HostSpace: trainer.NewHostSpace(append([]float64{}, x...), t.regularizer), t: t, rows: r}
	e.block = min(r.len(), max(1, exactNumbers/r.features()))
	var err error
	e.head, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		scores := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(r.len(), t.spec.Outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(r.len(), t.spec.Outputs), tensor.Of(tensor.Float64))))
		f, c, err := t.goal.nodes(scores, r)
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: gorgonia.Nodes{scores}}, err
	}, t.engine)
	if err != nil {
		return nil, fmt.Errorf("experiment: the objective and constraints in float64: %w", err)
	}
	e.direction = e.head.NewVector()
	return e, nil
}

func (e *exact) Dims() (n, m int) {
	_, m = e.head.Dims()
	return len(e.Slice(trainer.Iterate)), m
}

// NonSmooth implements trainer.NonSmooth.
func (e *exact) NonSmooth() bool { return e.t.nonSmooth() }

func (e *exact) Forward(g []float64) (f float64, err error) {
	var scores []float64
	err = e.each(func(lo, hi int, b *graph.Problem) error {
		if _, err := b.Forward(nil); err != nil {
			return err
		}
		v, err := b.Watched(0)
		if err == nil {
			scores = append(scores, float64s(v)...)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	e.head.Write(trainer.Iterate, scores)
	return e.head.Forward(g)
}

func (e *exact) Backward(weights []float64, d trainer.Vector) error {
	if err := e.head.Backward(weights, e.direction); err != nil {
		return err
	}
	outputs := e.t.spec.Outputs
	all := make([]float64, e.rows.len()*outputs)
	e.head.Read(all, e.direction)
	sum := e.Slice(d)
	clear(sum)
	gradient := make([]float64, len(sum))
	return e.each(func(lo, hi int, b *graph.Problem) error {
		part := tensor.New(tensor.WithShape(hi-lo, outputs), tensor.WithBacking(all[lo*outputs:hi*outputs]))
		if err := b.Bind(1, part); err != nil {
			return err
		}
		if _, err := b.Forward(nil); err != nil {
			return err
		}
		v := b.NewVector()
		if err := b.Backward([]float64{1}, v); err != nil {
			return err
		}
		b.Read(gradient, v)
		for i, x := range gradient {
			sum[i] += x
		}
		return nil
	})
}

// each visits the blocks, rows lo to hi-1, each as the problem <D, S(x)> whose input 1 is D and whose watched value 0 is S(x).
func (e *exact) each(visit func(lo, hi int, b *graph.Problem) error) error {
	weights, err := models.Unstack(e.t.spec, e.Slice(trainer.Iterate))
	if err != nil {
		return err
	}
	for lo := 0; lo < e.rows.len(); lo += e.block {
		hi := min(lo+e.block, e.rows.len())
		b, err := e.t.pairing(newWindow(e.rows.data, lo, hi), weights)
		if err != nil {
			return err
		}
		if err := visit(lo, hi, b); err != nil {
			return err
		}
	}
	return nil
}

// pairing is the problem <D, S(x)> in float64 of some rows, D = 0 until it is bound.
func (t *task) pairing(data graph.Matrix, weights models.Weights) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := t.scores(g, data, tensor.Float64, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		n, _ := data.Dims()
		d := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("direction"), gorgonia.WithShape(n, t.spec.Outputs),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, t.spec.Outputs), tensor.Of(tensor.Float64))))
		product, err := gorgonia.HadamardProd(scores, d)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(product)
		return graph.Definition{
			Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x, d},
			Data: []graph.Matrix{data, nil}, Watch: gorgonia.Nodes{scores},
		}, err
	}, t.engine)
}
