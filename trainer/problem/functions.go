package problem

import (
	"fmt"

	"ppal/trainer/internal/vec"
)

// Functions is a problem of Go functions on float64 vectors. F and Gradient are needed; G and
// JacobianT where M > 0. The functions must not keep or change x.
//
// With Pieces, M counts smooth terms h(x) instead: G gives h, JacobianT is of h, and the
// constraints are the maxima of the pieces (see Piece).
type Functions struct {
	N, M        int
	F           func(x []float64) float64
	Gradient    func(dst, x []float64)    // dst = grad f(x)
	G           func(dst, x []float64)    // dst = g(x), length M
	JacobianT   func(dst, x, w []float64) // dst = J(x)^T w
	Pieces      []Piece
	Regularizer Regularizer
}

// New returns the problem with its iterate at start (copied).
func (fn Functions) New(start []float64) (Problem, error) {
	switch {
	case fn.N <= 0 || fn.M < 0:
		return nil, fmt.Errorf("trainer: %w: %d variables and %d constraints", ErrSettings, fn.N, fn.M)
	case len(start) != fn.N:
		return nil, fmt.Errorf("trainer: %w: the start has %d numbers, the problem %d variables", ErrSettings, len(start), fn.N)
	case fn.F == nil || fn.Gradient == nil || fn.M > 0 && (fn.G == nil || fn.JacobianT == nil):
		return nil, fmt.Errorf("trainer: %w: Functions needs F and Gradient, and G and JacobianT with constraints", ErrSettings)
	}
	if err := fn.Regularizer.Validate(fn.N); err != nil {
		return nil, err
	}
	x := make([]float64, fn.N)
	copy(x, start)
	p := &functionsProblem{HostSpace: NewHostSpace(x, fn.Regularizer), fn: fn, scratch: make([]float64, fn.N)}
	if fn.Pieces == nil {
		return p, nil
	}
	return newPiecewise(p, fn.Pieces)
}

// functionsProblem is the smooth problem min f + r s.t. G(x) <= 0, or the terms under a piecewise
// problem.
type functionsProblem struct {
	*HostSpace[float64]
	fn      Functions
	scratch []float64
}

// Dims implements Problem.
func (p *functionsProblem) Dims() (n, m int) { return p.fn.N, p.fn.M }

// Forward implements Problem.
func (p *functionsProblem) Forward(g []float64) (float64, error) {
	x := p.Slice(Iterate)
	if p.fn.M > 0 {
		p.fn.G(g, x)
	}
	return p.fn.F(x), nil
}

// Backward implements Problem.
func (p *functionsProblem) Backward(coefficients []float64, d Vector) error {
	x, dst := p.Slice(Iterate), p.Slice(d)
	w0, w := coefficients[0], coefficients[1:]
	if w0 == 0 {
		clear(dst)
	} else {
		p.fn.Gradient(dst, x)
		if w0 != 1 {
			vec.Scale(dst, w0)
		}
	}
	if allZero(w) {
		return nil
	}
	p.fn.JacobianT(p.scratch, x, w)
	for i, v := range p.scratch {
		dst[i] += v
	}
	return nil
}

func allZero(w []float64) bool {
	for _, v := range w {
		if v != 0 {
			return false
		}
	}
	return true
}
