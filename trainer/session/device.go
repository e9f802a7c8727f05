package session

import (
	"cmp"
	"fmt"
	"runtime"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cuda/driver"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/trainer/session/internal/device"
)

// Device selects the device that computes. The zero value selects a GPU if the program supports
// GPUs, the machine has a GPU, and the problem is not small; else all cores of the CPU. A problem
// is small if an iteration needs less than 0.4 ms on one thread, by an estimate from the shapes of
// the training rows and of the model. The numbers are float32, and the products are the fastest
// products with float32 accuracy.
type Device struct {
	Kind    DeviceKind
	Ordinal int // number of the GPU, from 0
	Engine  Engine
	SIMD    SIMD
	// Products selects how float32 products with the data are computed.
	Products Products
	// MicroBatch is the number of rows that a GPU processes at a time; 0: all rows.
	MicroBatch int
	// Dtype is tensor.Float32 or tensor.Float64; the zero value is float32. The certificate always
	// uses float64.
	Dtype tensor.Dtype
	// Threads is the number of CPU threads; 0: one for each core. Results do not depend on it.
	Threads int
	// MemoryLimit is the largest memory of the process, in bytes. A session that needs more is refused
	// before the training, by an estimate from below. 0: what the machine and the control groups of
	// the process leave; NoMemoryLimit: no check. The memory of a GPU does not count.
	MemoryLimit int64
	// Memory is the resident memory of the process, in bytes, near which the session moves rows to a
	// file. The features of the user's own file, pictures and the activations of all rows then lie in
	// files, in pages that the system reads and drops, and results have the same bits. Labels, groups
	// and scores stay in memory. Only the CPU's plan supports it. A run whose bound is too small to be
	// kept has a warning with the least bound. 0: all rows are in memory.
	Memory int64
	// MemoryDir is the directory of the files; "": the directory for temporary files. The files have
	// no names, and disappear with the session.
	MemoryDir string
	// KeptDir is the folder in which the values of the columns of a CSV file, the entries of a LIBSVM
	// file and the packed pixels of pictures stay for later sessions; "": they do not stay.
	KeptDir string
	// Ranks are the processes that share the rows of the data: process 0 calls New, the others call
	// Serve with the same options. The engine must be Plan. Each process takes the GPU with its number
	// among the processes on its machine, instead of Ordinal 0. A mini-batch needs a row for each
	// process. nil: this process has all rows.
	Ranks ranks.Collective
	// place is the number of this process among the Ranks on this machine, from 0, and neighbours is
	// their number; 0: only this process.
	place, neighbours int
	// inGo makes the CPU compute products of bfloat16 digits in Go, in tests.
	inGo bool
	// OpenGPU opens the GPU; nil opens a GPU of this machine.
	OpenGPU func(driver.GPUOptions) (driver.GPU, error)
}

// NoMemoryLimit is the value of Device.MemoryLimit that turns the check of the memory off.
const NoMemoryLimit = -1

// DeviceKind is a kind of device. The empty string means a GPU if the machine has one, otherwise
// the CPU.
type DeviceKind string

// The kinds of devices.
const (
	CPU  DeviceKind = "cpu"
	CUDA DeviceKind = "cuda"
)

// Engine selects what runs the graphs. The empty string means Plan.
type Engine string

// The engines.
const (
	// Plan compiles the graphs for the device.
	Plan Engine = "plan"
	// Gorgonia runs Gorgonia's tape machine with gonum's products on the CPU, as a reference.
	Gorgonia Engine = "gorgonia"
)

// SIMD selects the instruction set of the CPU's kernels. The empty string means the widest
// available.
type SIMD string

// The instruction sets.
const (
	AMX    SIMD = "amx"
	AVX512 SIMD = "avx512"
	AVX2   SIMD = "avx2"
	NoSIMD SIMD = "go"
)

// Products selects how float32 products with the data are computed, a string. The empty string
// means the fastest way that is as accurate as Float32.
type Products = plan.Products

// The products. Products of digits are for 8-bit data: they quantize the other factor to two or
// three digits in int8 or bfloat16. Three digits reach the accuracy of float32.
const (
	Float32 = plan.Float32 // "float32"
	Int8    = plan.Int8    // "int8"
	Int8x3  = plan.Int8x3  // "int8x3"
	Int8x2  = plan.Int8x2  // "int8x2"
	TF32    = plan.TF32    // "tf32", GPU only
	BF16x3  = plan.BF16x3  // "bf16x3", on a GPU or a CPU with AMX
	BF16x2  = plan.BF16x2  // "bf16x2", on a GPU or a CPU with AMX
)

// CPUProducts lists the products that a GPU supports, and a CPU with the instructions for them.
func CPUProducts() []Products { return []Products{Float32, Int8, Int8x3, Int8x2, BF16x3, BF16x2} }

// GPUProducts lists the products that only a GPU supports.
func GPUProducts() []Products { return []Products{TF32} }

// flag returns the value of ppal's flag --device for the device: "auto", "cpu", "cuda:1".
func (d Device) flag() string {
	switch {
	case d.Kind == "":
		return "auto"
	case d.Ordinal > 0:
		return fmt.Sprintf("%s:%d", d.Kind, d.Ordinal)
	}
	return string(d.Kind)
}

// UsedThreads returns the number of CPU threads that the device uses.
func (d Device) UsedThreads() int { return cmp.Or(d.Threads, runtime.GOMAXPROCS(0)) }

// validate refuses unknown values.
func (d Device) validate() error {
	refuse := func(option string, value any) error {
		return &OptionError{Option: option, Problem: fmt.Sprintf("is %q, which is not known", value)}
	}
	switch {
	case d.Kind != "" && d.Kind != CPU && d.Kind != CUDA:
		return refuse("device", d.Kind)
	case d.Engine != "" && d.Engine != Plan && d.Engine != Gorgonia:
		return refuse("engine", d.Engine)
	case !d.Products.Known():
		return refuse("products", d.Products)
	case d.Dtype.Type != nil && d.Dtype != tensor.Float32 && d.Dtype != tensor.Float64:
		return refuse("dtype", d.Dtype)
	}
	return nil
}

// resolved returns the options with which the room opens the device.
func (d Device) resolved() device.Options {
	return device.Options{
		Kind: string(d.Kind), Ordinal: d.Ordinal, Tape: d.Engine == Gorgonia, SIMD: string(d.SIMD), Products: d.Products,
		MicroBatch: d.MicroBatch, Dtype: d.dtype(), Threads: d.Threads, MemoryLimit: d.MemoryLimit, Memory: d.Memory,
		MemoryDir: d.MemoryDir, KeptDir: d.KeptDir, Ranks: d.Ranks, Place: d.place, Neighbours: d.neighbours, InGo: d.inGo,
		OpenGPU: d.OpenGPU,
		Refuse:  func(option, problem string) error { return &OptionError{Option: option, Problem: problem} },
	}
}

// OpenCPU opens the CPU device. Products that only a GPU has are automatic on the CPU. If a GPU
// trains (Kind is CUDA), the CPU only measures: with its own fastest products, or with Float32 if
// these are the products. The error is an *OptionError if the CPU lacks the instruction set SIMD,
// and a *plan.ProductsError if a CPU that trains lacks the products.
func (d Device) OpenCPU() (*cpu.Device, error) { return d.resolved().OpenCPU() }

// dtype returns the type of the numbers.
func (d Device) dtype() tensor.Dtype {
	if d.Dtype.Type == nil {
		return tensor.Float32
	}
	return d.Dtype
}
