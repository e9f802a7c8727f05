package kernels

import "ppal/internal/cuda/driver"

// Operand is a row-major matrix on the device. Element (i, j) is i Stride + j elements after At.
// The zero value means that the matrix is not given.
type Operand struct {
	At                 driver.Pointer
	Rows, Cols, Stride int
}

// isSet reports whether the operand is given.
func (o Operand) isSet() bool { return o.At != 0 }

// Queue takes launches, which run in order.
type Queue interface {
	Launch(l *driver.Launch) error
	Clear(p driver.Pointer, bytes int) error
	// Scratch returns memory for partial results. All launches share the memory, so it is valid until
	// the next launch.
	Scratch(bytes int) (driver.Pointer, error)
	// Counters returns n counters of 32 bits that are 0; every launch leaves them 0. The last block to
	// finish a launch recognises itself by a counter, and adds the partial sums of all blocks.
	Counters(n int) (driver.Pointer, error)
}

// Number is a scalar argument: Value or, if At is not 0, the float64 in device memory at At when
// the kernel runs. A captured launch reads from memory the numbers that change between runs of the
// graph.
type Number struct {
	Value float64
	At    driver.Pointer
}

// Value returns a number that is known at the launch.
func Value(x float64) Number { return Number{Value: x} }

// At returns a number in device memory.
func At(p driver.Pointer) Number { return Number{At: p} }
