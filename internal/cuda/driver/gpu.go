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

// GPUOptions say which GPU a session opens and how the GPU computes.
type GPUOptions struct {
	Ordinal    int // number of the GPU, from 0
	Products   plan.Products
	MicroBatch int // rows of the data that the GPU processes at a time; 0: all
	// Place is the number of this process among the processes on this machine that share the rows,
	// from 0, and Neighbours is their number; 0: one process has all rows.
	Place, Neighbours int
}
