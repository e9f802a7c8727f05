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
	Close() error
}
