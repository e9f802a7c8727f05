package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"ppal/internal/cpu"
	"ppal/internal/cuda/driver"
	"ppal/internal/mapped"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/trainer/graph"
	"ppal/trainer/session/internal/build"
)

// devices are the open devices of a session.
type devices struct {
	options Device
	train   graph.Engine // computes the training rows
	measure graph.Engine // computes the rows that are only measured, and the certificate
	cpu     *cpu.Device  // trains; nil if a GPU or Gorgonia's machine trains
	team    *ranks.Team  // the processes that share the rows; nil: only this process
	served  bool         // the other processes serve this process
	pages   *mapped.Dir  // has the rows of a session with bounded memory; nil: memory
	gpu     GPU          // trains; nil if the CPU trains
	name    string       // name of the CPU that trains
	// fallback says why the CPU trains although the program supports GPUs; "" if the CPU was chosen.
	fallback string
}

// oneLine returns an error's text in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// openDevices opens the devices. If a GPU trains, the CPU still scores the rows that are only
// measured, and computes the certificate. The automatic device is the CPU if a GPU cannot be
// opened, whatever the reason.
func openDevices(o Device) (*devices, error) {
	d := &devices{options: o}
	if o.Memory > 0 && (o.Engine == Gorgonia || o.Kind == CUDA) {
		return nil, &OptionError{Option: "memory", Problem: "is for the CPU's plan: choose the device cpu and the engine plan, or leave it out"}
	}
	if o.severalProcesses() {
		if o.Engine == Gorgonia {
			return nil, errProcesses
		}
		d.team = ranks.NewTeam(o.Ranks)
	}
	if o.Engine == Gorgonia {
		d.train, d.measure = graph.Tape{}, graph.Tape{}
		d.name = fmt.Sprintf("cpu, %d threads, Gorgonia's tape machine with gonum products, %v", runtime.GOMAXPROCS(0), o.dtype())
		return d, nil
	}
	if o.Kind != CPU && o.Memory == 0 {
		err := d.joinGPUs(d.openGPU())
		if errors.As(err, new(errKnown)) { // another process failed
			return nil, err
		}
		if unsupported := productsError(err); err == nil || o.Kind == CUDA || errors.Is(unsupported, ErrOptions) {
			return d, unsupported
		}
		if onGPUOnly(o.Products) || o.MicroBatch > 0 {
			return nil, fmt.Errorf("session: the products tf32 and micro-batches need a GPU: %w", err)
		}
		if !errors.Is(err, driver.ErrNoSupport) {
			d.fallback = fmt.Sprintf("The CPU trains, because no GPU could be opened: %v.", oneLine(err))
		}
	}
	var err error
	if d.cpu, err = o.OpenCPU(); err != nil {
		return nil, productsError(err)
	}
	if err := d.openPages(); err != nil {
		return nil, err
	}
	graded, measuring := d.cpu.Graded(), d.cpu
	if o.Products.BFloat16() { // packing rows for one product takes longer than the product
		if measuring, err = d.cpu.With(Float32); err != nil {
			return nil, err
		}
	}
	// Both checks refuse a run before it takes the memory; with pages, the memory lies in files.
	check := func(what string) func(bytes uint64) error {
		return func(bytes uint64) error {
			if d.pages != nil {
				return nil
			}
			return o.checkMemory(bytes/uint64(d.team.Size()), what)
		}
	}
	const values = "the values of the rows in the model (rows times units) need"
	graded = graded.Checked(check("the packed rows and " + values))
	training := plan.Device(graded)
	if d.team != nil {
		training = ranks.Device(d.cpu.Among(d.team), d.team)
	}
	d.train = graph.Within(training, check(values))
	d.measure = graph.On(measuring) // compiles blocks of rows during the run, which must not be refused then
	d.name = fmt.Sprintf("cpu, %d threads, %v kernels, %v", d.cpu.Threads(), d.cpu.Level(), o.dtype())
	d.name += d.countProcesses()
	return d, nil
}

// forBuilder returns what a builder needs of the devices.
func (d *devices) forBuilder() build.Devices {
	return build.Devices{Train: d.train, Measure: d.measure, Team: d.team, Share: d.share, Memory: d.options.Memory}
}

// openPages opens the files of a session with bounded memory.
func (d *devices) openPages() (err error) {
	if d.options.Memory == 0 {
		return nil
	}
	dir := cmp.Or(d.options.MemoryDir, os.TempDir())
	if d.pages, err = mapped.New(dir, uint64(d.options.Memory)); err != nil {
		return fmt.Errorf("session: memory: %w", err)
	}
	d.pages.Watch()
	d.cpu = d.cpu.InPages(d.pages)
	return nil
}

// openGPU opens the GPU, and the CPU with its fastest products for the measures.
func (d *devices) openGPU() error {
	rest := d.options
	rest.Kind = CUDA
	host, err := rest.OpenCPU()
	if err != nil {
		return err
	}
	open := d.options.OpenGPU
	if open == nil {
		open = openGPU
	}
	products := d.options.Products
	if products == Int8 {
		products = Int8x3 // a GPU has no coarse passes
	}
	gpu, err := open(GPUOptions{Ordinal: d.options.Ordinal, Products: products, MicroBatch: d.options.MicroBatch,
		Place: d.options.place, Neighbours: d.options.neighbours})
	if err != nil {
		return err
	}
	d.gpu, d.train, d.measure = gpu, graph.On(gpu), graph.On(host)
	return nil
}

// describe names the training device.
func (d *devices) describe(products string) string {
	if d.gpu == nil {
		return d.name
	}
	i := d.gpu.Info()
	s := fmt.Sprintf("cuda:%d, %s (compute capability %d.%d), driver for CUDA %s, %s, %s products, %v", i.Ordinal, i.Name, i.Major, i.Minor,
		i.Driver, i.Products, products, d.options.dtype())
	if d.options.MicroBatch > 0 {
		s += fmt.Sprintf(", %d rows at a time", d.options.MicroBatch)
	}
	return s + d.countProcesses()
}

// countProcesses returns the end of a device's description.
func (d *devices) countProcesses() string {
	switch n := d.team.Size(); {
	case n == 1:
		return ""
	case d.gpu != nil:
		return fmt.Sprintf(", %d processes with %d GPUs", n, n)
	default:
		return fmt.Sprintf(", %d processes", n)
	}
}

// notes returns the reason why the CPU trains instead of a GPU, if the program supports GPUs.
func (d *devices) notes() []string {
	if d.fallback == "" {
		return nil
	}
	return []string{d.fallback}
}

// integerProducts reports whether the training device multiplies 8-bit data with cols columns as
// integers.
func (d *devices) integerProducts(cols int) bool {
	if d.gpu != nil {
		return d.gpu.Products(cols).Digits() > 0
	}
	return d.cpu != nil && d.cpu.Products(cols).Integers()
}

// peakBytes returns the peak of the GPU memory in use so far; 0 without a GPU.
func (d *devices) peakBytes() int64 {
	if d.gpu == nil {
		return 0
	}
	return d.gpu.PeakBytes()
}

// close releases the GPU.
func (d *devices) close() error {
	err := d.pages.Close()
	if d.served {
		err = errors.Join(err, d.team.Release())
		d.served = false
	}
	if d.gpu != nil {
		err = errors.Join(err, d.gpu.Close())
		d.gpu = nil
	}
	return err
}

// productsError turns a device's error about its products into an OptionError.
func productsError(err error) error {
	var unsupported *plan.ProductsError
	if errors.As(err, &unsupported) {
		return &OptionError{Option: "products", Problem: fmt.Sprintf("is %v, which needs %s; %s, want auto or float32",
			unsupported.Products, unsupported.Needs, unsupported.Found)}
	}
	return err
}
