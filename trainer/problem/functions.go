package problem

import (
	"fmt"

	"ppal/internal/vec"
)

// Functions is a problem of Go functions on float64 vectors. F and Gradient are required. If M > 0,
// G and JacobianT are required too. The functions must not keep or change x.
//
// With Pieces, M is the number of smooth terms h(x): G computes h, JacobianT computes J(x)^T w for
// the Jacobian J of h, and the constraints are the maxima of the pieces (see Piece).
type Functions struct {
	N, M        int                       // numbers of variables and constraints
	F           func(x []float64) float64 // returns f(x)
	Gradient    func(dst, x []float64)    // dst = grad f(x)
	G           func(dst, x []float64)    // dst = g(x), length M
	JacobianT   func(dst, x, w []float64) // dst = J(x)^T w
	Pieces      []Piece                   // nil: the constraints are G <= 0
	Regularizer Regularizer               // r; the default is r = 0
}

// New returns the problem with its iterate at start (copied). The error wraps ErrSettings.
func (fn Functions) New(start []float64) (Problem, error) {
	switch {
	case fn.N <= 0 || fn.M < 0:
		return nil, fmt.Errorf("problem: %w: Functions has N = %d and M = %d, want N > 0 and M >= 0", ErrSettings, fn.N, fn.M)
	case len(start) != fn.N:
		return nil, fmt.Errorf("problem: %w: the start has %d numbers, want N = %d", ErrSettings, len(start), fn.N)
	case fn.F == nil || fn.Gradient == nil || fn.M > 0 && (fn.G == nil || fn.JacobianT == nil):
		return nil, fmt.Errorf("problem: %w: a function is nil: Functions needs F and Gradient, and if M > 0 also G and JacobianT", ErrSettings)
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

// functionsProblem is the smooth problem min f + r s.t. G(x) <= 0, or the smooth problem of the
// terms that a piecewise problem wraps.
type functionsProblem struct {
	*HostSpace[float64]
	fn      Functions
	scratch []float64 // J(x)^T w
}

// Dims implements Problem.
func (p *functionsProblem) Dims() (n, m int) { return p.fn.N, p.fn.M }

// Shallow implements Shallow.
func (p *functionsProblem) Shallow() bool { return true }

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

// allZero reports whether every element of w is 0.
func allZero(w []float64) bool {
	for _, v := range w {
		if v != 0 {
			return false
		}
	}
	return true
}
