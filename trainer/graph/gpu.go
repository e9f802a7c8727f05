package graph

import (
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cuda/driver"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// Device is the CPU (session.Device.OpenCPU) or a GPU (OpenGPU). Several problems may share a
// device, but only one may run at a time. Only ppal implements Device: On refuses another
// implementation.
type Device interface {
	// NewVectors returns float32 or float64 vectors in the device's memory with the iterate x.
	// groups holds the ends of the groups that the steps' GroupMaps use, or nil if there are no
	// groups.
	NewVectors(t tensor.Dtype, x matrix.Matrix, groups []int) (problem.Vectors, error)
}

// GPU is an open GPU.
type GPU interface {
	Device
	// PeakBytes returns the most memory of the GPU that was allocated at one time.
	PeakBytes() int64
	// Close waits for the GPU and releases everything. The GPU's problems must not be used
	// afterwards.
	Close() error
}

// GPUOptions say which GPU to open and how the GPU computes. The zero value is the first GPU with
// automatic products.
type GPUOptions struct {
	Ordinal    int    // number of the GPU, from 0
	Products   string // of float32 problems, a value of session.Products; "": automatic
	MicroBatch int    // rows of the data that the GPU processes at a time; 0: all
	// Place is the number of this process among the processes on this machine that share the rows,
	// from 0, and Neighbours is their number; 0: one process has all rows. Each of several
	// processes opens the GPU with the number of its place, unless Ordinal is not 0.
	Place, Neighbours int
}

// ErrNoGPU is the error without a usable GPU.
var ErrNoGPU = driver.ErrUnavailable

// OpenGPU opens an NVIDIA GPU. In a program without the build tag gpu, or on a machine without a
// GPU, the error wraps ErrNoGPU and says what is missing.
func OpenGPU(o GPUOptions) (GPU, error) { return openGPU(o) }

// errForeign refuses the devices that planned does not know.
var errForeign = refuse("the device is nil, or none of ppal's: open it with graph.OpenGPU or session.Device.OpenCPU")

// planned returns the device of a plan; nil: d is nil, or another implementation.
func planned(d Device) plan.Device {
	device, _ := d.(plan.Device)
	return device
}
