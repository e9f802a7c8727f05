package cpu

import (
	"fmt"
	"runtime"

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
	return &Device{level: level, threads: threads, pool: newPool(threads), bytes: bytes}, nil
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
