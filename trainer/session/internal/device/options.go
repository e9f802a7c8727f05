package device

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/cuda/driver"
	"ppal/internal/plan"
	"ppal/internal/ranks"
)

// Options say which devices a run opens, with the defaults filled in.
type Options struct {
	Kind        string // kindCPU, kindCUDA; "": a GPU if there is one, otherwise the CPU
	Ordinal     int    // number of the GPU, from 0
	Tape        bool   // Gorgonia's tape machine runs the graphs
	SIMD        string // the instruction set of the CPU's kernels; "": the widest available
	Products    plan.Products
	MicroBatch  int // rows that a GPU processes at a time; 0: all
	Dtype       tensor.Dtype
	Threads     int              // of the CPU; 0: one for each core
	MemoryLimit int64            // the largest memory of the process, in bytes; 0: what the machine leaves; negative: no limit
	Memory      int64            // the resident memory beyond which rows lie in files, in bytes; 0: all rows are in memory
	MemoryDir   string           // the directory of the files; "": the directory for temporary files
	KeptDir     string           // the folder of the rows that stay for later runs; "": they do not stay
	Ranks       ranks.Collective // the processes that share the rows; nil: only this process
	// Place is the number of this process among the Ranks on this machine, from 0, and Neighbours is
	// their number; 0: only this process.
	Place, Neighbours int
	InGo              bool // the CPU computes products of bfloat16 digits in Go, in tests
	// OpenGPU opens the GPU; nil opens a GPU of this machine.
	OpenGPU func(driver.GPUOptions) (driver.GPU, error)
	// Refuse returns the error of a refused option.
	Refuse func(option, problem string) error
}

// The kinds of devices.
const (
	CPU  = "cpu"
	CUDA = "cuda"
)

// onGPUOnly reports whether the CPU does not support the products.
func onGPUOnly(p plan.Products) bool { return p == plan.TF32 }

// OpenCPU opens the CPU device. Products that only a GPU has are automatic on the CPU. If a GPU
// trains (Kind is CUDA), the CPU only measures: with its own fastest products, or with Float32 if
// these are the products. The error refuses an option if the CPU lacks the instruction set SIMD,
// and is a *plan.ProductsError if a CPU that trains lacks the products.
func (o Options) OpenCPU() (*cpu.Device, error) {
	level, err := o.Level()
	if err != nil {
		return nil, err
	}
	opened, err := cpu.New(level, o.Threads)
	automatic := o.Products == plan.AutoProducts || onGPUOnly(o.Products) || o.Kind == CUDA && o.Products != plan.Float32
	if err == nil && o.InGo {
		opened = opened.WithBFloat16InGo()
	}
	if err != nil || automatic {
		return opened, err
	}
	return opened.With(o.Products)
}

// Level returns the Level of the CPU's kernels.
func (o Options) Level() (kernel.Level, error) {
	if o.SIMD == "" {
		return kernel.Best(), nil
	}
	l, err := kernel.ParseLevel(o.SIMD)
	if err == nil && l.Supported() {
		return l, nil
	}
	problem := fmt.Sprintf("is %q, which is not known", o.SIMD)
	if err == nil {
		problem = fmt.Sprintf("is %v, which this machine does not support", l)
		if lack := l.Lack(); lack != nil {
			problem += fmt.Sprintf(": %v", lack)
		}
	}
	want := "auto"
	for _, supported := range slices.Backward(kernel.Levels()) {
		want += " or " + supported.String()
	}
	return 0, o.Refuse("simd", problem+"; want "+want)
}

// productsError turns a device's error about its products into the error of a refused option.
func (o Options) productsError(err error) (_ error, refused bool) {
	var unsupported *plan.ProductsError
	if errors.As(err, &unsupported) {
		return o.Refuse("products", fmt.Sprintf("is %v, which needs %s; %s, want auto or float32",
			unsupported.Products, unsupported.Needs, unsupported.Found)), true
	}
	return err, false
}
