package build

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/trainer/graph"
)

// Options say which devices a run opens, with the defaults filled in.
type Options struct {
	Kind        string // CPU or CUDA; "": a GPU if one can be opened, otherwise the CPU
	Ordinal     int    // number of the GPU, from 0
	Tape        bool   // Gorgonia's tape machine runs the graphs
	SIMD        string // the instruction set of the CPU's kernels; "": the widest available
	Products    plan.Products
	MicroBatch  int // rows that a GPU processes at a time; 0: all
	Dtype       tensor.Dtype
	Threads     int              // of the CPU; 0: one for each core
	MemoryLimit int64            // largest memory of the process, in bytes; 0: the available memory; negative: no limit
	Memory      int64            // bound on the resident memory, in bytes; 0: no bound, and all rows are in memory
	MemoryDir   string           // directory of the mapped files; "": the directory for temporary files
	KeptDir     string           // folder of the rows that ppal keeps for later runs; "": none
	Ranks       ranks.Collective // the processes that share the rows; nil: only this process
	// Place is the number of this process among the processes on this machine, from 0. Neighbours
	// is the number of these processes; 0: only this process.
	Place, Neighbours int
	InGo              bool // the CPU computes products of bfloat16 digits in Go, in tests
	// OpenGPU opens the GPU; nil: graph.OpenGPU.
	OpenGPU func(graph.GPUOptions) (graph.GPU, error)
	// Refuse returns the error of an option with a problem. The text of problem continues the
	// option's name.
	Refuse func(option, problem string) error
}

// The kinds of devices.
const (
	CPU  = "cpu"
	CUDA = "cuda"
)

// onGPUOnly reports whether the CPU does not support the products.
func onGPUOnly(p plan.Products) bool { return p == plan.TF32 }

// OpenCPU opens the CPU device. Products that only a GPU supports become automatic products. If a
// GPU trains (Kind is CUDA), the CPU only measures, with Float32 if Products is Float32, and
// otherwise with its fastest products. A CPU without the instruction set SIMD is an error of
// Refuse. Products that a training CPU does not support are a *plan.ProductsError.
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

// Level returns the level of the CPU's kernels: the value of SIMD, or the best level of this
// machine. An unknown or unsupported level is an error of Refuse.
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

// productsError converts a *plan.ProductsError to an error of Refuse. refused is false for other
// errors.
func (o Options) productsError(err error) (_ error, refused bool) {
	var unsupported *plan.ProductsError
	if errors.As(err, &unsupported) {
		return o.Refuse("products", fmt.Sprintf("is %v, which needs %s; %s, want auto or float32",
			unsupported.Products, unsupported.Needs, unsupported.Found)), true
	}
	return err, false
}
