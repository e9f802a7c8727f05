package cpu

import (
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// NewVectors implements plan.Device. The steps on the vectors run on the device's threads. The
// results depend on the level of the kernels and not on the number of threads.
func (d *Device) NewVectors(t tensor.Dtype, x matrix.Matrix, _ []int) (problem.Vectors, error) {
	switch t {
	case tensor.Float32:
		return newHostVectors[float32](d, x), nil
	case tensor.Float64:
		return newHostVectors[float64](d, x), nil
	}
	return nil, fmt.Errorf("cpu: vectors of %v, want float32 or float64", t)
}

func newHostVectors[T plan.Float](d *Device, x matrix.Matrix) problem.Vectors {
	n, _ := x.Dims()
	start := anyMemory[T](d, n)
	matrix.Widen(start, x, 0, n)
	return problem.NewHostVectors(start, newPasses[T](d))
}

// Compile implements plan.Device.
func (d *Device) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	if p.Dtype == tensor.Float32 {
		return newProgram[float32](d, p, x)
	}
	return newProgram[float64](d, p, x)
}

// program runs a plan at the iterate of host vectors. The buffers of the parameters are parts of
// the iterate. The buffers of the gradients are parts of the vector that Backward writes.
type program[T plan.Float] struct {
	e *executor[T]
	x *problem.HostVectors[T]
	f [1]float64 // the objective
}

func newProgram[T plan.Float](d *Device, p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	v, ok := x.(*problem.HostVectors[T])
	if !ok {
		return nil, fmt.Errorf("cpu: the vectors are %T, want this device's of %v", x, p.Dtype)
	}
	e, err := newExecutor[T](d, p)
	if err != nil {
		return nil, err
	}
	r := &program[T]{e: e, x: v}
	return r, r.attach(p.Parameters, problem.Iterate)
}

// attach makes the buffers of the views consecutive parts of a vector.
func (r *program[T]) attach(views []plan.View, v problem.Vector) error {
	data, at := r.x.Slice(v), 0
	for _, view := range views {
		if err := r.e.Attach(view, data[at:at+view.Len():at+view.Len()]); err != nil {
			return err
		}
		at += view.Len()
	}
	return nil
}

// Forward implements plan.Program.
func (r *program[T]) Forward(g []float64) (f float64, err error) {
	r.e.passes.Lock()
	defer r.e.passes.Unlock()
	if err := r.e.Forward(); err != nil {
		return 0, err
	}
	at := 0
	for _, v := range r.e.plan.Constraints {
		r.e.Read(v, g[at:at+v.Len()])
		at += v.Len()
	}
	r.e.Read(r.e.plan.Objective, r.f[:])
	return r.f[0], nil
}

// Backward implements plan.Program.
func (r *program[T]) Backward(coefficients []float64, d problem.Vector) error {
	r.e.passes.Lock()
	defer r.e.passes.Unlock()
	if err := r.attach(r.e.plan.Gradients, d); err != nil {
		return err
	}
	return r.e.Backward(coefficients)
}

// Contents implements plan.Program.
func (r *program[T]) Contents(v plan.View, dst []float64) error {
	r.e.passes.Lock()
	defer r.e.passes.Unlock()
	if r.e.rests {
		return plan.ErrRests
	}
	if r.e.division.buffers[v.Buffer] {
		if err := r.e.gather(v.Buffer); err != nil {
			return fmt.Errorf("cpu: %w", err)
		}
	}
	r.e.Read(v, dst)
	return nil
}

// Bind implements plan.Program.
func (r *program[T]) Bind(v plan.View, m matrix.Matrix) error { return r.e.Bind(v, m) }

// Keep implements plan.Keeper.
func (r *program[T]) Keep(v plan.View, m matrix.Matrix) (func(), error) { return r.e.Keep(v, m) }

// Rest implements plan.Rester.
func (r *program[T]) Rest() { r.e.rest() }

// Yield implements plan.Rester.
func (r *program[T]) Yield() { r.e.yields = true }

// Stored implements plan.Program.
func (r *program[T]) Stored(v plan.View) matrix.EightBit { return r.e.Stored(v) }

// CoarseRoundoff implements plan.Grader.
func (r *program[T]) CoarseRoundoff() float64 { return r.e.CoarseRoundoff() }

// SetCoarse implements plan.Grader.
func (r *program[T]) SetCoarse(coarse bool) { r.e.coarse = coarse }

// Coarse implements plan.Grader.
func (r *program[T]) Coarse() bool { return r.e.coarse }

// Products implements plan.Program.
func (r *program[T]) Products() string { return r.e.Products() }

// executor runs one plan in the host's memory.
type executor[T plan.Float] struct {
	*plan.Memory[T]
	plan              *plan.Plan
	k                 *kernel.Kernels[T]
	workers           []*worker[T]
	data              map[int]*kernel.PackedFloats[T] // packed leaves of floats, by buffer
	sparse            map[int]*kernel.Sparse[T]       // sparse leaves, read by their entries
	tails             map[int]*logisticTails[T]       // tails of columns of scores, by buffer
	consumers         plan.Consumers
	negated           map[*int8][]T                  // negated labels, by address of label 0
	bytes             map[int]*kernel.PackedBytes    // packed leaves of 8-bit data, by buffer
	bfloat16          map[int]*kernel.PackedBFloat16 // packed leaves in digits of bfloat16, by buffer
	loads             map[int]*loading[T]            // jobs that fill leaves of floats
	byteLoads         map[int]*byteLoading           // jobs that fill leaves of 8-bit data
	pictures          map[int]*pictureRows[T]        // leaves of pictures that stay bytes, by buffer
	lent              []bool                         // leaves in the memory of a node or a matrix, by buffer
	scales            []float64                      // scales of 8-bit data in float leaves, by buffer; 0: other data
	integers          *kernel.ByteKernels            // kernels of the integer products
	device            *Device
	rests             bool // the kept and temporary buffers have no memory
	yields            bool // see plan.Rester
	passes            sync.Mutex
	borrowed          []byte // their memory, of the device's spare memory; nil: their own
	coarse            bool   // the products have the digits of coarse passes
	forward, backward []*region[T]
	threads           int
	pool              *pool
	inPages           map[int]bool // buffers whose rows lie in the device's pages
	division          division
	slab              []byte // memory in pages for kept rows, see keptAllocator
}

// worker is the memory of one goroutine.
type worker[T plan.Float] struct {
	*plan.Memory[T] // the executor's memory, except for local buffers
	k               *kernel.Kernels[T]
	slot            int // the slot for sums of the current share
	scratch         *kernel.Scratch[T]
	rows            *kernel.PackedFloats[T] // room for a packed block of activations
	temporary       [][]T                   // rows of intermediate results of expressions
	patches         *kernel.Patches[T]
	zero            []T // see zeros
	positive        []T // see softplus
}

func newExecutor[T plan.Float](d *Device, p *plan.Plan) (*executor[T], error) {
	k, err := kernel.New[T](d.level)
	if err != nil {
		return nil, err
	}
	memory, err := plan.NewMemoryOf(p, func(n int) ([]T, error) { return rowMemory[T](d, n) })
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	e := &executor[T]{Memory: memory, plan: p, k: k, inPages: map[int]bool{}, data: map[int]*kernel.PackedFloats[T]{}, sparse: map[int]*kernel.Sparse[T]{},
		bytes: map[int]*kernel.PackedBytes{}, bfloat16: map[int]*kernel.PackedBFloat16{}, loads: map[int]*loading[T]{},
		byteLoads: map[int]*byteLoading{}, pictures: map[int]*pictureRows[T]{}, lent: make([]bool, len(p.Buffers)), scales: make([]float64, len(p.Buffers)), negated: map[*int8][]T{},
		integers: d.bytes, device: d, threads: d.threads, pool: d.pool, division: newDivision(d, p)}
	e.findPages()
	if err := e.packData(); err != nil {
		return nil, err
	}
	for range d.threads {
		e.workers = append(e.workers, e.newWorker())
	}
	e.consumers = p.FindConsumers()
	e.findTails()
	e.forward, e.backward = e.compile(p.Forward), e.compile(p.Backward)
	if e.rests = d.pages == nil; e.rests { // until the first Forward
		return e, nil
	}
	return e, e.wake()
}

// newWorker allocates a worker's memory for the blocks of every region.
func (e *executor[T]) newWorker() *worker[T] {
	own := &plan.Memory[T]{Data: append([][]T{}, e.Data...), First: make([]int, len(e.Data))}
	slots := make([][]T, len(e.plan.Scratch))
	for i, n := range e.scratchSizes() {
		slots[i] = kernel.Alloc[T](n)
	}
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Local {
			own.Data[i] = slots[b.Slot]
		}
	}
	widest := 1 // the widest factor D in A^T D; a worker packs D
	for _, r := range slices.Concat(e.plan.Forward, e.plan.Backward) {
		for _, s := range r.Steps {
			if p, ok := s.(*plan.Product); ok && p.TransA {
				widest = max(widest, p.B.Cols)
			}
		}
	}
	return &worker[T]{Memory: own, k: e.k, scratch: e.k.NewScratch(kernel.RowBlock, widest), rows: e.k.NewPackedFloats(0, 0), patches: e.k.NewPatches()}
}

// Attach gives a parameter, weight or gradient its memory. data has as many elements as the
// buffer.
func (e *executor[T]) Attach(v plan.View, data []T) error {
	if err := e.plan.CheckAttach(v, len(data)); err != nil {
		return err
	}
	e.setData(v.Buffer, data)
	return nil
}

// setData sets the memory of a buffer for the executor and all workers.
func (e *executor[T]) setData(buffer int, data []T) {
	e.Data[buffer] = data
	for _, w := range e.workers {
		w.Data[buffer] = data
	}
}

// wake gives the kept and temporary buffers memory.
func (e *executor[T]) wake() error {
	if err := e.MakeSlots(e.plan, e.newSlots()); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Kept || b.Class == plan.Temporary {
			e.setData(i, e.Data[i])
		}
	}
	e.rests = false
	return nil
}

// Forward computes the objective, the constraints and the watched values.
func (e *executor[T]) Forward() error {
	if e.rests {
		if err := e.wake(); err != nil {
			return err
		}
	}
	return e.run(e.forward)
}

// Backward computes the gradients. The coefficients start with the coefficient of the objective,
// and the coefficients of the constraints follow.
func (e *executor[T]) Backward(coefficients []float64) error {
	if e.rests {
		return plan.ErrRests
	}
	if err := e.SetCoefficients(e.plan, coefficients); err != nil {
		return err
	}
	return e.run(e.backward)
}

// run runs regions in their order.
func (e *executor[T]) run(regions []*region[T]) error {
	for _, r := range regions {
		if err := r.run(); err != nil {
			return err
		}
	}
	return nil
}
