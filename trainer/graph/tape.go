package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

// Tape is the engine that runs Gorgonia's own ops one after the other, in plain float32 or float64:
// the reference for the devices. The backward pass evaluates the forward nodes again.
type Tape struct{}

var _ Engine = Tape{}

// Compile implements Engine.
func (Tape) Compile(l *Lagrangian) (Compiled, error) {
	if l.Dtype == tensor.Float32 {
		return newTape[float32](l)
	}
	return newTape[float64](l)
}

// tapeProblem is a definition compiled for Gorgonia's ops. It runs the forward and the backward
// pass on two machines over one graph. The parameters' values share the memory of the iterate x, so
// that a step of x moves the parameters.
type tapeProblem[T float32 | float64] struct {
	*problem.HostSpace[T]
	l                 *Lagrangian
	forward, backward *machine
	coefficients      [][]T // the memory of each coefficient node
	m                 int   // number of constraints
}

// newTape compiles the definition for float32 or float64.
func newTape[T float32 | float64](l *Lagrangian) (*tapeProblem[T], error) {
	x, err := stack[T](l.Parameters)
	if err != nil {
		return nil, err
	}
	p := &tapeProblem[T]{HostSpace: problem.NewHostSpace(x, l.Regularizer), l: l}
	if err := p.bindCoefficients(); err != nil {
		return nil, err
	}
	if err := widenInputs[T](l); err != nil {
		return nil, err
	}
	if p.forward, err = newMachine(l.Graph, append(l.outputs(), l.Watch...)); err != nil {
		return nil, fmt.Errorf("the forward pass: %w", err)
	}
	if p.backward, err = newMachine(l.Graph, l.Gradients); err != nil {
		return nil, fmt.Errorf("the backward pass: %w", err)
	}
	return p, nil
}

// widenInputs gives each input with a data matrix the widened values of the matrix.
func widenInputs[T float32 | float64](l *Lagrangian) error {
	for i, m := range l.Data {
		if m == nil {
			continue
		}
		if err := letMatrix[T](l.Inputs[i], m); err != nil {
			return fmt.Errorf("input %d (%s): %w", i, l.Inputs[i].Name(), err)
		}
	}
	return nil
}

// letMatrix gives a node the widened values of a matrix of its shape.
func letMatrix[T float32 | float64](n *gorgonia.Node, m matrix.Matrix) error {
	rows, cols := m.Dims()
	values := make([]T, rows*cols)
	matrix.Widen(values, m, 0, rows)
	return gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(values)))
}

// elements returns the elements of a tensor or a scalar.
func elements[T float32 | float64](v gorgonia.Value) ([]T, bool) {
	switch data := v.Data().(type) {
	case []T:
		return data, true
	case T:
		return []T{data}, true
	}
	return nil, false
}

// stack copies the parameters' values into one slice x and makes each node's value share its part
// of x.
func stack[T float32 | float64](parameters gorgonia.Nodes) ([]T, error) {
	n := 0
	for _, p := range parameters {
		n += p.Shape().TotalSize()
	}
	x := make([]T, n)
	at := 0
	for i, p := range parameters {
		values, ok := p.Value().Data().([]T)
		if !ok {
			return nil, fmt.Errorf("parameter %d (%s) holds %T, want a dense tensor", i, p.Name(), p.Value().Data())
		}
		part := x[at : at+len(values) : at+len(values)]
		copy(part, values)
		at += len(values)
		if err := gorgonia.Let(p, tensor.New(tensor.WithShape(p.Shape()...), tensor.WithBacking(part))); err != nil {
			return nil, fmt.Errorf("parameter %d (%s): %w", i, p.Name(), err)
		}
	}
	return x, nil
}

// bindCoefficients gives every vector node of the coefficients a value, which Backward overwrites.
// A scalar node gets a new value at each Backward.
func (p *tapeProblem[T]) bindCoefficients() error {
	p.coefficients = make([][]T, len(p.l.Coefficients))
	for i, w := range p.l.Coefficients {
		if i > 0 {
			p.m += p.l.Sizes[i-1]
		}
		if w.IsScalar() {
			continue
		}
		p.coefficients[i] = make([]T, p.l.Sizes[i-1])
		if err := gorgonia.Let(w, tensor.New(tensor.WithShape(w.Shape()...), tensor.WithBacking(p.coefficients[i]))); err != nil {
			return err
		}
	}
	return nil
}

// Dims implements problem.Problem.
func (p *tapeProblem[T]) Dims() (n, m int) { return len(p.Slice(problem.Iterate)), p.m }

// Forward implements problem.Problem.
func (p *tapeProblem[T]) Forward(g []float64) (float64, error) {
	if err := p.forward.run(); err != nil {
		return 0, fmt.Errorf("graph: forward: %w", err)
	}
	var f [1]float64
	if err := fill(f[:], p.forward.value(p.l.Objective)); err != nil {
		return 0, fmt.Errorf("graph: the objective: %w", err)
	}
	at := 0
	for j, n := range p.l.Constraints {
		size := p.l.Sizes[j]
		if err := fill(g[at:at+size], p.forward.value(n)); err != nil {
			return 0, fmt.Errorf("graph: constraint node %d: %w", j, err)
		}
		at += size
	}
	return f[0], nil
}

// Backward implements problem.Problem.
func (p *tapeProblem[T]) Backward(coefficients []float64, d problem.Vector) error {
	at := 0
	for i, w := range p.l.Coefficients {
		if p.coefficients[i] == nil {
			if err := gorgonia.Let(w, T(coefficients[at])); err != nil {
				return fmt.Errorf("graph: coefficients: %w", err)
			}
			at++
			continue
		}
		for j := range p.coefficients[i] {
			p.coefficients[i][j] = T(coefficients[at])
			at++
		}
	}
	if err := p.backward.run(); err != nil {
		return fmt.Errorf("graph: backward: %w", err)
	}
	dst := p.Slice(d)
	at = 0
	for i, n := range p.l.Gradients {
		values, ok := elements[T](p.backward.value(n))
		if size := p.l.Parameters[i].Shape().TotalSize(); !ok || len(values) != size {
			return fmt.Errorf("graph: the gradient of %s has shape %v, want %v", p.l.Parameters[i].Name(), n.Shape(), p.l.Parameters[i].Shape())
		}
		at += copy(dst[at:], values)
	}
	return nil
}

// Watched implements Compiled.
func (p *tapeProblem[T]) Watched(i int) (gorgonia.Value, error) {
	if i < 0 || i >= len(p.l.Watch) || p.forward.value(p.l.Watch[i]) == nil {
		return nil, refuse("there is no watched value %d", i)
	}
	return p.forward.value(p.l.Watch[i]), nil
}

// Bind implements Compiled. It copies the matrix in the definition's dtype.
func (p *tapeProblem[T]) Bind(i int, m matrix.Matrix) error { return letMatrix[T](p.l.Inputs[i], m) }

// Keep implements Compiled: the tape keeps nothing.
func (p *tapeProblem[T]) Keep(int, matrix.Matrix) (func(), error) { return nil, nil }

// Stored implements Compiled. It returns nil, because the machine has only widened copies.
func (p *tapeProblem[T]) Stored(int) matrix.EightBit { return nil }

// Products implements Compiled. It returns the definition's dtype.
func (p *tapeProblem[T]) Products() string { return p.l.Dtype.String() }

// Explain implements Compiled. It returns "", because the machine has no steps to show.
func (p *tapeProblem[T]) Explain() string { return "" }
