package testkit

import (
	"testing"

	"ppal/trainer/problem"
)

// narrow is a problem of Go functions whose iterate and vectors are float32.
type narrow struct {
	*problem.HostSpace[float32]
	fn        problem.Functions
	wide, sum []float64 // the iterate and the gradient in float64
	part      []float64 // J^T w
}

// NewNarrow returns the problem of fn at start in float32: Functions.New, with float32 vectors.
func NewNarrow(t testing.TB, fn problem.Functions, start []float64) problem.Problem {
	t.Helper()
	x := make([]float32, fn.N)
	for i, v := range start {
		x[i] = float32(v)
	}
	p := &narrow{HostSpace: problem.NewHostSpace(x, fn.Regularizer), fn: fn,
		wide: make([]float64, fn.N), sum: make([]float64, fn.N), part: make([]float64, fn.N)}
	if fn.Pieces == nil {
		return p
	}
	pw, err := problem.MakePiecewise(p, fn.Pieces)
	if err != nil {
		t.Fatal(err)
	}
	return pw
}

// Dims implements problem.Problem.
func (p *narrow) Dims() (n, m int) { return p.fn.N, p.fn.M }

// Forward implements problem.Problem.
func (p *narrow) Forward(g []float64) (float64, error) {
	p.Read(p.wide, problem.Iterate)
	if p.fn.M > 0 {
		p.fn.G(g, p.wide)
	}
	return p.fn.F(p.wide), nil
}

// Backward implements problem.Problem.
func (p *narrow) Backward(weights []float64, d problem.Vector) error {
	p.Read(p.wide, problem.Iterate)
	p.fn.Gradient(p.sum, p.wide)
	clear(p.part)
	if p.fn.M > 0 {
		p.fn.JacobianT(p.part, p.wide, weights[1:])
	}
	for i := range p.sum {
		p.sum[i] = weights[0]*p.sum[i] + p.part[i]
	}
	p.Write(d, p.sum)
	return nil
}
