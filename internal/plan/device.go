package plan

import (
	"errors"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

// Device runs plans and the primal steps on their parameters. internal/cpu and cuda have one each.
type Device interface {
	// NewVectors returns vectors in the device's memory, of float32 or float64, whose iterate is x.
	// Groups are the ends of the groups of the GroupMaps that steps use, nil for no groups.
	NewVectors(t tensor.Dtype, x matrix.Matrix, groups []int) (problem.Vectors, error)
	// Compile returns a program that runs the plan at the iterate of x. The vectors are the device's,
	// of the plan's dtype; the plan's parameters are consecutive parts of a vector. The program copies
	// the plan's data, except for the entries of sparse data and for data in the device's own layout.
	Compile(p *Plan, x problem.Vectors) (Program, error)
	// Products returns how the device multiplies 8-bit data with that many columns in plans of
	// float32.
	Products(cols int) Products
}

// Program is a compiled plan. Its methods are not called at the same time.
type Program interface {
	// Forward computes the objective, the constraints and the watched values at the iterate. It
	// returns f and writes g, as many numbers as the plan's constraints have elements.
	Forward(g []float64) (f float64, err error)
	// Backward writes the gradient for the coefficients of the objective and then of the constraints
	// to the vector d, from what the last Forward left.
	Backward(coefficients []float64, d problem.Vector) error
	// Contents writes the elements of a view, row after row, to dst: of the objective, a constraint or
	// a watched value.
	Contents(v View, dst []float64) error
	// Bind copies a matrix of an input's shape to the input, from the next Forward on. An input
	// whose products read 8-bit values takes a matrix.EightBit of the same scale only: any other
	// matrix gives an error that wraps ErrNotBytes.
	Bind(v View, m matrix.Matrix) error
	// Stored returns the 8-bit data of an input in the program's own memory on the host, with the
	// same elements as the plan's data, which the caller can then free. Stored returns nil for other
	// inputs, and if the program does not store the values exactly on the host.
	Stored(v View) matrix.EightBit
	// Products names how products with the data are computed: a kind with digits, or the dtype.
	Products() string
}

// ErrNotBytes is wrapped by the error of a Bind that gives other rows than 8-bit values with the
// scale of the data to products that read 8-bit values.
var ErrNotBytes = errors.New("rows are not 8-bit values with the scale of the data")
