package graph

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// CPU returns an engine that runs plans on this machine's CPU, with the widest kernels that the CPU
// supports and the given number of threads; 0 means GOMAXPROCS, and a negative number is an error.
// Results do not depend on the number of threads.
func CPU(threads int) (Engine, error) {
	d, err := cpu.New(kernel.Best(), threads)
	if err != nil {
		return nil, err
	}
	return On(d), nil
}

// On returns an engine that lowers a definition to a plan and runs the plan on a device, for
// example the GPU of OpenGPU. Lowering removes operations that no output needs, fuses operations,
// and merges equal operations. Several problems may share a device, but only one may run at a time.
func On(d Device) Engine { return Within(d, nil) }

// Within returns the engine On(d), which calls check with the memory that a plan needs at least, in
// bytes, before it allocates the memory. The memory does not include the data. An error of check is
// the error of Compile.
func Within(d Device, check func(bytes uint64) error) Engine {
	return deviceEngine{planned(d), check}
}

// deviceEngine is the Engine that On and Within return.
type deviceEngine struct {
	device plan.Device
	check  func(bytes uint64) error // nil: no check
}

// Compile implements Engine.
func (e deviceEngine) Compile(l *Lagrangian) (Compiled, error) {
	finish, err := e.lower(l)
	if err != nil {
		return nil, err
	}
	return finish()
}

// lower implements lowering.
func (e deviceEngine) lower(l *Lagrangian) (finish func() (Compiled, error), err error) {
	lowered, err := e.plan(l)
	if err != nil {
		return nil, err
	}
	x, err := start(l.Parameters)
	if err != nil {
		return nil, err
	}
	return func() (Compiled, error) { return e.compile(l, lowered, x) }, nil
}

// plan lowers a definition and checks the memory of its plan.
func (e deviceEngine) plan(l *Lagrangian) (*plan.Plan, error) {
	if e.device == nil {
		return nil, errForeign
	}
	keptBytes := 0
	if k, ok := e.device.(plan.LayerKeeper); ok {
		keptBytes = k.KeptBytes()
	}
	lowered, err := l.lower(keptBytes)
	if err == nil && e.check != nil {
		err = e.check(lowered.LeastBytes())
	}
	if err != nil {
		return nil, err
	}
	return lowered, nil
}

// compile compiles a plan for the parameters x. It reads the values of the graph's nodes only.
func (e deviceEngine) compile(l *Lagrangian, lowered *plan.Plan, x *stacked) (Compiled, error) {
	v, err := e.device.NewVectors(l.Dtype, x, l.Regularizer.Map(1).Ends)
	if err != nil {
		return nil, err
	}
	run, err := e.device.Compile(lowered, v)
	if err != nil {
		return nil, err
	}
	forget(lowered)
	p := &deviceProblem{space: problem.NewSpace(v, l.Regularizer), plan: lowered, run: run, dtype: l.Dtype, oneCore: lowered.OneCore()}
	for _, n := range l.Sizes {
		p.m += n
	}
	for _, n := range l.Watch {
		p.shapes = append(p.shapes, n.Shape())
	}
	p.listGrades()
	return p, nil
}

// forget removes the plan's references to the nodes and to data matrices, so that the parameters'
// values, which are copies of the start, and data of the caller can be freed. It keeps sparse
// matrices, because the program shares their entries.
func forget(p *plan.Plan) {
	for i := range p.Buffers {
		p.Buffers[i].Node = nil
	}
	p.Data = slices.Clone(p.Data)
	for i, data := range p.Data {
		if _, ok := data.(matrix.Sparse); !ok {
			p.Data[i] = nil
		}
	}
}

// deviceProblem is a definition compiled for a device. The iterate, the gradients, the data and the
// intermediate values stay on the device; f and g come to the host, the coefficients go to the
// device.
type deviceProblem struct {
	space  *problem.Space
	plan   *plan.Plan
	run    plan.Program
	m      int
	dtype  tensor.Dtype
	shapes []tensor.Shape // of the watched nodes
	// oneCore names the operations that Gorgonia runs
	oneCore []string
	// samples are programs on samples of the rows, by growing share, with the vectors of run
	samples []sampleProgram
	grades  []problem.Grade
	grade   int
	batch   *otherRows // the program on the rows of AddBatch; nil: run or a sample
	yields  bool       // see Problem.Yield
}

var (
	_ Compiled       = (*deviceProblem)(nil)
	_ problem.Graded = (*deviceProblem)(nil)
)

// Space implements problem.Problem.
func (p *deviceProblem) Space() *problem.Space { return p.space }

// Dims implements problem.Problem.
func (p *deviceProblem) Dims() (n, m int) { return p.space.Len(), p.m }

// Forward implements problem.Problem.
func (p *deviceProblem) Forward(g []float64) (float64, error) {
	if err := p.space.Err(); err != nil {
		return 0, fmt.Errorf("graph: %w", err)
	}
	f, err := p.present().Forward(g)
	if err != nil {
		return 0, fmt.Errorf("graph: forward: %w", err)
	}
	return f, nil
}

// Backward implements problem.Problem.
func (p *deviceProblem) Backward(coefficients []float64, d problem.Vector) error {
	if err := p.space.Err(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if err := p.awake(func() error { return p.present().Backward(coefficients, d) }); err != nil {
		return fmt.Errorf("graph: backward: %w", err)
	}
	return nil
}

// awake calls use, which needs the values of the last Forward. If another problem has taken their
// memory, awake repeats Forward.
func (p *deviceProblem) awake(use func() error) error {
	err := use()
	for p.yields && errors.Is(err, plan.ErrRests) {
		if _, err = p.present().Forward(make([]float64, p.m)); err == nil {
			err = use()
		}
	}
	return err
}

// Watched implements Compiled.
func (p *deviceProblem) Watched(i int) (gorgonia.Value, error) {
	wide, err := p.appendWatched(nil, i)
	if err != nil {
		return nil, err
	}
	var backing any = wide
	if p.dtype == tensor.Float32 {
		narrow := make([]float32, len(wide))
		for k, x := range wide {
			narrow[k] = float32(x)
		}
		backing = narrow
	}
	shape := p.shapes[i]
	if p.batch != nil && len(shape) > 0 { // as many rows as the batch
		shape = shape.Clone()
		shape[0] *= len(wide)
		shape[0] /= p.shapes[i].TotalSize()
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing)), nil
}

// appendWatched appends the elements of watched value i to dst.
func (p *deviceProblem) appendWatched(dst []float64, i int) ([]float64, error) {
	if i < 0 || i >= len(p.plan.Watched) {
		return dst, refuse("there is no watched value %d", i)
	}
	run, v, at := p.run, p.plan.Watched[i], len(dst)
	if p.batch != nil {
		run, v = p.batch.Program, p.batch.watched[i]
	}
	dst = slices.Grow(dst, v.Len())[:at+v.Len()]
	if err := p.awake(func() error { return run.Contents(v, dst[at:]) }); err != nil {
		return dst[:at], fmt.Errorf("graph: watched value %d: %w", i, err)
	}
	return dst, nil
}

// Bind implements Compiled.
func (p *deviceProblem) Bind(i int, m matrix.Matrix) error { return p.run.Bind(p.plan.Inputs[i], m) }

// Keep implements Compiled.
func (p *deviceProblem) Keep(i int, m matrix.Matrix) (use func(), err error) {
	if k, ok := p.run.(plan.Keeper); ok {
		return k.Keep(p.plan.Inputs[i], m)
	}
	return nil, nil
}

// Stored implements Compiled.
func (p *deviceProblem) Stored(i int) matrix.EightBit { return p.run.Stored(p.plan.Inputs[i]) }

// Products implements Compiled.
func (p *deviceProblem) Products() string { return p.run.Products() }

// Explain implements Compiled.
func (p *deviceProblem) Explain() string { return p.plan.String() }
