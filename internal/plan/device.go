package plan

import (
	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

// Device compiles plans into something that runs them. The memory is the host's; a device elsewhere is an engine of its own.
type Device interface {
	Compile32(p *Plan) (Executor[float32], error)
	Compile64(p *Plan) (Executor[float64], error)
	// Passes32 and Passes64 return the passes of one problem's primal steps, on the device's threads.
	// Their results depend on the level of the kernels only, not on the number of threads.
	Passes32() problem.Passes[float32]
	Passes64() problem.Passes[float64]
}

// Executor runs one plan.
type Executor[T Float] interface {
	// Bind gives a parameter, leaf, weight or gradient its memory: that of its whole buffer.
	Bind(v View, data []T) error
	// Forward computes the objective, the constraints and the watched values.
	Forward() error
	// Backward computes the gradients for weights of the objective and then the constraints, as many as the weights' nodes have
	// elements.
	Backward(weights []float64) error
	// Contents copies a view's values, row after row.
	Contents(v View) []T
	// Read copies them to the first elements of dst, and allocates nothing.
	Read(v View, dst []float64)
}

// RowReader is an Executor that can give data matrices back.
type RowReader interface {
	// Rows returns what the executor made of an input's data matrix, rounded to the plan's dtype, nil where it keeps no such form. It
	// shares the executor's memory: after the input's next Bind its rows are those of what was bound.
	Rows(v View) matrix.Matrix
}

var (
	_ Executor[float32] = (*Reference[float32])(nil)
	_ Executor[float64] = (*Reference[float64])(nil)
)
