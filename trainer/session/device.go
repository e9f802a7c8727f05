package session

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"ppal/internal/option"
	"ppal/internal/plan"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/session/internal/build"
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
	Ranks Processes
	// place is the number of this process among the Ranks on this machine, from 0, and neighbours is
	// their number; 0: only this process.
	place, neighbours int
	// inGo makes the CPU compute products of bfloat16 digits in Go, in tests.
	inGo bool
	// OpenGPU opens the GPU; nil: graph.OpenGPU.
	OpenGPU func(graph.GPUOptions) (graph.GPU, error)
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

// Products selects how float32 products with the data are computed. The empty string means the
// fastest way that is as accurate as Float32.
type Products string

// The products. Products of digits are for 8-bit data: they quantize the other factor to two or
// three digits in int8 or bfloat16. Three digits reach the accuracy of float32.
const (
	Float32 Products = "float32" // in float32
	Int8    Products = "int8"    // two digits of int8 at first, three when the steps need them
	Int8x3  Products = "int8x3"  // three digits of int8: float32's accuracy
	Int8x2  Products = "int8x2"  // two digits of int8
	TF32    Products = "tf32"    // 10 bits of mantissa; on a GPU only
	BF16x3  Products = "bf16x3"  // three digits of bfloat16; on a GPU, or a CPU with AMX
	BF16x2  Products = "bf16x2"  // two digits of bfloat16; on a GPU, or a CPU with AMX
)

// CPUProducts lists the products that a GPU supports, and a CPU with the instructions for them.
func CPUProducts() []Products { return []Products{Float32, Int8, Int8x3, Int8x2, BF16x3, BF16x2} }

// GPUProducts lists the products that only a GPU supports.
func GPUProducts() []Products { return []Products{TF32} }

// OpenCPU opens the CPU device. Products that only a GPU has are automatic on the CPU. If a GPU
// trains (Kind is CUDA), the CPU only measures: with its own fastest products, or with Float32 if
// these are the products. The error is an *OptionError if the CPU lacks the instruction set SIMD,
// and a *plan.ProductsError if a CPU that trains lacks the products.
func (d Device) OpenCPU() (graph.Device, error) {
	opened, err := d.resolved().OpenCPU()
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// resolved returns the options with which package build opens the device.
func (d Device) resolved() build.Options {
	return build.Options{
		Kind: string(d.Kind), Ordinal: d.Ordinal, Tape: d.Engine == Gorgonia, SIMD: string(d.SIMD), Products: plan.Products(d.Products),
		MicroBatch: d.MicroBatch, Dtype: d.dtype(), Threads: d.Threads, MemoryLimit: d.MemoryLimit, Memory: d.Memory,
		MemoryDir: d.MemoryDir, KeptDir: d.KeptDir, Ranks: d.Ranks, Place: d.place, Neighbours: d.neighbours, InGo: d.inGo,
		OpenGPU: d.OpenGPU,
		Refuse:  func(option, problem string) error { return &OptionError{Option: option, Problem: problem} },
	}
}

// dtype returns the type of the numbers.
func (d Device) dtype() tensor.Dtype {
	if d.Dtype.Type == nil {
		return tensor.Float32
	}
	return d.Dtype
}

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
	case !plan.Products(d.Products).Known():
		return refuse("products", d.Products)
	case d.Dtype.Type != nil && d.Dtype != tensor.Float32 && d.Dtype != tensor.Float64:
		return refuse("dtype", d.Dtype)
	}
	return nil
}

// options returns the settings of the device, bound to its fields: the flags of ppal train.
func (d *Device) options() []*option.Option {
	return []*option.Option{
		option.Custom("device", "auto|cpu|cuda[:N]", d.setDevice, d.flag,
			"compute on the CPU or on the N-th NVIDIA GPU (several GPUs: one for each process, see docs/guides/processes.md);"+
				" auto takes a GPU that this program supports and finds, and the CPU for small problems", "auto", "cpu", "cuda").
			Or("auto"),
		option.Choice("engine", &d.Engine, "plan: run this program's kernels; gorgonia: run Gorgonia's own ops, the reference", Plan, Gorgonia),
		option.AutoChoice("simd", &d.SIMD, "restrict the CPU kernels to these instructions; auto takes the widest",
			AMX, AVX512, AVX2, NoSIMD).
			With(option.OnPlan()),
		option.AutoChoice("products", &d.Products,
			"choose the arithmetic of float32 products with the data: float32; int8 or bfloat16 factors of three digits, as accurate as float32,"+
				" or of two; int8: two digits at first, three when the steps need them; tf32; auto takes the fastest kind that is as accurate"+
				" as float32; see docs/reference/products.md",
			append(CPUProducts(), GPUProducts()...)...).As("KIND"),
		option.Count("micro-batch", &d.MicroBatch, option.AtLeast(0),
			"let the GPU work on N rows at a time, to save memory; the sums over all rows stay the same; 0: all rows").
			Or("0").In("rows").With(option.OnPlan()),
		option.Words("dtype", func() string { return d.dtype().String() }, func(word string) {
			if d.Dtype = tensor.Float32; word == tensor.Float64.String() {
				d.Dtype = tensor.Float64
			}
		}, "choose the numbers' type; the final certificate is always in float64", tensor.Float32.String(), tensor.Float64.String()).For(tensor.Float64.String(), option.If("model", models.KindScores)),
		option.Count("threads", &d.Threads, option.AtLeast(0), "use N threads; 0: one for each core; results do not depend on N").Or("0"),
		option.Custom("memory-limit", "SIZE|auto|none", d.setMemoryLimit, d.memoryFlag,
			"refuse a run that needs more memory than SIZE, such as 3GB or 800MiB, while it reads rows or before it trains; auto: what the machine has", "auto", "none").
			Or("auto"),
		option.Custom("memory", "SIZE|all", d.setMemory, d.rowsFlag,
			"keep rows of your own file, or pictures, that go beyond SIZE of memory in files beside the run, with the same results; ppal train "+
				"keeps the rows in ppal-rows/ for later runs; all: all rows in memory", "all").
			Or("all").With(option.OnPlan()),
	}
}

// settings returns the settings of the device, and names what no flag expresses.
func (d Device) settings() (flags []*option.Option, beyond []string) {
	if d.Kind == "" && d.Ordinal > 0 {
		beyond = append(beyond, "the number of a GPU with automatic devices")
	}
	if d.OpenGPU != nil {
		beyond = append(beyond, "the GPU that the program opens")
	}
	d.Engine = cmp.Or(d.Engine, Plan)
	return d.options(), beyond
}

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

// setDevice reads device.
func (d *Device) setDevice(text string) error {
	kind, word, numbered := strings.Cut(text, ":")
	number, err := strconv.ParseUint(word, 10, 16)
	d.Ordinal = 0
	switch {
	case text == "auto":
		d.Kind = ""
	case text == string(CPU):
		d.Kind = CPU
	case kind == string(CUDA) && !numbered:
		d.Kind = CUDA
	case kind == string(CUDA) && err == nil:
		d.Kind, d.Ordinal = CUDA, int(number)
	case kind == string(CUDA) && (word == "all" || strings.Contains(word, ",")):
		return errors.New("a process uses one GPU; for several, start one process for each: mpirun -n 2 ppal-mpi-gpu train --device cuda (see docs/guides/processes.md)")
	default:
		return errors.New("must be auto, cpu, cuda, or the number of a GPU as in cuda:1")
	}
	return nil
}

// memoryFlag returns the value of ppal's flag --memory-limit for the device: "auto", "none" or a
// number of bytes, such as "3000000000B".
func (d Device) memoryFlag() string {
	switch {
	case d.MemoryLimit == 0:
		return "auto"
	case d.MemoryLimit < 0:
		return "none"
	}
	return fmt.Sprintf("%dB", d.MemoryLimit)
}

// setMemoryLimit reads memory-limit.
func (d *Device) setMemoryLimit(text string) error {
	switch text {
	case "auto":
		d.MemoryLimit = 0
		return nil
	case "none":
		d.MemoryLimit = NoMemoryLimit
		return nil
	}
	n, ok := sizeOf(text)
	if !ok {
		return errors.New("must be a size such as 3GB or 800MiB, auto or none")
	}
	d.MemoryLimit = n
	return nil
}

// rowsFlag returns the value of ppal's flag --memory for the device: "all" or a number of bytes.
func (d Device) rowsFlag() string {
	if d.Memory == 0 {
		return "all"
	}
	return fmt.Sprintf("%dB", d.Memory)
}

// leastMemory is the least value of memory: the program, its buffers and two windows of rows.
const leastMemory = 64 << 20

// setMemory reads memory.
func (d *Device) setMemory(text string) error {
	if text == "all" {
		d.Memory = 0
		return nil
	}
	n, ok := sizeOf(text)
	if !ok || n < leastMemory {
		return errors.New("must be a size of at least 64MiB, such as 2GiB, or all")
	}
	d.Memory = n
	return nil
}

// units are the units of a size in bytes.
var units = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// sizeOf reads a size in bytes.
func sizeOf(text string) (bytes int64, ok bool) {
	for _, u := range units {
		number, has := strings.CutSuffix(text, u.name)
		if !has {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x*u.bytes >= 1 && x*u.bytes < 1<<62) {
			return 0, false
		}
		return int64(x * u.bytes), true
	}
	return 0, false
}
