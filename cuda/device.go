package cuda

import (
	"cmp"
	"errors"
	"fmt"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/plan"
)

var (
	_ plan.Device      = (*Device)(nil)
	_ plan.LayerKeeper = (*Device)(nil)
)

// Options configure a device.
type Options struct {
	Products   Products      // of float32 plans
	MicroBatch int           // the rows of the data to work on at a time; 0: all
	NoGraphs   bool          // launch every kernel by itself, to measure the launches
	Copies     bool          // exchange f, g and the coefficients by copies, without mapped pinned memory
	HostSteps  bool          // compute the automatic step size on the host, which then waits for the measurements
	Sums       int           // the bytes of integer sums in memory at a time; 0: 32 MiB
	Patches    int           // the bytes of patches of pictures in memory at a time; 0: 64 MiB
	Implicit   bool          // convolve without patches in float32 plans, where the measured error of a layer allows it
	Digits     DigitProducts // whose kernels multiply 8-bit data with int8 digits
	ScaleRows  int           // the most rows of a factor in digits with one scale for each column; 0: ScaleRows
	InnerBlock int           // the longest sum of one product of bfloat16 terms; 0: 4,096
}

// Device is one GPU. A device is used by one goroutine at a time.
type Device struct {
	driver  driver.Driver
	options Options
	memory  pool
	stream  driver.Stream // all work but uploads
	staging *staging
	sets    [2]*kernels.Set // by kernels.Dtype
	queue   queue
	sums    int            // bytes of integer sums in memory at a time, unless one tile of rows needs more
	refused map[shape]bool // products that the driver refused
	digits  *error         // the result of TestDigits; nil: the test has not run

	convolved map[layer]float64 // the errors of convolutions without patches

	programs []*Program
	waiting  chained  // a descent that the next forward half runs; any other work runs it first
	hosts    [][]byte // pinned memory that lives as long as the device
}

// sumsBytes is the default of Options.Sums: the sums stay in the L2 caches of an A100 (40 MB) and
// of an H100 (50 MB) from the product that writes them to the pass that dequantizes them. On an
// H200, 32 to 128 MiB give the same times within 4%, and 16 MiB takes 8% to 32% longer.
const sumsBytes = 32 << 20

// Open opens the GPU with that ordinal, counted from 0. In a program without the build tag gpu, or
// on a machine without a GPU, the error wraps driver.ErrUnavailable and says what is missing.
func Open(ordinal int, o Options) (*Device, error) {
	d, err := nvidia.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return On(d, o)
}

// On returns a device on a driver. Close closes the driver; so
// does an error of On.
func On(d driver.Driver, o Options) (*Device, error) {
	dev := &Device{driver: d, options: o, memory: pool{driver: d}, sums: cmp.Or(o.Sums, sumsBytes), refused: map[shape]bool{}, convolved: map[layer]float64{}}
	dev.options.ScaleRows = cmp.Or(o.ScaleRows, ScaleRows)
	dev.options.InnerBlock = cmp.Or(o.InnerBlock, innerBlock)
	dev.queue.d = dev
	if err := dev.open(); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return dev, nil
}

func (d *Device) open() (err error) {
	if err := checkProducts(plan.Products(d.options.Products), d.Info()); err != nil {
		return err
	}
	if d.options.MicroBatch < 0 {
		return fmt.Errorf("cuda: %d rows at a time", d.options.MicroBatch)
	}
	if d.stream, err = d.driver.NewStream(); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	d.staging, err = newStaging(d)
	return err
}

// Info returns the driver's description of the device.
func (d *Device) Info() driver.Info { return d.driver.Info() }

// Options returns the options that Open received.
func (d *Device) Options() Options { return d.options }

// PeakBytes returns the most device memory that was allocated at one time.
func (d *Device) PeakBytes() int64 { return d.memory.peak }

// Close waits for the device and releases everything. The device's programs and vectors must not be
// used afterwards.
func (d *Device) Close() error {
	var failed []error
	d.waiting = chained{}
	if d.stream != 0 {
		failed = append(failed, d.driver.Synchronize(d.stream))
	}
	for _, p := range d.programs {
		failed = append(failed, p.close())
	}
	for _, b := range d.hosts {
		failed = append(failed, d.driver.FreePinned(b))
	}
	d.programs, d.hosts = nil, nil
	if d.staging != nil {
		failed = append(failed, d.staging.close())
	}
	failed = append(failed, d.memory.close())
	if d.stream != 0 {
		failed = append(failed, d.driver.FreeStream(d.stream))
	}
	return errors.Join(append(failed, d.driver.Close())...)
}

// set returns the kernels of an element type.
func (d *Device) set(t kernels.Dtype) (*kernels.Set, error) {
	if d.sets[t] == nil {
		s, err := kernels.Load(d.driver, t)
		if err != nil {
			return nil, fmt.Errorf("cuda: %w", err)
		}
		d.sets[t] = s
	}
	return d.sets[t], nil
}

// KeptBytes implements plan.LayerKeeper: half of the device's memory.
func (d *Device) KeptBytes() int { return int(d.Info().Memory / 2) }

// Prepare implements driver.GPU.
func (d *Device) Prepare(stop func() bool) {
	for _, t := range []kernels.Dtype{kernels.Float32, kernels.Float64} {
		set, err := d.set(t)
		if err != nil {
			return // the first launch reports the error
		}
		set.LoadCompiled(stop)
	}
}

// table uploads bytes that a kernel reads to new memory.
func (d *Device) table(name string, contents []byte) (driver.Pointer, error) {
	at, err := d.memory.allocate(name, len(contents))
	if err != nil {
		return 0, err
	}
	return at, d.uploadBytes(at, contents)
}

// pinned allocates host memory that Close frees.
func (d *Device) pinned(bytes int) ([]byte, error) {
	b, err := d.driver.Pinned(bytes)
	if err != nil {
		return nil, fmt.Errorf("cuda: pinned memory: %w", err)
	}
	d.hosts = append(d.hosts, b)
	return b, nil
}

// mapped returns the address of pinned memory for kernels, or 0 if the device must copy.
func (d *Device) mapped(host []byte) driver.Pointer {
	if d.options.Copies || len(host) == 0 {
		return 0
	}
	at, err := d.driver.Mapped(host)
	if err != nil {
		d.options.Copies = true // an error of the device itself is also the error of the next call
		return 0
	}
	return at
}

// hostReads tells a driver that checks it that the host is about to read pinned memory.
func (d *Device) hostReads(host []byte) error {
	if w, ok := d.driver.(driver.Witness); ok {
		return w.HostReads(host)
	}
	return nil
}

// queue is the compute stream, with the memory that kernels share.
type queue struct {
	d                 *Device
	scratch, counters arena
	sums              arena // the integer sums of one product
	patches           arena // the patches of a part of the pictures of one convolution
}

// arena is memory that grows. Outgrown memory stays allocated, because captured graphs have its
// address.
type arena struct {
	at    driver.Pointer
	bytes int
}

var _ kernels.Queue = (*queue)(nil)

// Launch implements kernels.Queue.
func (q *queue) Launch(l *driver.Launch) error { return q.d.driver.Launch(q.d.stream, l) }

// Clear implements kernels.Queue.
func (q *queue) Clear(p driver.Pointer, bytes int) error {
	return q.d.driver.Clear(q.d.stream, p, bytes)
}

// Scratch implements kernels.Queue.
func (q *queue) Scratch(bytes int) (driver.Pointer, error) {
	_, err := q.scratch.grow(q.d, "memory for partial sums", bytes)
	return q.scratch.at, err
}

// Counters implements kernels.Queue.
func (q *queue) Counters(n int) (driver.Pointer, error) {
	const size = 4
	grown, err := q.counters.grow(q.d, "counters", size*n)
	if err == nil && grown {
		err = q.Clear(q.counters.at, q.counters.bytes)
	}
	return q.counters.at, err
}

// firstArena is the initial size of an arena.
const firstArena = 64 << 10

func (r *arena) grow(d *Device, name string, bytes int) (grown bool, err error) {
	if bytes <= r.bytes {
		return false, nil
	}
	size := max(2*r.bytes, bytes, firstArena)
	at, err := d.memory.allocate(name, size)
	if err != nil {
		return false, err
	}
	r.at, r.bytes = at, size
	return true, nil
}
