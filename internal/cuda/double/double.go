package double

import (
	"errors"
	"fmt"
	"slices"

	"ppal/internal/cuda/driver"
)

// Options describe a device. The zero value has 1 GiB.
type Options struct {
	Memory   int64       // bytes of the device; 0: 1 GiB
	Info     driver.Info // a zero Name: an A100's compute capability
	Integers error       // result of the method Integers
	// Strict makes a computing device poison, while a launch runs, all memory outside the launch's
	// Reads and Writes, and refuse a launch that changes anything outside its Writes. Every launch
	// runs twice, in two orders of its blocks and threads, and is refused if the results differ in a
	// bit.
	Strict bool
}

// Call is one recorded call.
type Call struct {
	Kind     string // the method of driver.Driver: "Launch"
	Name     string // of a kernel
	Stream   driver.Stream
	Captured bool // captured into a graph: the call did not run when it was made
	Bytes    int  // allocated or copied
	Reads    []driver.Span
	Writes   []driver.Span
}

// Violation is a call that the device refuses.
type Violation struct {
	Number int // of the call, from 0
	Call   string
	What   string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("double: call %d, %s: %s", v.Number, v.Call, v.What)
}

// Driver is the device.
type Driver struct {
	options    Options
	processor  processor // nil: nothing is computed
	calls      []Call
	counts     map[string]int
	failures   map[string]map[int]error
	violations []error

	heap     heap
	streams  map[driver.Stream]clock
	events   map[driver.Event]clock
	sequence uint64 // of the work on all streams
	host     clock  // the work that the host knows to be done
	pending  []transfer
	handles  uint64
	held     int64 // allocated bytes of device memory
	pinned   []pinned
	capture  *capture
	graphs   map[driver.Graph][]action
	modules  map[driver.Module]bool
	names    map[driver.Function]string
	closed   bool
}

var _ driver.Driver = (*Driver)(nil)

// processor runs kernels and products on the host's memory.
type processor interface {
	// load refuses a module with kernels that the processor lacks.
	load(ptx string) error
	has(kernel string) bool
	// check refuses a launch that does not fit its kernel.
	check(kernel string, l *driver.Launch) error
	// launch runs a kernel. If backwards is set, it runs the last blocks and threads first.
	launch(kernel string, l *driver.Launch, backwards bool) error
	multiply(g *driver.Gemm) error
}

// New returns a device that computes nothing.
func New(o Options) *Driver { return newDriver(o, nil) }

func newDriver(o Options, p processor) *Driver {
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.Info.Name == "" {
		o.Info = driver.Info{Name: "double", Major: 8, Processors: 108, Memory: o.Memory, Driver: "12.4", Products: "none"}
	}
	return &Driver{
		options: o, processor: p, counts: map[string]int{}, failures: map[string]map[int]error{},
		heap: newHeap(p != nil), streams: map[driver.Stream]clock{0: {}}, events: map[driver.Event]clock{}, host: clock{},
		graphs: map[driver.Graph][]action{}, modules: map[driver.Module]bool{}, names: map[driver.Function]string{},
	}
}

// FailAt makes the k-th call of a kind from now on, counted from 1, return err without being run.
func (d *Driver) FailAt(kind string, k int, err error) {
	if d.failures[kind] == nil {
		d.failures[kind] = map[int]error{}
	}
	d.failures[kind][d.counts[kind]+k] = err
}

// Calls lists all calls so far.
func (d *Driver) Calls() []Call { return d.calls }

// Count returns the number of calls of a kind so far.
func (d *Driver) Count(kind string) int { return d.counts[kind] }

// Violations lists the refused calls in order.
func (d *Driver) Violations() []error { return d.violations }

// Held returns the number of allocated bytes of device memory.
func (d *Driver) Held() int64 { return d.held }

// begin records a call and returns the failure that FailAt asked for.
func (d *Driver) begin(c Call) error {
	d.calls = append(d.calls, c)
	d.counts[c.Kind]++
	if d.closed {
		return d.violation("the driver is closed")
	}
	return d.failures[c.Kind][d.counts[c.Kind]]
}

// violation refuses the last call.
func (d *Driver) violation(format string, args ...any) error {
	n := len(d.calls) - 1
	name := d.calls[n].Kind
	if d.calls[n].Name != "" {
		name += " " + d.calls[n].Name
	}
	v := &Violation{n, name, fmt.Sprintf(format, args...)}
	d.violations = append(d.violations, v)
	return v
}

// idle refuses the last call while a stream is captured.
func (d *Driver) idle() error {
	if d.capture != nil {
		return d.violation("not allowed while stream %d is captured", d.capture.stream)
	}
	return nil
}

// Info implements driver.Driver.
func (d *Driver) Info() driver.Info { return d.options.Info }

// Integers implements driver.Driver.
func (d *Driver) Integers() error { return d.options.Integers }

// Load implements driver.Driver.
func (d *Driver) Load(ptx string) (driver.Module, error) {
	if err := d.begin(Call{Kind: "Load", Bytes: len(ptx)}); err != nil {
		return 0, err
	}
	if err := d.idle(); err != nil {
		return 0, err
	}
	if d.processor != nil {
		if err := d.processor.load(ptx); err != nil {
			return 0, d.violation("%v", err)
		}
	}
	m := driver.Module(d.handle())
	d.modules[m] = true
	return m, nil
}

// LoadBinary implements driver.Driver. The double runs no machine code.
func (d *Driver) LoadBinary([]byte) (driver.Module, error) { return 0, errBinary }

var errBinary = errors.New("double: a compiled module cannot be loaded")

// Function implements driver.Driver.
func (d *Driver) Function(m driver.Module, name string) (driver.Function, error) {
	if err := d.begin(Call{Kind: "Function", Name: name}); err != nil {
		return 0, err
	}
	if !d.modules[m] {
		return 0, d.violation("there is no module %d", m)
	}
	if d.processor != nil && !d.processor.has(name) {
		return 0, d.violation("there is no kernel %s", name)
	}
	f := driver.Function(d.handle())
	d.names[f] = name
	return f, nil
}

// handle returns a number that no other handle has.
func (d *Driver) handle() uint64 {
	d.handles++
	return d.handles
}

// Close implements driver.Driver.
func (d *Driver) Close() error {
	if err := d.begin(Call{Kind: "Close"}); err != nil {
		return err
	}
	d.closed = true
	var left []string
	for _, b := range d.heap.blocks {
		if b.host != nil {
			continue // named as pinned memory
		}
		left = append(left, fmt.Sprintf("%d bytes of call %d", b.Bytes, b.call))
		if !b.intact() {
			return d.violation("something wrote beside the %d bytes of call %d", b.Bytes, b.call)
		}
	}
	for _, p := range d.pinned {
		left = append(left, fmt.Sprintf("%d pinned bytes of call %d", len(p.host), p.call))
	}
	streams := len(d.streams) - 1 // without the default stream
	for _, n := range []struct {
		what  string
		count int
	}{{"streams", streams}, {"events", len(d.events)}, {"graphs", len(d.graphs)}} {
		if n.count > 0 {
			left = append(left, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if left != nil {
		slices.Sort(left)
		return d.violation("not given back: %v", left)
	}
	return nil
}
