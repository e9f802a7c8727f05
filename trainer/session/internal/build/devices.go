package build

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cuda/driver"
	"ppal/internal/mapped"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/trainer/graph"
)

// Devices are the open devices of a run.
type Devices struct {
	Options Options
	Train   graph.Engine // for the training rows
	Measure graph.Engine // for the rows that are only measured, and for the certificate
	Host    graph.Engine // for f and g of scores, and the terms of the parameters
	// lanes returns engines that share the threads of the CPU and work at the same time; nil: Measure
	// alone computes blocks.
	lanes   func(n int) []graph.Engine
	threads int         // of all lanes
	CPU     *cpu.Device // the CPU that trains; nil if a GPU or Gorgonia's machine trains
	Team    *ranks.Team // the processes that share the rows; nil: only this process
	Served  bool        // the other processes serve this process
	Pages   *mapped.Dir // the mapped files of the rows with bounded memory; nil: the rows are in memory
	GPU     driver.GPU  // the GPU that trains; nil if the CPU trains
	// Opening is the wall time in which the GPU was opened, while rows were read; 0 on the CPU.
	Opening time.Duration
	ended   <-chan struct{}           // closed when the GPU has been opened
	opening func() (openedGPU, error) // waits for the GPU that is being opened; nil: none
	opened  atomic.Bool               // the GPU is needed, so that no more kernels are loaded in advance
	settled sync.Once
	failure error  // of the opening
	name    string // name of the CPU that trains
	// fallback says why the CPU trains although the program supports GPUs; "" if the options choose
	// the CPU.
	fallback string
}

// Open opens the devices. The device that trains also scores the rows that are only measured, and
// computes the scores and their derivatives for the certificate. With an automatic device, the CPU
// trains if no GPU can be opened, for any reason. The opening of a GPU may go on after Open: see
// Opened.
func Open(o Options) (*Devices, error) {
	d := &Devices{Options: o}
	if o.Memory > 0 && (o.Tape || o.Kind == CUDA) {
		return nil, o.Refuse("memory", "works only with the device cpu and the engine plan: change the device and the engine, or leave memory out")
	}
	if o.Ranks != nil && o.Ranks.Size() > 1 {
		if o.Tape {
			return nil, o.Refuse("engine", "must be plan for a run of several processes: leave engine out, or start one process")
		}
		d.Team = ranks.NewTeam(o.Ranks)
	}
	if o.Tape {
		d.Train, d.Measure, d.Host = graph.Tape{}, graph.Tape{}, graph.Tape{}
		d.name = fmt.Sprintf("cpu, %d threads, Gorgonia's tape machine with gonum products, %v", runtime.GOMAXPROCS(0), o.Dtype)
		return d, nil
	}
	if o.Kind != CPU && o.Memory == 0 {
		if d.startGPU(); d.Team == nil && !d.openedQuickly() {
			return d, nil
		}
		_, err := d.Opened()
		return d, err
	}
	return d, d.openCPU()
}

// openedGPU is an open GPU with the engine of the host.
type openedGPU struct {
	gpu  driver.GPU
	host graph.Engine
	took time.Duration
}

// startGPU begins to open the GPU. Opened waits for the end.
func (d *Devices) startGPU() {
	began, done := time.Now(), make(chan struct{})
	wait := relay.Start(func() (openedGPU, error) {
		defer close(done)
		o, err := d.openGPU()
		if err == nil {
			o.gpu.Prepare(d.opened.Load)
		}
		o.took = time.Since(began)
		return o, err
	})
	d.opening, d.ended = wait, done
}

// quickOpening is the time that Open waits for the GPU. A machine without a driver answers in less
// time, and the rows are read for the CPU at once.
const quickOpening = 5 * time.Millisecond

// openedQuickly reports whether the GPU has been opened, or could not be opened, within
// quickOpening.
func (d *Devices) openedQuickly() bool {
	select {
	case <-d.ended:
		return true
	case <-time.After(quickOpening):
		return false
	}
}

// Opened waits for the GPU that Open opens while the caller reads rows. The first call reports
// whether the CPU trains instead, so that rows in the form for the GPU are to be read again.
func (d *Devices) Opened() (changed bool, err error) {
	d.settled.Do(func() {
		if d.opening == nil {
			return
		}
		d.opened.Store(true)
		o, err := d.opening()
		if err == nil {
			d.Opening = o.took
			d.GPU, d.Train, d.Measure, d.Host = o.gpu, graph.On(o.gpu), graph.On(o.gpu), o.host
		}
		changed, d.failure = d.settleGPU(d.joinGPUs(err))
	})
	return changed, d.failure
}

// settleGPU opens the CPU if the GPU cannot train, for any reason, and the device is automatic. err
// is the error of the GPU.
func (d *Devices) settleGPU(err error) (changed bool, _ error) {
	o := d.Options
	if errors.As(err, new(KnownError)) { // another process failed
		return false, err
	}
	if refusal, refused := o.productsError(err); err == nil || o.Kind == CUDA || refused {
		return false, refusal
	}
	if onGPUOnly(o.Products) || o.MicroBatch > 0 {
		return false, fmt.Errorf("session: the products tf32 and micro-batches need a GPU: %w", err)
	}
	if !errors.Is(err, driver.ErrNoSupport) {
		d.fallback = fmt.Sprintf("The CPU trains, because no GPU could be opened: %v.", oneLine(err))
	}
	return true, d.openCPU()
}

// openCPU opens the CPU for the training.
func (d *Devices) openCPU() (err error) {
	o := d.Options
	if d.CPU, err = o.OpenCPU(); err != nil {
		err, _ = o.productsError(err)
		return err
	}
	if err := d.openPages(); err != nil {
		return err
	}
	graded, measuring := d.CPU.Graded(), d.CPU
	if o.Products.BFloat16() { // packing rows for one product takes longer than the product
		if measuring, err = d.CPU.With(plan.Float32); err != nil {
			return err
		}
	}
	// Both checks refuse a run before it takes the memory; with pages, the memory lies in files.
	check := func(what string) func(bytes uint64) error {
		return func(bytes uint64) error {
			if d.Pages != nil {
				return nil
			}
			return o.CheckMemory(bytes/uint64(d.Team.Size()), what)
		}
	}
	const values = "the values of the rows in the model (rows times units) need"
	graded = graded.Checked(check("the packed rows and " + values))
	training := plan.Device(graded)
	if d.Team != nil {
		training = ranks.Device(d.CPU.Among(d.Team), d.Team)
	}
	d.Train = graph.Within(training, check(values))
	d.Host, d.threads = graph.On(measuring), measuring.Threads()
	d.lanes = func(n int) (list []graph.Engine) {
		for range n {
			list = append(list, graph.On(measuring.Lane((d.threads+n-1)/n)))
		}
		return list
	}
	d.Measure = d.Host // compiles blocks of rows during the run, which must not be refused then
	d.name = fmt.Sprintf("cpu, %d threads, %v kernels, %v", d.CPU.Threads(), d.CPU.Level(), o.Dtype)
	d.name += d.countProcesses()
	return nil
}

// openPages prepares the mapped files of a session with bounded memory.
func (d *Devices) openPages() (err error) {
	if d.Options.Memory == 0 {
		return nil
	}
	dir := cmp.Or(d.Options.MemoryDir, os.TempDir())
	if d.Pages, err = mapped.New(dir, uint64(d.Options.Memory)); err != nil {
		return fmt.Errorf("session: memory: %w", err)
	}
	d.Pages.Watch()
	d.CPU = d.CPU.InPages(d.Pages)
	return nil
}

// openGPU opens the GPU, and the CPU for f and g of scores.
func (d *Devices) openGPU() (o openedGPU, err error) {
	rest := d.Options
	rest.Kind = CUDA
	host, err := rest.OpenCPU()
	if err != nil {
		return o, err
	}
	open := d.Options.OpenGPU
	if open == nil {
		open = graph.OpenGPU
	}
	products := d.Options.Products
	if products == plan.Int8 {
		products = plan.Int8x3 // a GPU has no coarse passes
	}
	gpu, err := open(graph.GPUOptions{Ordinal: d.Options.Ordinal, Products: string(products), MicroBatch: d.Options.MicroBatch,
		Place: d.Options.Place, Neighbours: d.Options.Neighbours})
	if err != nil {
		return o, err
	}
	trained, ok := gpu.(driver.GPU)
	if !ok {
		return o, errors.Join(fmt.Errorf("session: OpenGPU returned a %T: return the GPU of graph.OpenGPU", gpu), gpu.Close())
	}
	o.gpu, o.host = trained, graph.On(host)
	return o, nil
}

// oneLine returns an error's text in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Close releases the mapped files, the other processes and the GPU.
func (d *Devices) Close() error {
	_, _ = d.Opened() // a GPU that is being opened must be closed
	err := d.Pages.Close()
	if d.Served {
		err = errors.Join(err, d.Team.Release())
		d.Served = false
	}
	if d.GPU != nil {
		err = errors.Join(err, d.GPU.Close())
		d.GPU = nil
	}
	return err
}

// leastGPUWork is the smallest work of an iteration, in nanoseconds on one thread of a CPU, for
// which the automatic device is a GPU. An iteration of any size takes about 0.1 ms or more on a
// GPU, the time of the kernel launches and of the exchange with the host (docs/guides/gpu.md).
const leastGPUWork = 4e5

// TooSmall returns a note that the CPU trains instead of the open GPU, or "" if the GPU trains.
// work is the work of an iteration in nanoseconds on one thread: an estimate from the shapes of the
// rows and of the model, so that equal runs use the same device. The rule applies to automatic
// devices with automatic products.
func (d *Devices) TooSmall(work float64) string {
	if o := d.Options; d.GPU == nil || o.Kind != "" || o.Products != "" || o.MicroBatch > 0 || work >= leastGPUWork {
		return ""
	}
	return fmt.Sprintf("The CPU trains, because the problem is small: an iteration takes about %.2g ms on one thread, and the automatic device is the GPU "+
		"from %.2g ms on. --device cuda takes the GPU.", work/1e6, leastGPUWork/1e6)
}

// Unsupported returns a note that the CPU trains, if err says that the GPU does not support a step
// of the problem's plan. It returns "" for other errors, and if the options or other processes need
// the GPU.
func (d *Devices) Unsupported(err error) string {
	var refused *plan.UnsupportedError
	if o := d.Options; d.GPU == nil || d.Team != nil || o.Kind != "" || onGPUOnly(o.Products) || o.MicroBatch > 0 || !errors.As(err, &refused) {
		return ""
	}
	return fmt.Sprintf("The CPU trains, because there is no kernel for %s on %s.", refused.Step, refused.Device)
}

// LeaveGPU closes the GPU and opens the CPU instead. note is the reason, for the user.
func (d *Devices) LeaveGPU(note string) (*Devices, error) {
	o := d.Options
	if err := d.Close(); err != nil {
		return d, err
	}
	o.Kind = CPU
	opened, err := Open(o)
	if err != nil {
		return d, err
	}
	opened.Options.Kind, opened.fallback = "", note
	return opened, nil
}

// ProductsNote returns a note if automatic products compute 8-bit data in float32; otherwise nil.
func (d *Devices) ProductsNote() []string {
	if d.CPU == nil || d.Options.Products != "" || d.Options.Dtype != tensor.Float32 {
		return nil
	}
	if _, err := d.CPU.With(plan.Int8x3); err == nil {
		return nil
	}
	return []string{fmt.Sprintf("The data have 8 bits, but the %v kernels on this machine have neither AVX-512 VNNI nor AVX-VNNI. All products are in float32.",
		d.CPU.Level())}
}

// Describe returns a description of the training device.
func (d *Devices) Describe(products string) string {
	if d.GPU == nil {
		return d.name
	}
	i := d.GPU.Info()
	s := fmt.Sprintf("cuda:%d, %s (compute capability %d.%d), driver for CUDA %s, %s, %s products, %v", i.Ordinal, i.Name, i.Major, i.Minor,
		i.Driver, i.Products, products, d.Options.Dtype)
	if d.Options.MicroBatch > 0 {
		s += fmt.Sprintf(", %d rows at a time", d.Options.MicroBatch)
	}
	return s + d.countProcesses()
}

// countProcesses returns the number of processes as the end of a device's description; "" for one
// process.
func (d *Devices) countProcesses() string {
	switch n := d.Team.Size(); {
	case n == 1:
		return ""
	case d.GPU != nil:
		return fmt.Sprintf(", %d processes with %d GPUs", n, n)
	default:
		return fmt.Sprintf(", %d processes", n)
	}
}

// Notes returns the reason why the CPU trains instead of a GPU, if the program supports GPUs.
func (d *Devices) Notes() []string {
	if d.fallback == "" {
		return nil
	}
	return []string{d.fallback}
}

// IntegerProducts reports whether the training device multiplies 8-bit data with cols columns as
// integers.
func (d *Devices) IntegerProducts(cols int) bool {
	if _, err := d.Opened(); err != nil {
		return false
	}
	if d.GPU != nil {
		return d.GPU.Products(cols).Digits() > 0
	}
	return d.CPU != nil && d.CPU.Products(cols).Integers()
}

// PeakBytes returns the peak of the GPU memory in use so far; 0 without a GPU.
func (d *Devices) PeakBytes() int64 {
	if d.GPU == nil {
		return 0
	}
	return d.GPU.PeakBytes()
}
