package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// Planned is the engine that lowers both halves to a plan and runs it on a device: what is dead is left out, nothing is computed
// twice, and the device walks the rows block by block.
func Planned(device plan.Device) Engine { return planned{device} }

type planned struct{ device plan.Device }

// Compile implements Engine.
func (e planned) Compile(h *Halves) (Compiled, error) {
	lowered, err := plan.Lower(plan.Source{
		Graph: h.Graph, Dtype: h.Dtype, Objective: h.Objective, Constraints: h.Constraints, Watched: h.Watch,
		Parameters: h.Parameters, Inputs: h.Inputs, Data: h.Data, Weights: h.Weights, Gradients: h.Gradients,
	})
	if err != nil {
		return nil, err
	}
	if h.Dtype == tensor.Float32 {
		run, err := e.device.Compile32(lowered)
		if err != nil {
			return nil, err
		}
		return newPlanned(h, lowered, run, e.device.Passes32())
	}
	run, err := e.device.Compile64(lowered)
	if err != nil {
		return nil, err
	}
	return newPlanned(h, lowered, run, e.device.Passes64())
}

// plannedProblem is a problem on an executor that shares the host's memory: the parameters' buffers are parts of x, the gradients'
// parts of the vector that a backward pass writes. The device's threads take the primal steps too.
type plannedProblem[T float32 | float64] struct {
	*problem.HostSpace[T]
	h    *Halves
	plan *plan.Plan
	run  plan.Executor[T]
	m    int
	f    [1]float64 // the objective, as it is read
}

func newPlanned[T float32 | float64](h *Halves, p *plan.Plan, run plan.Executor[T], on problem.Passes[T]) (*plannedProblem[T], error) {
	x, err := stack[T](h.Parameters)
	if err != nil {
		return nil, err
	}
	forget(p)
	kept := *h
	kept.Data = nil // see forget
	q := &plannedProblem[T]{HostSpace: problem.NewHostSpaceOn(x, h.Regularizer, on), h: &kept, plan: p, run: run}
	for _, n := range h.Sizes {
		q.m += n
	}
	return q, q.attach(p.Parameters, problem.Iterate)
}

// forget drops the plan's data matrices except sparse ones, whose entries the executor shares: the
// executor has copied what it needs, and the caller may free the rest.
func forget(p *plan.Plan) {
	p.Data = slices.Clone(p.Data)
	for i, data := range p.Data {
		if _, ok := data.(matrix.Sparse); !ok {
			p.Data[i] = nil
		}
	}
}

// attach makes the buffers of the views consecutive parts of a vector.
func (p *plannedProblem[T]) attach(views []plan.View, v problem.Vector) error {
	data, at := p.Slice(v), 0
	for _, view := range views {
		if err := p.run.Attach(view, data[at:at+view.Len():at+view.Len()]); err != nil {
			return fmt.Errorf("graph: %w", err)
		}
		at += view.Len()
	}
	return nil
}

func (p *plannedProblem[T]) Dims() (n, m int) { return len(p.Slice(problem.Iterate)), p.m }

func (p *plannedProblem[T]) Forward(g []float64) (float64, error) {
	if err := p.run.Forward(); err != nil {
		return 0, fmt.Errorf("graph: forward: %w", err)
	}
	at := 0
	for _, v := range p.plan.Constraints {
		p.run.Read(v, g[at:at+v.Len()])
		at += v.Len()
	}
	p.run.Read(p.plan.Objective, p.f[:])
	return p.f[0], nil
}

func (p *plannedProblem[T]) Backward(weights []float64, d problem.Vector) error {
	if err := p.attach(p.plan.Gradients, d); err != nil {
		return err
	}
	if err := p.run.Backward(weights); err != nil {
		return fmt.Errorf("graph: backward: %w", err)
	}
	return nil
}

func (p *plannedProblem[T]) Watched(i int) (gorgonia.Value, error) {
	if i < 0 || i >= len(p.plan.Watched) {
		return nil, fmt.Errorf("graph: there is no watched value %d", i)
	}
	return tensor.New(tensor.WithShape(p.h.Watch[i].Shape()...), tensor.WithBacking(p.run.Contents(p.plan.Watched[i]))), nil
}

func (p *plannedProblem[T]) Bind(i int, m matrix.Matrix) error {
	return p.run.Bind(p.plan.Inputs[i], m)
}

// Products implements what Problem.Products asks for.
func (p *plannedProblem[T]) Products() string {
	if r, ok := p.run.(interface{ Products() string }); ok {
		return r.Products()
	}
	return ""
}

// Explain is the plan's table of steps.
func (p *plannedProblem[T]) Explain() string { return p.plan.String() }
