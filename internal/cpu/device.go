package cpu

import (
	"fmt"
	"runtime"
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/mapped"
	"ppal/internal/plan"
)

// Device runs plans on this machine's cores. Its goroutines start with the first work for several
// threads and end with Close, or when the device and its programs are garbage. Programs that run at
// the same time take turns on the goroutines, region by region.
type Device struct {
	level    kernel.Level
	threads  int
	products plan.Products
	graded   bool // see Graded
	pool     *pool
	spare    *spare
	bytes    *kernel.ByteKernels      // for products with 8-bit data
	pages    *mapped.Dir              // holds rows and activations that are large; nil: memory
	ranks    Ranks                    // processes that share the rows; nil: this process has all rows
	check    func(bytes uint64) error // see Checked; nil: no check
}

var _ plan.Device = (*Device)(nil)

// New returns a device with kernels of the given level and the given number of threads. 0 threads
// means GOMAXPROCS.
func New(level kernel.Level, threads int) (*Device, error) {
	if threads < 0 {
		return nil, fmt.Errorf("cpu: %d threads, want a positive number, or 0 for all", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	bytes, err := kernel.NewByteKernels(level)
	if err != nil {
		return nil, err
	}
	return &Device{level: level, threads: threads, pool: newPool(threads), spare: &spare{}, bytes: bytes}, nil
}

// Checked returns a copy of the device that calls check for each program, with the memory in bytes
// that its buffers and the packed copies of its data take, before the rows fill this memory. An
// error of check is an error of Compile. Copies of sparse entries do not count. Both devices share
// the workers.
func (d *Device) Checked(check func(bytes uint64) error) *Device {
	own := *d
	own.check = check
	return &own
}

// Lane returns a copy of the device with its own workers, the given number of threads, and its own
// spare memory. Programs of several lanes run at the same time.
func (d *Device) Lane(threads int) *Device {
	own := *d
	own.threads, own.pool, own.spare = threads, newPool(threads), &spare{}
	return &own
}

// Level returns the level of the kernels.
func (d *Device) Level() kernel.Level { return d.level }

// Threads returns the number of workers.
func (d *Device) Threads() int { return d.threads }

// Parallel calls work for the workers 0 to Threads()-1 at the same time and returns when all calls
// have. The caller is worker 0.
func (d *Device) Parallel(work func(worker int)) { d.pool.run(d.threads, workFunc(work)) }

// Close ends the device's goroutines. No program may run at the same time; a later run starts new
// goroutines.
func (d *Device) Close() { d.pool.close() }

// supported lists the products that a CPU supports.
var supported = []plan.Products{plan.AutoProducts, plan.Float32, plan.Int8, plan.Int8x3, plan.Int8x2, plan.BF16x3, plan.BF16x2}

// With returns the device with other products. Both devices share the workers. The error is a
// *plan.ProductsError.
func (d *Device) With(p plan.Products) (*Device, error) {
	if !slices.Contains(supported, p) {
		return nil, fmt.Errorf("cpu: %w", &plan.ProductsError{Products: p, Needs: "a GPU", Found: "this is the CPU",
			Want: "auto, float32, int8, int8x3, int8x2, bf16x3 or bf16x2"})
	}
	if p.BFloat16() && !d.bytes.HasBFloat16() {
		return nil, fmt.Errorf("cpu: %w", &plan.ProductsError{Products: p, Needs: "a GPU, or a CPU with AMX for bfloat16",
			Found: fmt.Sprintf("the %v kernels have no such tiles here", d.level), Want: "float32"})
	}
	if p.Integers() && !d.bytes.Fast() {
		return nil, fmt.Errorf("cpu: %w", &plan.ProductsError{Products: p, Needs: "AVX-512 VNNI or AVX-VNNI",
			Found: fmt.Sprintf("the %v kernels have neither here", d.level), Want: "float32"})
	}
	own := *d
	own.products = p
	return &own, nil
}

// Products implements plan.Device.
func (d *Device) Products(cols int) plan.Products {
	if d.products != plan.AutoProducts {
		return d.products
	}
	if d.bytes.Fast() && cols >= plan.DigitColumns {
		return plan.Int8x3
	}
	return plan.Float32
}

// Integers returns the name of the instruction that products of digits use: avx512_vnni, avx_vnni,
// or go.
func (d *Device) Integers() string { return d.bytes.Instruction() }

// NewBytes returns a matrix of zeros with a scale, in the layout of the device's products with
// 8-bit data. A plan with this matrix as data reads the matrix without a copy.
func (d *Device) NewBytes(rows, cols int, scale float64) *kernel.PackedBytes {
	return d.bytes.NewPackedBytes(rows, cols, scale)
}

// NewBytesIn is NewBytes in the memory of an Allocator: see kernel.ByteKernels.NewPackedBytesIn.
func (d *Device) NewBytesIn(allocate kernel.Allocator, rows, cols int, scale float64) (*kernel.PackedBytes, error) {
	return d.bytes.NewPackedBytesIn(allocate, rows, cols, scale)
}

// byteLeaf returns the packed form of a leaf of 8-bit data for products of digits, nil for other
// leaves.
func (e *executor[T]) byteLeaf(buffer int) (*kernel.PackedBytes, error) {
	data, ok := e.plan.DataOf(buffer).(matrix.EightBit)
	if _, single := any(e).(*executor[float32]); !ok || !single {
		return nil, nil
	}
	rows, cols := data.Dims()
	if !e.device.Products(cols).Integers() {
		return nil, nil
	}
	if own, ok := data.(*kernel.PackedBytes); ok && own.Layout() == e.device.bytes.Layout() {
		return own, nil
	}
	return e.device.NewBytesIn(e.device.allocator(), rows, cols, data.ByteScale())
}

// Graded returns a copy of the device. Automatic products that are plan.Int8x3 on d are plan.Int8
// on the copy. Both devices share the workers.
func (d *Device) Graded() *Device {
	own := *d
	own.graded = true
	return &own
}

// hasCoarse reports whether products with digits have coarse passes. Processes that share the rows
// have none.
func (d *Device) hasCoarse() bool {
	return d.ranks == nil && (d.products == plan.Int8 || d.graded && d.products == plan.AutoProducts)
}

// digits returns the numbers of digits of the accurate and of the coarse products with 8-bit data.
func (d *Device) digits() (accurate, coarse int) {
	switch {
	case d.products == plan.Int8x2:
		return 2, 2
	case d.hasCoarse():
		return 3, 2
	}
	return 3, 3
}

// CoarseRoundoff returns the largest error of a number in two digits, relative to the largest
// number of its column; 0 if the program has no coarse products.
func (e *executor[T]) CoarseRoundoff() float64 {
	if !e.device.hasCoarse() || len(e.bytes) == 0 {
		return 0
	}
	return 1. / (2 * 254 * 127)
}

// grades are the digits of one factor for accurate and for coarse products.
type grades [2]*kernel.Digits

// newGrades returns room for a factor of at most rows x cols.
func (e *executor[T]) newGrades(rows, cols int) grades {
	accurate, coarse := e.device.digits()
	g := grades{e.integers.NewDigits(rows, cols, accurate)}
	if g[1] = g[0]; coarse != accurate {
		g[1] = e.integers.NewDigits(rows, cols, coarse)
	}
	return g
}

// of returns the digits for the program's present products.
func (g grades) digits(coarse bool) *kernel.Digits {
	if coarse {
		return g[1]
	}
	return g[0]
}

// Products returns the name of the products with the data: the kind of digits if the plan has such
// products, else the dtype.
func (e *executor[T]) Products() string {
	for _, x := range e.bfloat16 {
		if x.Digits() == 2 {
			return plan.BF16x2.String()
		}
		return plan.BF16x3.String()
	}
	switch {
	case len(e.bytes) == 0:
		return e.plan.Dtype.String()
	case e.device.products == plan.Int8x2:
		return plan.Int8x2.String()
	}
	return plan.Int8x3.String()
}
