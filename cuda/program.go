package cuda

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

var (
	_ plan.Program = (*Program)(nil)
	_ plan.Keeper  = (*Program)(nil)
)

// Program is a plan on a device. After an error a program can only be closed.
type Program struct {
	device    *Device
	plan      *plan.Plan
	x         *vectors // the parameters are parts of the iterate
	set       *kernels.Set
	dtype     kernels.Dtype
	size      int // bytes of an element
	storage   storage
	sparse    map[int]*entries                 // of data matrices, by buffer
	eight     map[int]*eightBit                // 8-bit data matrices whose products have digits, by buffer
	quantized map[*plan.Product]driver.Pointer // the places of quantized second factors
	centered  map[*plan.Product]bool           // a pass of an earlier region quantizes the second factor
	lists     map[any]driver.Pointer           // uploaded labels, by the address of the first
	pairs     map[*int64]pairs                 // uploaded pairs, by the address of the first cell's count
	readers   map[int][]plan.Step              // the steps that read a buffer
	consumers plan.Consumers
	numbers   exchange
	bindings  map[int]func() error // by input: makes kept rows the input
	patches   int                  // bytes of the largest part of a convolution's pictures
	common    driver.Pointer       // the gradient of the vectors without a graph of their own; 0: there was none yet

	terms             []byte // pinned memory for this process's terms, then for the sums over processes; nil: there are none
	cuts              cuts
	forward, backward []half           // the parts of the halves, of which the first may be empty
	links             map[link]*replay // the graphs of a descent and the first part of the forward half
}

// cuts are the numbers of regions at which the halves are cut into parts, increasing. Between the
// parts, processes that share rows add their sums. A half without cuts is one part.
type cuts struct{ forward, backward []int }

// exchange holds the numbers that the host and the device exchange, in pinned memory. The kernels
// pack and unpack access the pinned memory itself, or float64 numbers on the device that are
// copied. If only group means write f and g, their kernels write the pinned memory, without pack.
type exchange struct {
	pinned               []byte
	values, coefficients []float64 // parts of pinned
	results, received    driver.Pointer
	copied               bool                   // results and received are on the device
	written              map[int]driver.Pointer // by buffer: the places that the kernels of means write; nil: pack does
	packed, unpacked     driver.Pointer         // the tables of addresses
	uploading            bool                   // the device may not have read coefficients yet
}

// Compile implements plan.Device: it uploads the plan's data and returns a program whose parameters
// are consecutive parts of the iterate of x. The error names a step that the device has no kernel
// for.
func (d *Device) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	q, err := d.compile(p, x, cuts{})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// compile is Compile with halves that are cut.
func (d *Device) compile(p *plan.Plan, x problem.Vectors, c cuts) (*Program, error) {
	if h, ok := x.(hostSteps); ok {
		x = h.Vectors
	}
	v, ok := x.(*vectors)
	if !ok || v.d != d {
		return nil, fmt.Errorf("cuda: the vectors are %T, want this device's", x)
	}
	dtype := kernels.Float32
	if p.Dtype == tensor.Float64 {
		dtype = kernels.Float64
	}
	set, err := d.set(dtype)
	if err != nil {
		return nil, err
	}
	q := &Program{device: d, plan: p, x: v, set: set, dtype: dtype, size: dtype.Size(), cuts: c, sparse: map[int]*entries{},
		eight: map[int]*eightBit{}, bindings: map[int]func() error{}, quantized: map[*plan.Product]driver.Pointer{}, centered: map[*plan.Product]bool{}, lists: map[any]driver.Pointer{}, pairs: map[*int64]pairs{}, readers: map[int][]plan.Step{}}
	if err := q.compile(); err != nil {
		return nil, errors.Join(err, q.close())
	}
	d.programs = append(d.programs, q)
	return q, nil
}

func (p *Program) compile() error {
	for _, s := range p.steps() {
		for _, o := range s.Reads() {
			p.readers[o.Buffer] = append(p.readers[o.Buffer], s)
		}
	}
	p.consumers = p.plan.FindConsumers()
	if err := p.place(p.x.at[problem.Iterate]); err != nil {
		return err
	}
	if err := p.checkWindows(); err != nil {
		return err
	}
	if err := p.loadData(); err != nil {
		return err
	}
	if err := p.prepareExchange(); err != nil {
		return err
	}
	return p.lower()
}

// regions returns the regions of both halves.
func (p *Program) regions() []plan.Region { return slices.Concat(p.plan.Forward, p.plan.Backward) }

// steps lists the steps of both halves.
func (p *Program) steps() (list []plan.Step) {
	for _, r := range p.regions() {
		list = append(list, r.Steps...)
	}
	return list
}

// results lists f, then the elements of g.
func (p *Program) results() []kernels.Operand {
	list := []kernels.Operand{p.whole(p.plan.Objective)}
	for _, v := range p.plan.Constraints {
		list = append(list, p.whole(v))
	}
	return list
}

// coefficients lists the coefficient of f, then the coefficients of g.
func (p *Program) coefficients() (list []kernels.Operand) {
	for _, v := range p.plan.Coefficients {
		list = append(list, p.whole(v))
	}
	return list
}

// prepareExchange allocates the numbers, and uploads the tables of their addresses.
func (p *Program) prepareExchange() (err error) {
	count := func(list []kernels.Operand) (n int) {
		for _, o := range list {
			n += o.Rows * o.Cols
		}
		return n
	}
	x, out, in := &p.numbers, p.results(), p.coefficients()
	results, factors := count(out), count(in)
	const wide = 8
	if x.pinned, err = p.device.driver.Pinned(wide * (results + factors)); err != nil {
		return fmt.Errorf("cuda: pinned memory for %d numbers: %w", results+factors, err)
	}
	x.values, x.coefficients = typed[float64](x.pinned[:wide*results]), typed[float64](x.pinned[wide*results:])
	x.results = p.device.mapped(x.pinned)
	x.received, x.copied = x.results.Offset(wide*results), x.results == 0
	if x.copied {
		for _, a := range []struct {
			to    *driver.Pointer
			name  string
			bytes int
		}{{&x.results, "f and g", wide * results}, {&x.received, "the coefficients", wide * factors}} {
			if *a.to, err = p.allocate(a.name, a.bytes); err != nil {
				return err
			}
		}
	}
	if !x.copied {
		p.writeDirectly()
	}
	if x.written == nil {
		if x.packed, err = p.table("the addresses of f and g", p.set.Addresses(out...)); err != nil {
			return err
		}
	}
	if factors == 0 {
		return nil
	}
	x.unpacked, err = p.table("the coefficients' addresses", p.set.Addresses(in...))
	return err
}

// writeDirectly finds out whether the kernels of the means can write f and g to the host's memory.
// The coefficients come from there by one launch: if every block of a pass read them, the reads
// over the bus would take longer than the pass.
func (p *Program) writeDirectly() {
	x, at := &p.numbers, p.numbers.results
	x.written = map[int]driver.Pointer{}
	for _, v := range append([]plan.View{p.plan.Objective}, p.plan.Constraints...) {
		x.written[v.Buffer] = at
		at = at.Offset(8 * v.Len())
	}
	means := 0
	for _, s := range p.steps() {
		for _, o := range s.Writes() {
			if x.written[o.Buffer] != 0 {
				if m, ok := s.(*plan.GroupMeans); ok && m.Out.Len() == p.plan.Buffers[m.Out.Buffer].Len() {
					means++
				} else {
					x.written = nil
				}
			}
		}
	}
	if means != 1+len(p.plan.Constraints) || p.cuts.forward != nil { // after a cut the device adds the means
		x.written = nil
	}
}

// table uploads bytes that a kernel reads.
func (p *Program) table(name string, contents []byte) (driver.Pointer, error) {
	at, err := p.allocate(name, len(contents))
	if err != nil {
		return 0, err
	}
	return at, p.device.uploadBytes(at, contents)
}

// Forward implements plan.Program. It waits for the device.
func (p *Program) Forward(g []float64) (f float64, err error) {
	if err := p.Start(); err != nil {
		return 0, err
	}
	return p.Finish(g)
}

// Start queues the forward half. Finish returns its results.
func (p *Program) Start() error {
	for i := range p.forward {
		if err := p.startPart(i); err != nil {
			return err
		}
	}
	return nil
}

// startPart queues a part of the forward half.
func (p *Program) startPart(i int) error {
	run := p.run
	if i == 0 {
		if err := p.bindKept(); err != nil {
			return fmt.Errorf("cuda: forward: %w", err)
		}
		run = p.runFirst
	}
	if err := run(&p.forward[i], 0); err != nil {
		return fmt.Errorf("cuda: forward: %w", err)
	}
	return nil
}

// Finish waits for the device, and returns f and g of the forward half that Start queued.
func (p *Program) Finish(g []float64) (f float64, err error) {
	if err := p.device.driver.Synchronize(p.device.stream); err != nil {
		return 0, fmt.Errorf("cuda: forward: %w", err)
	}
	if err := p.device.hostReads(raw(p.numbers.values)); err != nil {
		return 0, fmt.Errorf("cuda: forward: %w", err)
	}
	p.numbers.uploading = false
	copy(g, p.numbers.values[1:])
	return p.numbers.values[0], nil
}

// Backward implements plan.Program. It does not wait for the device.
func (p *Program) Backward(coefficients []float64, d problem.Vector) error {
	if err := p.prepareBackward(coefficients, d); err != nil {
		return err
	}
	for i := range p.backward {
		if err := p.backwardPart(i); err != nil {
			return err
		}
	}
	return p.endBackward(d)
}

// prepareBackward takes the coefficients for the device, and decides where the gradient for the
// vector d is computed.
func (p *Program) prepareBackward(coefficients []float64, d problem.Vector) (err error) {
	x := &p.numbers
	p.device.settle()
	if len(coefficients) < len(x.coefficients) {
		return fmt.Errorf("cuda: %d coefficients, want %d", len(coefficients), len(x.coefficients))
	}
	if x.uploading {
		if err := p.device.driver.Synchronize(p.device.stream); err != nil {
			return fmt.Errorf("cuda: backward: %w", err)
		}
	}
	copy(x.coefficients, coefficients)
	x.uploading = true
	if p.storage.gradient, err = p.target(p.x.at[d]); err != nil {
		return fmt.Errorf("cuda: backward: %w", err)
	}
	return nil
}

// backwardPart queues a part of the backward half.
func (p *Program) backwardPart(i int) error {
	if err := p.run(&p.backward[i], p.storage.gradient); err != nil {
		return fmt.Errorf("cuda: backward: %w", err)
	}
	return nil
}

// endBackward copies the gradient to the vector d if it was computed elsewhere.
func (p *Program) endBackward(d problem.Vector) error {
	vector := p.x.at[d]
	if p.storage.gradient == vector {
		return nil
	}
	if err := p.device.driver.Copy(p.device.stream, vector, p.storage.gradient, p.gradientBytes()); err != nil {
		return fmt.Errorf("cuda: backward: %w", err)
	}
	return nil
}

// Contents implements plan.Program.
func (p *Program) Contents(v plan.View, dst []float64) error {
	p.device.settle()
	o := p.whole(v)
	last := (o.Rows-1)*o.Stride + o.Cols
	if last == len(dst) {
		return p.device.downloadNumbers(p.dtype, o.At, last, dst)
	}
	all := make([]float64, last)
	if err := p.device.downloadNumbers(p.dtype, o.At, last, all); err != nil {
		return err
	}
	for i := range o.Rows {
		copy(dst[i*o.Cols:(i+1)*o.Cols], all[i*o.Stride:])
	}
	return nil
}

// Close returns the program's memory to the device's pool, without closing the device.
func (p *Program) Close() error {
	p.device.programs = slices.DeleteFunc(p.device.programs, func(q *Program) bool { return q == p })
	return p.close()
}

func (p *Program) close() error {
	p.device.settle()
	failed := []error{p.device.driver.Synchronize(p.device.stream), p.forgetGraphs()}
	if p.numbers.pinned != nil {
		failed = append(failed, p.device.driver.FreePinned(p.numbers.pinned))
	}
	if p.terms != nil {
		failed = append(failed, p.device.driver.FreePinned(p.terms))
	}
	for _, at := range p.storage.held {
		p.device.memory.release(at)
	}
	p.storage.held, p.numbers.pinned, p.terms = nil, nil, nil
	return errors.Join(failed...)
}
