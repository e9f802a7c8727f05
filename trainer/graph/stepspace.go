package graph

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/problem"
)

// stepSpace is the problem that an Optimizer's steps see: the parameters' values and gradients of someone else's graph.
type stepSpace interface {
	problem.Problem
	load(model []gorgonia.ValueGrad) error
	store(model []gorgonia.ValueGrad) error
}

// newStepSpace takes the sizes and the dtype from the model.
func newStepSpace(model []gorgonia.ValueGrad, r problem.Regularizer) (stepSpace, error) {
	if len(model) == 0 {
		return nil, errors.New("graph: Step of a model without parameters")
	}
	n := 0
	for _, p := range model {
		n += max(1, p.Value().Shape().TotalSize())
	}
	if err := r.Validate(n); err != nil {
		return nil, err
	}
	if model[0].Value().Dtype() == tensor.Float32 {
		return &modelSpace[float32]{HostSpace: problem.NewHostSpace(make([]float32, n), r), gradient: make([]float32, n)}, nil
	}
	return &modelSpace[float64]{HostSpace: problem.NewHostSpace(make([]float64, n), r), gradient: make([]float64, n)}, nil
}

type modelSpace[T float32 | float64] struct {
	*problem.HostSpace[T]
	gradient []T
}

func (s *modelSpace[T]) Dims() (n, m int) { return len(s.gradient), 0 }

func (s *modelSpace[T]) Forward([]float64) (float64, error) {
	return 0, errors.New("graph: an optimizer's problem is evaluated by its own loop")
}

// Backward gives the gradient that the loop's run left; it used the weights already.
func (s *modelSpace[T]) Backward(_ []float64, d problem.Vector) error {
	copy(s.Slice(d), s.gradient)
	return nil
}

// load copies the values and the gradients.
func (s *modelSpace[T]) load(model []gorgonia.ValueGrad) error {
	x, at := s.Slice(problem.Iterate), 0
	for i, p := range model {
		gradient, err := p.Grad()
		if err != nil {
			return fmt.Errorf("graph: the gradient of parameter %d: %w", i, err)
		}
		values, slopes := elements[T](p.Value()), elements[T](gradient)
		if len(values) == 0 || len(values) != len(slopes) || at+len(values) > len(x) {
			return fmt.Errorf("graph: parameter %d holds %v and its gradient %v, want dense tensors of one dtype and unchanged shapes",
				i, p.Value().Shape(), gradient.Shape())
		}
		copy(x[at:], values)
		at += copy(s.gradient[at:], slopes)
	}
	return nil
}

// store writes the moved parameters back and clears the gradients, which Gorgonia's dual values accumulate.
func (s *modelSpace[T]) store(model []gorgonia.ValueGrad) error {
	x, at := s.Slice(problem.Iterate), 0
	for i, p := range model {
		values := elements[T](p.Value())
		if scalar, ok := p.Value().Data().(T); ok {
			return fmt.Errorf("graph: parameter %d is the scalar %v: give it the shape (1)", i, scalar)
		}
		at += copy(values, x[at:at+len(values)])
		if gradient, err := p.Grad(); err == nil && gradient != nil { // nil before the first run
			clear(elements[T](gradient))
		}
	}
	return nil
}

// elements are the numbers of a dense tensor, its own memory, nil where it holds other types.
func elements[T float32 | float64](v gorgonia.Value) []T {
	switch data := v.Data().(type) {
	case []T:
		return data
	case T:
		return []T{data}
	}
	return nil
}
