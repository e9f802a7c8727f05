package recorder

import (
	"fmt"
	"slices"

	"ppal/cuda/driver"
)

// Options are what a recorder plays. The zero value is a device of 1 GiB that computes nothing.
type Options struct {
	Inner  driver.Driver // computes; nil: nothing does, and downloads are zeros
	Memory int64         // bytes of the device; 0: 1 GiB, or what Inner has
	Info   driver.Info   // of a device without Inner
}

// Call is one call that was recorded.
type Call struct {
	Kind     string // the method of driver.Driver: "Launch"
	Name     string // of a kernel, or of what is copied
	Stream   driver.Stream
	Captured bool // it was taken into a graph, and did not run then
	Bytes    int  // allocated or copied
	Reads    []driver.Span
	Writes   []driver.Span
}

// Violation is a call that the recorder refuses.
type Violation struct {
	Number int // of the call, from 0
	Call   string
	What   string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("recorder: call %d, %s: %s", v.Number, v.Call, v.What)
}

// Recorder is the driver.
type Recorder struct {
	options    Options
	calls      []Call
	counts     map[string]int
	failures   map[string]map[int]error
	violations []error

	heap     heap
	pinned   []pinned
	streams  map[driver.Stream]clock
	events   map[driver.Event]clock
	sequence uint64
	host     clock // what the host knows to be done
	pending  []transfer
	capture  *capture
	graphs   map[driver.Graph][]action
	names    map[driver.Function]string
	handles  uint64
	closed   bool
}

var _ driver.Driver = (*Recorder)(nil)

// New returns a recorder.
func New(o Options) *Recorder {
	if o.Memory == 0 && o.Inner == nil {
		o.Memory = 1 << 30
	}
	if o.Info.Name == "" {
		o.Info = driver.Info{Name: "recorder", Major: 8, Processors: 108, Memory: o.Memory, Driver: "12.4", Products: "none"}
	}
	return &Recorder{
		options: o, counts: map[string]int{}, failures: map[string]map[int]error{}, heap: newHeap(),
		streams: map[driver.Stream]clock{0: {}}, events: map[driver.Event]clock{}, host: clock{},
		graphs: map[driver.Graph][]action{}, names: map[driver.Function]string{},
	}
}

// FailAt lets the k-th call of a kind from now on, counted from 1, return err instead of being done.
func (r *Recorder) FailAt(kind string, k int, err error) {
	if r.failures[kind] == nil {
		r.failures[kind] = map[int]error{}
	}
	r.failures[kind][r.counts[kind]+k] = err
}

// Calls are all calls so far.
func (r *Recorder) Calls() []Call { return r.calls }

// Count is the number of calls of a kind so far.
func (r *Recorder) Count(kind string) int { return r.counts[kind] }

// Violations are the calls that were refused, the first first.
func (r *Recorder) Violations() []error { return r.violations }

// Held is the number of bytes that are allocated, of device memory.
func (r *Recorder) Held() int64 { return r.heap.held }

// begin records a call; an error is one that was asked for.
func (r *Recorder) begin(c Call) error {
	r.calls = append(r.calls, c)
	r.counts[c.Kind]++
	if r.closed {
		return r.violation("the driver is closed")
	}
	if err := r.failures[c.Kind][r.counts[c.Kind]]; err != nil {
		return err
	}
	return nil
}

// violation refuses the last call.
func (r *Recorder) violation(format string, args ...any) error {
	n := len(r.calls) - 1
	name := r.calls[n].Kind
	if r.calls[n].Name != "" {
		name += " " + r.calls[n].Name
	}
	v := &Violation{n, name, fmt.Sprintf(format, args...)}
	r.violations = append(r.violations, v)
	return v
}

// idle refuses the last call while a stream is captured.
func (r *Recorder) idle() error {
	if r.capture != nil {
		return r.violation("not allowed while stream %d is captured", r.capture.stream)
	}
	return nil
}

// Info implements driver.Driver.
func (r *Recorder) Info() driver.Info {
	if r.options.Inner != nil {
		return r.options.Inner.Info()
	}
	return r.options.Info
}

// Load implements driver.Driver.
func (r *Recorder) Load(ptx string) (driver.Module, error) {
	if err := r.begin(Call{Kind: "Load", Bytes: len(ptx)}); err != nil {
		return 0, err
	}
	if err := r.idle(); err != nil {
		return 0, err
	}
	if r.options.Inner != nil {
		return r.options.Inner.Load(ptx)
	}
	return driver.Module(r.handle()), nil
}

// Function implements driver.Driver.
func (r *Recorder) Function(m driver.Module, name string) (driver.Function, error) {
	if err := r.begin(Call{Kind: "Function", Name: name}); err != nil {
		return 0, err
	}
	f := driver.Function(r.handle())
	if r.options.Inner != nil {
		var err error
		if f, err = r.options.Inner.Function(m, name); err != nil {
			return 0, err
		}
	}
	r.names[f] = name
	return f, nil
}

func (r *Recorder) handle() uint64 {
	r.handles++
	return r.handles
}

// Close implements driver.Driver.
func (r *Recorder) Close() error {
	if err := r.begin(Call{Kind: "Close"}); err != nil {
		return err
	}
	r.closed = true
	var left []string
	for _, b := range r.heap.blocks {
		left = append(left, fmt.Sprintf("%d bytes of call %d", b.bytes, b.call))
	}
	for _, p := range r.pinned {
		left = append(left, fmt.Sprintf("%d pinned bytes of call %d", len(p.host), p.call))
	}
	for _, n := range []struct {
		what  string
		count int
	}{{"streams", len(r.streams) - 1}, {"events", len(r.events)}, {"graphs", len(r.graphs)}} {
		if n.count > 0 {
			left = append(left, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if r.options.Inner != nil {
		if err := r.options.Inner.Close(); err != nil {
			return err
		}
	}
	if left != nil {
		slices.Sort(left)
		return r.violation("not given back: %v", left)
	}
	return nil
}
