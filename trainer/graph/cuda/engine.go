package cuda

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	device "ppal/cuda"
	"ppal/cuda/driver"
	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// GPU is a device and the engine that runs both halves of a problem on it. It serves all problems that are compiled for it, one at a
// time.
type GPU struct{ *device.Device }

var _ graph.Engine = GPU{}

// Engine returns the engine of a device.
func Engine(d *device.Device) GPU { return GPU{d} }

// Open opens a device by a driver and returns its engine; products is a name that plan.ParseProducts
// knows, or "" for device.Auto. Close closes the driver; after an error it is closed.
func Open(d driver.Driver, products string, microBatch int) (GPU, error) {
	o := device.Options{MicroBatch: microBatch}
	if products != "" {
		var err error
		if o.Products, err = plan.ParseProducts(products); err != nil {
			return GPU{}, errors.Join(err, d.Close())
		}
	}
	dev, err := device.Open(d, o)
	return GPU{dev}, err
}

// Compile implements graph.Engine.
func (e GPU) Compile(h *graph.Halves) (graph.Compiled, error) {
	lowered, err := plan.Lower(plan.Source{
		Graph: h.Graph, Dtype: h.Dtype, Objective: h.Objective, Constraints: h.Constraints, Watched: h.Watch,
		Parameters: h.Parameters, Inputs: h.Inputs, Data: h.Data, Weights: h.Weights, Gradients: h.Gradients,
	})
	if err != nil {
		return nil, err
	}
	x, err := stack(h.Parameters)
	if err != nil {
		return nil, err
	}
	v, err := newVectors(e.Device, h.Dtype, x, h.Regularizer)
	if err != nil {
		return nil, err
	}
	run, err := e.Device.Compile(lowered, v.iterate())
	if err != nil {
		return nil, err
	}
	p := &compiled{vectors: v, space: &problem.Space{Vectors: v, Regularizer: h.Regularizer}, h: h, plan: lowered, run: run}
	for _, n := range h.Sizes {
		p.m += n
	}
	return p, nil
}

// stack are the parameters' values one after the other.
func stack(parameters gorgonia.Nodes) (x []float64, err error) {
	for _, n := range parameters {
		switch data := n.Value().Data().(type) {
		case float32:
			x = append(x, float64(data))
		case float64:
			x = append(x, data)
		case []float32:
			for _, v := range data {
				x = append(x, float64(v))
			}
		case []float64:
			x = append(x, data...)
		default:
			return nil, fmt.Errorf("graph: the value of parameter %s is %T", n.Name(), data)
		}
	}
	return x, nil
}

// compiled is a compiled definition on the device.
type compiled struct {
	*vectors
	space *problem.Space
	h     *graph.Halves
	plan  *plan.Plan
	run   *device.Program
	m     int
}

var _ graph.Compiled = (*compiled)(nil)

// Space implements problem.Problem.
func (p *compiled) Space() *problem.Space { return p.space }

// Dims implements problem.Problem.
func (p *compiled) Dims() (n, m int) { return p.on.Len(), p.m }

// Forward implements problem.Problem.
func (p *compiled) Forward(g []float64) (float64, error) {
	if p.err != nil {
		return 0, p.err
	}
	f, err := p.run.Forward(g)
	if err != nil {
		return 0, fmt.Errorf("graph: %w", err)
	}
	return f, nil
}

// Backward implements problem.Problem.
func (p *compiled) Backward(coefficients []float64, d problem.Vector) error {
	if p.err != nil {
		return p.err
	}
	if err := p.run.Backward(coefficients, p.handles[d]); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// Watched implements graph.Compiled.
func (p *compiled) Watched(i int) (gorgonia.Value, error) {
	if i < 0 || i >= len(p.plan.Watched) {
		return nil, fmt.Errorf("graph: there is no watched value %d", i)
	}
	v := p.plan.Watched[i]
	wide := make([]float64, v.Len())
	if err := p.run.Contents(v, wide); err != nil {
		return nil, fmt.Errorf("graph: watched value %d: %w", i, err)
	}
	var backing any = wide
	if p.h.Dtype == tensor.Float32 {
		narrow := make([]float32, len(wide))
		for k, x := range wide {
			narrow[k] = float32(x)
		}
		backing = narrow
	}
	return tensor.New(tensor.WithShape(p.h.Watch[i].Shape()...), tensor.WithBacking(backing)), nil
}

// Bind implements graph.Compiled: it copies the rows to the device.
func (p *compiled) Bind(i int, m matrix.Matrix) error { return p.run.Bind(p.plan.Inputs[i], m) }

// Products implements what Problem.Products asks for.
func (p *compiled) Products() string { return p.run.Products() }

// Explain is the plan's table of steps.
func (p *compiled) Explain() string { return p.plan.String() }
