package plan

import (
	"errors"
	"fmt"

	"ppal/datasets/matrix"
)

// Reference runs a plan with plain loops, a region block by block. It defines the results of every
// device, and is written for clarity, not for speed.
type Reference[T Float] struct {
	*Memory[T]
	plan  *Plan
	block int
}

// NewReference returns a Reference whose parameters and leaves share the memory of their nodes'
// values. A leaf without a value is zero until Bind. block is the number of rows that regions run
// at a time, or 0 for all rows.
func NewReference[T Float](p *Plan, block int) (*Reference[T], error) {
	m, err := newMemory[T](p)
	if err != nil {
		return nil, err
	}
	if block <= 0 {
		for _, region := range append(p.Forward, p.Backward...) {
			block = max(block, region.Rows)
		}
	}
	scratch := allocate[T](p.Scratch, block)
	for i, b := range p.Buffers {
		if b.Class == Local {
			m.Data[i] = scratch[b.Slot][:block*b.Cols]
		}
		if data := p.DataOf(i); data != nil {
			m.Data[i] = make([]T, b.Len())
			matrix.Widen(m.Data[i], data, 0, b.Rows)
		}
	}
	return &Reference[T]{m, p, block}, nil
}

// newMemory allocates a plan's buffers, except for local buffers and data matrices (Plan.Data).
// Parameters and leaves share the memory of their nodes' values.
func newMemory[T Float](p *Plan) (*Memory[T], error) {
	zeros := func(n int) ([]T, error) { return make([]T, n), nil }
	m, err := NewMemoryOf(p, zeros)
	if err != nil {
		return nil, err
	}
	return m, m.MakeSlots(p, zeros)
}

// NewMemoryOf is newMemory without the slots of kept and temporary buffers (MakeSlots). The
// function returns n zeros.
func NewMemoryOf[T Float](p *Plan, zeros func(n int) ([]T, error)) (*Memory[T], error) {
	m := &Memory[T]{make([][]T, len(p.Buffers)), make([]int, len(p.Buffers))}
	for i, b := range p.Buffers {
		switch b.Class {
		case Kept, Temporary, Local:
		case Constant:
			m.Data[i] = make([]T, b.Len())
			for k, x := range b.Values {
				m.Data[i][k] = T(x)
			}
		default:
			if p.DataOf(i) != nil {
				continue
			}
			data, err := nodeValue(b, zeros)
			if err != nil {
				return nil, err
			}
			m.Data[i] = data
		}
	}
	return m, nil
}

// MakeSlots gives the kept and temporary buffers memory of the function zeros.
func (m *Memory[T]) MakeSlots(p *Plan, zeros func(n int) ([]T, error)) error {
	slots := make([][]T, len(p.Slots))
	for i, n := range p.Slots {
		var err error
		if slots[i], err = zeros(n); err != nil {
			return err
		}
	}
	for i, b := range p.Buffers {
		if b.Class == Kept || b.Class == Temporary {
			m.Data[i] = slots[b.Slot][:b.Len()]
		}
	}
	return nil
}

func allocate[T Float](sizes []int, times int) [][]T {
	slots := make([][]T, len(sizes))
	for i, n := range sizes {
		slots[i] = make([]T, n*times)
	}
	return slots
}

// nodeValue returns the memory of a node's value, or zeros if the node has no value.
func nodeValue[T Float](b Buffer, zeros func(n int) ([]T, error)) ([]T, error) {
	if b.Node == nil || b.Class == Gradient || b.Node.Value() == nil {
		return zeros(b.Len())
	}
	switch x := b.Node.Value().Data().(type) {
	case T:
		return []T{x}, nil
	case []T:
		if len(x) == b.Len() {
			return x, nil
		}
	}
	return nil, fmt.Errorf("plan: the value of %s is not a dense matrix %d x %d of the plan's type", b.Name, b.Rows, b.Cols)
}

// CheckAttach returns an error if n elements do not fit the buffer of v.
func (p *Plan) CheckAttach(v View, n int) error {
	switch b := p.Buffers[v.Buffer]; {
	case b.Class != Parameter && b.Class != Coefficient && b.Class != Gradient:
		return fmt.Errorf("plan: memory cannot be attached to a %v buffer", b.Class)
	case n != b.Len():
		return fmt.Errorf("plan: %d elements for %s, want %d x %d", n, b.Name, b.Rows, b.Cols)
	}
	return nil
}

// CheckBind returns an error if v is not an input or m has another shape.
func (p *Plan) CheckBind(v View, m matrix.Matrix) error {
	b := p.Buffers[v.Buffer]
	if b.Class != Leaf {
		return fmt.Errorf("plan: a %v buffer cannot be bound", b.Class)
	}
	if rows, cols := m.Dims(); rows != b.Rows || cols != b.Cols {
		return fmt.Errorf("plan: a %d x %d matrix for %s, want %d x %d", rows, cols, b.Name, b.Rows, b.Cols)
	}
	return nil
}

// SetCoefficients writes the coefficients of the objective and then of the constraints to their
// buffers.
func (m *Memory[T]) SetCoefficients(p *Plan, coefficients []float64) error {
	for _, v := range p.Coefficients {
		data := m.Data[v.Buffer]
		if len(data) > len(coefficients) {
			return errors.New("plan: too few coefficients")
		}
		for i := range data {
			data[i] = T(coefficients[i])
		}
		coefficients = coefficients[len(data):]
	}
	return nil
}

// Attach sets the memory of a parameter, weight or gradient. data has the size of the buffer.
func (r *Reference[T]) Attach(v View, data []T) error {
	if err := r.plan.CheckAttach(v, len(data)); err != nil {
		return err
	}
	r.Data[v.Buffer] = data
	return nil
}

// Bind copies a matrix to an input.
func (r *Reference[T]) Bind(v View, m matrix.Matrix) error {
	if err := r.plan.CheckBind(v, m); err != nil {
		return err
	}
	b := r.plan.Buffers[v.Buffer]
	r.Data[v.Buffer] = make([]T, b.Len()) // the old memory may belong to the input node's value
	matrix.Widen(r.Data[v.Buffer], m, 0, b.Rows)
	return nil
}

// Forward computes the objective, the constraints and the watched values.
func (r *Reference[T]) Forward() error { return r.run(r.plan.Forward) }

// Backward computes the gradients for the coefficients of the objective and then of the
// constraints. coefficients has as many elements as the coefficients' nodes.
func (r *Reference[T]) Backward(coefficients []float64) error {
	if err := r.SetCoefficients(r.plan, coefficients); err != nil {
		return err
	}
	return r.run(r.plan.Backward)
}

func (r *Reference[T]) run(regions []Region) error {
	for _, region := range regions {
		if err := r.region(region); err != nil {
			return err
		}
	}
	return nil
}

// region runs all steps on one block of rows before the next block. A region without rows runs each
// step as a whole.
func (r *Reference[T]) region(region Region) error {
	sums := make([][]float64, len(region.Steps))
	for i, s := range region.Steps {
		sums[i] = make([]float64, Partials(s))
		if region.Rows == 0 {
			if err := Run(s, r.Memory, 0, Rows(s), sums[i]); err != nil {
				return err
			}
			Finish(s, r.Memory, sums[i])
		}
	}
	for lo := 0; lo < region.Rows; lo += r.block {
		for b, buffer := range r.plan.Buffers {
			if buffer.Class == Local {
				r.First[b] = lo
			}
		}
		for i, s := range region.Steps {
			if err := Run(s, r.Memory, lo, min(lo+r.block, region.Rows), sums[i]); err != nil {
				return err
			}
		}
	}
	if region.Rows > 0 {
		for i, s := range region.Steps {
			Finish(s, r.Memory, sums[i])
		}
	}
	return nil
}
