package suite

import (
	"context"
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// Built is a problem on the CPU, with its iterate at the start. The caller closes it.
type Built struct {
	problem.Problem
	Name    string
	task    string // the name of the task; "" for functions
	session *session.Session
}

// Close releases the device.
func (b *Built) Close() error {
	if b.session == nil {
		return nil
	}
	return b.session.Close()
}

// Inner implements problem.Form.
func (b *Built) Inner() problem.Problem { return b.Problem }

// NonSmooth implements problem.NonSmooth.
func (b *Built) NonSmooth() bool { return problem.FeaturesOf(b.Problem).Kinks }

// Build loads the data of a problem and builds it on the CPU, without training. dir is the
// directory of the data sets' files. seed chooses the start; 0 means the problem's own seed. Test
// problems have a fixed start and compute on one thread. threads 0 means all cores.
func Build(ctx context.Context, p Problem, dir string, seed uint64, threads int) (*Built, error) {
	if p.Functions != "" {
		return buildFunctions(p)
	}
	if seed == 0 {
		seed = p.Seed
	}
	o := p.options(dir)
	o.Device = session.Device{Kind: session.CPU, Threads: threads}
	if p.Float64 {
		o.Device.Dtype = tensor.Float64
	}
	o.Settings = trainer.Settings{Seed: seed}
	s, err := session.New(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("suite: %s: %w", p.Name, err)
	}
	built := s.Problem()
	if p.Ridge > 0 {
		built = &ridge{built, p.Ridge}
	}
	return &Built{built, p.Name, s.Describe().Task, s}, nil
}

// buildFunctions builds a test problem. Pieces and bounds on coordinates become smooth constraints.
func buildFunctions(p Problem) (*Built, error) {
	t, ok := testproblems.ByName(p.Functions)
	if !ok {
		return nil, fmt.Errorf("suite: %s: there is no test problem %s", p.Name, p.Functions)
	}
	t = t.Split().BoundsAsConstraints()
	fn := problem.Functions{N: t.N, M: t.M, F: t.F, Gradient: t.Grad, G: t.G, JacobianT: t.JTW}
	if t.Ball > 0 {
		fn.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: t.Ball}
	}
	built, err := fn.New(t.Start)
	if err != nil {
		return nil, fmt.Errorf("suite: %s: %w", p.Name, err)
	}
	return &Built{built, p.Name, "", nil}, nil
}

// optimum returns the optimal value of a test problem, and infinity for other problems.
func (p Problem) optimum() float64 {
	if t, ok := testproblems.ByName(p.Functions); ok {
		return t.Value
	}
	return math.Inf(1)
}

// ridge adds weight/2 ||x||^2 to the objective of a problem, so that the objective is smooth and
// the problem has no regularizer.
type ridge struct {
	problem.Problem
	weight float64
}

// Forward implements problem.Problem.
func (r *ridge) Forward(g []float64) (float64, error) {
	f, err := r.Problem.Forward(g)
	return f + r.weight/2*r.Space().Dot(problem.Iterate, problem.Iterate), err
}

// Backward implements problem.Problem.
func (r *ridge) Backward(coefficients []float64, d problem.Vector) error {
	if err := r.Problem.Backward(coefficients, d); err != nil {
		return err
	}
	r.Space().Combine(d, 1, d, coefficients[0]*r.weight, problem.Iterate)
	return nil
}

// Inner implements problem.Form.
func (r *ridge) Inner() problem.Problem { return r.Problem }

// NonSmooth implements problem.NonSmooth.
func (r *ridge) NonSmooth() bool { return problem.FeaturesOf(r.Problem).Kinks }
