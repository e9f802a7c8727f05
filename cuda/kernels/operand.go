package kernels

import "ppal/cuda/driver"

// Operand is a row-major matrix on the device: element (i, j) is element i Stride + j from At on. The zero value is no matrix.
type Operand struct {
	At                 driver.Pointer
	Rows, Cols, Stride int
}

// given says whether there is a matrix.
func (o Operand) given() bool { return o.At != 0 }

// Queue takes launches. They run in order.
type Queue interface {
	Launch(l *driver.Launch) error
	Clear(p driver.Pointer, bytes int) error
	// Scratch returns room for partial results, valid until the next call of a launching function of this package: they share it.
	Scratch(bytes int) (driver.Pointer, error)
	// Counters returns n counters of 32 bits that are 0, and that every launch leaves 0: by them the last block to finish knows
	// itself, and adds the others' partial sums.
	Counters(n int) (driver.Pointer, error)
}

// Number is a scalar of a launch: Value, or what is in device memory at At when the kernel runs, a float64. What is captured in a graph
// takes from memory what changes between its runs.
type Number struct {
	Value float64
	At    driver.Pointer
}

// Value is a number that is known.
func Value(x float64) Number { return Number{Value: x} }

// At is a number in device memory.
func At(p driver.Pointer) Number { return Number{At: p} }
