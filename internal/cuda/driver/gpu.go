package driver

import "ppal/internal/plan"

// GPU is an open GPU that trains. A program without the build tag gpu has no GPU.
type GPU interface {
	plan.Device
	// Info describes the device.
	Info() Info
	// PeakBytes returns the peak of the allocated device memory, in bytes.
	PeakBytes() int64
	// Among returns a device that shares the rows with the GPUs of other processes.
	Among(p plan.Processes) plan.Device
	// Prepare loads compiled kernels that most plans launch, until stop returns true. Kernels that
	// are not loaded in advance are loaded by their first launch.
	Prepare(stop func() bool)
	Close() error
}
