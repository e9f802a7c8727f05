package ranks

import (
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// Device returns a device whose programs run in all processes of the team: each Forward, Backward
// and Contents that rank 0 calls. inner divides the rows among the processes. All processes compile
// the same plans in the same order. The other processes take the weights from rank 0, and keep
// neither gradients nor steps.
func Device(inner plan.Device, t *Team) plan.Device { return device{inner, t} }

type device struct {
	plan.Device
	team *Team
}

var _ plan.Collective = device{}

// Collective implements plan.Collective.
func (device) Collective() {}

// Compile implements plan.Device.
func (d device) Compile(p *plan.Plan, x problem.Vectors) (plan.Program, error) {
	inner, err := d.Device.Compile(p, x)
	if err != nil {
		return nil, err
	}
	run := &program{Program: inner, vectors: x, leads: d.team.Rank() == 0, wide: make([]float64, x.Len())}
	if p.Dtype == tensor.Float32 {
		run.narrow = make([]float32, x.Len())
	}
	for _, v := range p.Constraints {
		run.m += v.Len()
	}
	run.forward = d.team.Register(run.runForward)
	run.backward = d.team.Register(run.runBackward)
	run.contents = d.team.Register(run.runContents)
	return run, nil
}

// program runs a program in all processes.
type program struct {
	plan.Program
	vectors                     problem.Vectors
	leads                       bool
	m                           int       // elements of the constraints
	wide                        []float64 // the iterate
	narrow                      []float32 // the iterate in a message; nil: wide
	forward, backward, contents Procedure

	// arguments and results of the procedures in rank 0
	f         float64
	g         []float64
	direction problem.Vector
	values    []float64
}

// Forward implements plan.Program.
func (p *program) Forward(g []float64) (float64, error) {
	p.vectors.Read(p.wide, problem.Iterate)
	message := Bytes(p.wide)
	if p.narrow != nil {
		for i, v := range p.wide {
			p.narrow[i] = float32(v)
		}
		message = Bytes(p.narrow)
	}
	p.g = g
	err := p.forward(message)
	return p.f, err
}

func (p *program) runForward(message []byte) (err error) {
	if !p.leads {
		x := Numbers[float64](message)
		if p.narrow != nil {
			for i, v := range Numbers[float32](message) {
				p.wide[i] = float64(v)
			}
			x = p.wide
		}
		p.vectors.Write(problem.Iterate, x)
		if len(p.g) != p.m {
			p.g = make([]float64, p.m)
		}
	}
	p.f, err = p.Program.Forward(p.g)
	return err
}

// Backward implements plan.Program.
func (p *program) Backward(coefficients []float64, d problem.Vector) error {
	p.direction = d
	return p.backward(Bytes(coefficients))
}

func (p *program) runBackward(coefficients []byte) error {
	if p.direction == problem.Iterate { // the first call in a process that serves
		p.direction = p.vectors.New()
	}
	return p.Program.Backward(Numbers[float64](coefficients), p.direction)
}

// Contents implements plan.Program.
func (p *program) Contents(v plan.View, dst []float64) error {
	p.values = dst
	return p.contents(Bytes([]float64{float64(v.Buffer), float64(v.Offset), float64(v.Stride), float64(v.Rows), float64(v.Cols)}))
}

func (p *program) runContents(message []byte) error {
	view := Numbers[float64](message)
	v := plan.View{Buffer: int(view[0]), Offset: int(view[1]), Stride: int(view[2]), Rows: int(view[3]), Cols: int(view[4])}
	if !p.leads && len(p.values) < v.Len() {
		p.values = make([]float64, v.Len())
	}
	return p.Program.Contents(v, p.values)
}

// Bind implements plan.Program. It binds the rows of this process: all processes call Bind in a
// procedure of their own.
func (p *program) Bind(v plan.View, m matrix.Matrix) error { return p.Program.Bind(v, m) }

// Keep implements plan.Keeper as Bind implements plan.Program: all processes call Keep, and later
// the function that it returns, in procedures of their own.
func (p *program) Keep(v plan.View, m matrix.Matrix) (use func(), err error) {
	if k, ok := p.Program.(plan.Keeper); ok {
		return k.Keep(v, m)
	}
	return nil, nil
}
