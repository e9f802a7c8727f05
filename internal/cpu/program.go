package cpu

import (
	"fmt"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// NewVectors implements plan.Device. The steps on the vectors run on the device's threads. The
// results depend on the level of the kernels and not on the number of threads.
func (d *Device) NewVectors(t tensor.Dtype, x matrix.Matrix, _ []int) (problem.Vectors, error) {
	switch t {
	case tensor.Float32:
		return newHostVectors[float32](d, x), nil
	case tensor.Float64:
		return newHostVectors[float64](d, x), nil
	}
	return nil, fmt.Errorf("cpu: vectors of %v, want float32 or float64", t)
}

func newHostVectors[T plan.Float](d *Device, x matrix.Matrix) problem.Vectors {
	n, _ := x.Dims()
	start := anyMemory[T](d, n)
	matrix.Widen(start, x, 0, n)
	return problem.NewHostVectors(start, newPasses[T](d))
}

// Compile implements plan.Device.
func (d *Device) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	if p.Dtype == tensor.Float32 {
		return newProgram[float32](d, p, x)
	}
	return newProgram[float64](d, p, x)
}

// program runs a plan at the iterate of host vectors. The buffers of the parameters are parts of
// the iterate. The buffers of the gradients are parts of the vector that Backward writes.
type program[T plan.Float] struct {
	e *executor[T]
	x *problem.HostVectors[T]
	f [1]float64 // the objective
}

func newProgram[T plan.Float](d *Device, p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	v, ok := x.(*problem.HostVectors[T])
	if !ok {
		return nil, fmt.Errorf("cpu: the vectors are %T, want this device's of %v", x, p.Dtype)
	}
	e, err := newExecutor[T](d, p)
	if err != nil {
		return nil, err
	}
	r := &program[T]{e: e, x: v}
	return r, r.attach(p.Parameters, problem.Iterate)
}

// attach makes the buffers of the views consecutive parts of a vector.
func (r *program[T]) attach(views []plan.View, v problem.Vector) error {
	data, at := r.x.Slice(v), 0
	for _, view := range views {
		if err := r.e.Attach(view, data[at:at+view.Len():at+view.Len()]); err != nil {
			return err
		}
		at += view.Len()
	}
	return nil
}

// Forward implements plan.Program.
func (r *program[T]) Forward(g []float64) (f float64, err error) {
	if err := r.e.Forward(); err != nil {
		return 0, err
	}
	at := 0
	for _, v := range r.e.plan.Constraints {
		r.e.Read(v, g[at:at+v.Len()])
		at += v.Len()
	}
	r.e.Read(r.e.plan.Objective, r.f[:])
	return r.f[0], nil
}

// Backward implements plan.Program.
func (r *program[T]) Backward(coefficients []float64, d problem.Vector) error {
	if err := r.attach(r.e.plan.Gradients, d); err != nil {
		return err
	}
	return r.e.Backward(coefficients)
}

// Contents implements plan.Program.
func (r *program[T]) Contents(v plan.View, dst []float64) error {
	if r.e.division.buffers[v.Buffer] {
		if err := r.e.gather(v.Buffer); err != nil {
			return fmt.Errorf("cpu: %w", err)
		}
	}
	r.e.Read(v, dst)
	return nil
}

// Bind implements plan.Program.
func (r *program[T]) Bind(v plan.View, m matrix.Matrix) error { return r.e.Bind(v, m) }

// Keep implements plan.Keeper.
func (r *program[T]) Keep(v plan.View, m matrix.Matrix) (func(), error) { return r.e.Keep(v, m) }

// Stored implements plan.Program.
func (r *program[T]) Stored(v plan.View) matrix.EightBit { return r.e.Stored(v) }

// CoarseRoundoff implements plan.Grader.
func (r *program[T]) CoarseRoundoff() float64 { return r.e.CoarseRoundoff() }

// SetCoarse implements plan.Grader.
func (r *program[T]) SetCoarse(coarse bool) { r.e.coarse = coarse }

// Coarse implements plan.Grader.
func (r *program[T]) Coarse() bool { return r.e.coarse }

// Products implements plan.Program.
func (r *program[T]) Products() string { return r.e.Products() }
