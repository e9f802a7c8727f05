package kernels

import "ppal/cuda/driver"

// Operand is a row-major matrix on the device: element (i, j) is element i Stride + j from At on.
type Operand struct {
	At                 driver.Pointer
	Rows, Cols, Stride int
}

// Queue takes launches. They run in order.
type Queue interface {
	Launch(l *driver.Launch) error
	Clear(p driver.Pointer, bytes int) error
	// Scratch returns room for partial results, valid until the next call of a launching function of this package: they share it.
	Scratch(bytes int) (driver.Pointer, error)
}
