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
	// Attach gives a parameter, weight or gradient its memory: that of its whole buffer.
	Attach(v View, data []T) error
	// Bind copies a matrix of an input's shape to the input, from the next Forward on. An input
	// whose products read 8-bit values takes a matrix.EightBit of the same scale only: any other
	// matrix gives an error that wraps ErrNotBytes.
	Bind(v View, m matrix.Matrix) error
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

var (
	_ Executor[float32] = (*Reference[float32])(nil)
	_ Executor[float64] = (*Reference[float64])(nil)
)
