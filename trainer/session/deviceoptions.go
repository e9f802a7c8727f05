package session

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"ppal/internal/option"
)

// OnPlan is the condition that the run uses the plan's engine.
func OnPlan() option.Condition { return option.If("engine", string(Plan)) }

// Options returns the settings of the device, bound to its fields: the flags of ppal train.
func (d *Device) Options() []*option.Option {
	return []*option.Option{
		option.Custom("device", "auto|cpu|cuda[:N]", d.setDevice, d.flag,
			"compute on the CPU or on the N-th NVIDIA GPU (several GPUs: one for each process, see docs/guides/processes.md);"+
				" auto takes a GPU that this program supports and finds, and the CPU for small problems", "auto", "cpu", "cuda").
			Or("auto"),
		option.Choice("engine", &d.Engine, "plan: run this program's kernels; gorgonia: run Gorgonia's own ops, the reference", Plan, Gorgonia),
		option.AutoChoice("simd", &d.SIMD, "restrict the CPU kernels to these instructions; auto takes the widest",
			AMX, AVX512, AVX2, NoSIMD).
			With(OnPlan()),
		option.AutoChoice("products", &d.Products,
			"choose the arithmetic of float32 products with the data: float32; int8 or bfloat16 factors of three digits, as accurate as float32,"+
				" or of two; int8: two digits at first, three when the steps need them; tf32; auto takes the fastest kind that is as accurate"+
				" as float32; see docs/reference/products.md",
			append(CPUProducts(), GPUProducts()...)...).As("KIND"),
		option.Count("micro-batch", &d.MicroBatch, option.AtLeast(0),
			"let the GPU work on N rows at a time, to save memory; the sums over all rows stay the same; 0: all rows").
			Or("0").In("rows").With(OnPlan()),
		option.Words("dtype", func() string { return d.dtype().String() }, func(word string) {
			if d.Dtype = tensor.Float32; word == tensor.Float64.String() {
				d.Dtype = tensor.Float64
			}
		}, "choose the numbers' type; the final certificate is always in float64", tensor.Float32.String(), tensor.Float64.String()),
		option.Count("threads", &d.Threads, option.AtLeast(0), "use N threads; 0: one for each core; results do not depend on N").Or("0"),
		option.Custom("memory-limit", "SIZE|auto|none", d.setMemoryLimit, d.memoryFlag,
			"refuse a run that needs more memory than SIZE, such as 3GB or 800MiB, while it reads rows or before it trains; auto: what the machine has", "auto", "none").
			Or("auto"),
		option.Custom("memory", "SIZE|all", d.setMemory, d.rowsFlag,
			"keep rows of your own file, or pictures, that go beyond SIZE of memory in files beside the run, with the same results; ppal train "+
				"keeps the rows in ppal-rows/ for later runs; all: all rows in memory", "all").
			Or("all").With(OnPlan()),
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
	return d.Options(), beyond
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

// rowsFlag returns the value of ppal's flag --memory for the device: "all" or a number of bytes.
func (d Device) rowsFlag() string {
	if d.Memory == 0 {
		return "all"
	}
	return fmt.Sprintf("%dB", d.Memory)
}

// units are the units of a size in bytes.
var units = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

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
