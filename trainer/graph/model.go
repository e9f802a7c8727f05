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

// model is the problem whose iterate an Optimizer moves: the parameters of the user's graph. load
// copies the parameters and their gradients to the device's vectors; store copies the moved
// parameters back.
type model struct {
	space       *problem.Space
	dtype       tensor.Dtype
	x, gradient []float64 // on the host: parameters after the last Step, gradients of the last run
}

// column returns numbers as a matrix of one column.
func column(x []float64) matrix.Matrix { return &values[float64]{len(x), 1, x} }

// newModel returns the model for the user's parameters, with vectors of their total size and dtype
// on the device. The iterate is zero until load.
func newModel(d plan.Device, parameters []gorgonia.ValueGrad, r problem.Regularizer) (*model, error) {
	if len(parameters) == 0 {
		return nil, refuse("Step got no parameters: pass the nodes of the model's parameters")
	}
	n := 0
	for _, p := range parameters {
		n += max(1, p.Value().Shape().TotalSize())
	}
	if err := r.Validate(n); err != nil {
		return nil, err
	}
	m := &model{dtype: parameters[0].Value().Dtype(), x: make([]float64, n), gradient: make([]float64, n)}
	v, err := d.NewVectors(m.dtype, column(m.x), r.Map(1).Ends)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	m.space = problem.NewSpace(v, r)
	return m, nil
}

// Dims implements problem.Problem. The model has no constraints, because the user's loop evaluates
// them.
func (m *model) Dims() (n, constraints int) { return len(m.x), 0 }

// Space implements problem.Problem.
func (m *model) Space() *problem.Space { return m.space }

// Forward implements problem.Problem. It returns an error, because the user's loop evaluates f and
// g.
func (m *model) Forward([]float64) (float64, error) {
	return 0, refuse("an optimizer's problem cannot be evaluated: your own loop runs the graph")
}

// Backward implements problem.Problem. It writes the gradient of the graph's last run and ignores
// the coefficients, because the last run already used them.
func (m *model) Backward(_ []float64, d problem.Vector) error {
	m.space.Write(d, m.gradient)
	return m.err()
}

// err returns the first error of the device's vectors.
func (m *model) err() error {
	if err := m.space.Err(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// load copies the parameters' values and gradients to the model. It writes the values to the device
// only if a value has changed since the last store.
func (m *model) load(parameters []gorgonia.ValueGrad) error {
	at, changed := 0, false
	for i, p := range parameters {
		gradient, err := p.Grad()
		if err != nil {
			return failed(fmt.Sprintf("the gradient of parameter %d", i), err)
		}
		n := max(1, p.Value().Shape().TotalSize())
		fits := at+n <= len(m.x) && p.Value().Dtype() == m.dtype && gradient.Dtype() == m.dtype
		if fits {
			x, scratch := m.x[at:at+n], m.gradient[at:at+n]
			fits = fill(scratch, p.Value()) == nil
			changed = changed || !slices.Equal(x, scratch) // unequal if an element is NaN
			copy(x, scratch)
			fits = fits && fill(scratch, gradient) == nil
		}
		if !fits {
			return refuse("parameter %d holds %v of %v and its gradient %v of %v, want dense tensors of %v and unchanged shapes",
				i, p.Value().Shape(), p.Value().Dtype(), gradient.Shape(), gradient.Dtype(), m.dtype)
		}
		at += n
	}
	if changed {
		m.space.Write(problem.Iterate, m.x)
	}
	return m.err()
}

// store copies the moved parameters back and clears the gradients, which Gorgonia's dual values
// accumulate.
func (m *model) store(parameters []gorgonia.ValueGrad) error {
	m.space.Read(m.x, problem.Iterate)
	if err := m.err(); err != nil {
		return err
	}
	at := 0
	for i, p := range parameters {
		switch data := p.Value().Data().(type) {
		case []float32:
			at += narrowTo(data, m.x[at:])
		case []float64:
			at += narrowTo(data, m.x[at:])
		default:
			return refuse("parameter %d is the scalar %v: give it the shape (1)", i, data)
		}
		gradient, err := p.Grad()
		if err != nil || gradient == nil { // before the first run
			continue
		}
		switch d := gradient.Data().(type) {
		case []float32:
			clear(d)
		case []float64:
			clear(d)
		}
	}
	return nil
}

// narrowTo rounds the first elements of src to dst and returns their number.
func narrowTo[T float32 | float64](dst []T, src []float64) int {
	for i := range dst {
		dst[i] = T(src[i])
	}
	return len(dst)
}
