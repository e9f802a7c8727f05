package estimate

import (
	"context"
	"fmt"
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

const (
	// powerIterations is the number of power iterations of an estimate.
	powerIterations = 12
	// The lengths h of the central differences in float64 and float32, relative to 1 + ||x||. The
	// error is of the order of h^2, from the third derivatives, plus roundoff/h: 1e-8 and 1e-12 in
	// float64, 1e-4 and 6e-6 in float32. In float32 the length 1e-4 would give an error of 6e-4
	// from a single rounding, and a larger error in a sum over many rows. The margin of stepMargin
	// is far larger than both errors.
	differenceLength       = 1e-4
	narrowDifferenceLength = 1e-2
	// stepMargin is the share of the theorems' bound up to which StepWarning does not warn.
	stepMargin = 0.9
)

// StepWarning returns a warning if a fixed step size exceeds 0.9/(L + 3 rho M^2), the theorems'
// bound. L, the Lipschitz constant of d(x) = grad f(x) + J(x)^T w(g(x)), and M = ||J|| are
// estimated at the start. coefficients writes w(g); nil means w = 0. If ctx is cancelled, the
// estimates end early. They are then lower, which never adds a warning.
func StepWarning(ctx context.Context, p problem.Problem, at *problem.Point, eta, rho float64, coefficients func(w, g []float64)) ([]string, error) {
	smoothness, jacobian, err := estimateLipschitz(ctx, p, at, coefficients)
	if err != nil {
		return nil, err
	}
	bound := stepMargin / (smoothness + 3*rho*jacobian*jacobian)
	if eta <= bound || math.IsNaN(bound) {
		return nil, nil
	}
	return []string{fmt.Sprintf(
		"eta = %g is above the theorem's bound, about %.3g (L about %.3g, ||J|| about %.3g at the start): the run may not converge (lower --eta)",
		eta, bound, smoothness, jacobian)}, nil
}

// estimateLipschitz estimates the Lipschitz constant of d(x) = grad f + J^T w(g) and the norm of
// the Jacobian of g at the iterate by power iterations on differences. It restores the iterate and
// its forward pass. It costs about 36 gradients; at does not count them.
func estimateLipschitz(ctx context.Context, p problem.Problem, at *problem.Point, coefficients func(w, g []float64)) (smoothness, jacobian float64, err error) {
	m := problem.Constraints(p)
	e := newDifference(p)
	defer e.scratch.Free()
	w := make([]float64, 1+m)
	d := e.scratch.New()
	direction := func(into problem.Vector) error {
		w[0] = 1
		if coefficients != nil {
			coefficients(w[1:], e.g)
		}
		return p.Backward(w, into)
	}
	// v becomes (d(x + h v) - d(x - h v))/2h.
	smoothness, err = e.power(ctx, func() (float64, error) {
		if err := e.shift(-e.h); err != nil {
			return 0, err
		}
		if err := direction(d); err != nil {
			return 0, err
		}
		if err := e.shift(e.h); err != nil {
			return 0, err
		}
		if err := direction(e.v); err != nil {
			return 0, err
		}
		p.Space().Combine(e.v, 1/(2*e.h), e.v, -1/(2*e.h), d)
		return math.Sqrt(p.Space().Dot(e.v, e.v)), nil
	})
	if err == nil && m > 0 {
		jacobian, err = e.jacobian(ctx, m, func(g []float64) []float64 { return g }, p.Backward)
	}
	if err != nil {
		return 0, 0, err
	}
	p.Space().Combine(problem.Iterate, 1, e.x, 0, e.x)
	return smoothness, jacobian, at.Forward(p)
}

// Jacobian estimates the norm of the Jacobian of the constraints' smooth terms at the iterate by
// power iterations on J^T J. It costs 12 gradients, and at counts them. It restores the iterate and
// its forward pass.
func Jacobian(p problem.Problem, at *problem.Point) (float64, error) {
	e, terms := newDifference(p), NewTerms(p)
	defer e.scratch.Free()
	return e.jacobian(context.Background(), len(terms.coefficients)-1, terms.values, func(w []float64, d problem.Vector) error { return terms.backward(at, w, d) })
}

// difference is the state of power iterations at x, along the direction v.
type difference struct {
	p       problem.Problem
	x, v    problem.Vector
	scratch *problem.Scratch
	h       float64   // length of a difference
	g       []float64 // g at the last point
}

// newDifference returns the state at p's iterate.
func newDifference(p problem.Problem) *difference {
	e := &difference{p: p, scratch: problem.NewScratch(p.Space()), g: make([]float64, problem.Constraints(p))}
	e.x, e.v = e.scratch.New(), e.scratch.New()
	p.Space().Combine(e.x, 1, problem.Iterate, 0, problem.Iterate)
	e.h = DifferenceLength(p, e.x)
	return e
}

// shift evaluates f and g at x + t v.
func (e *difference) shift(t float64) error {
	e.p.Space().Combine(problem.Iterate, 1, e.x, t, e.v)
	_, err := e.p.Forward(e.g)
	return err
}

// power runs power iterations from a fixed random direction, until ctx is cancelled, and returns
// the largest length that apply returns. apply writes the image of v to v and returns the length of
// an image of v. power scales v to length 1 before each call.
func (e *difference) power(ctx context.Context, apply func() (float64, error)) (float64, error) {
	s := e.p.Space()
	direction := make([]float64, s.Len())
	randomDirection(direction)
	s.Write(e.v, direction)
	largest := 0.0
	for k := 0; k < powerIterations && ctx.Err() == nil; k++ {
		if size := math.Sqrt(s.Dot(e.v, e.v)); size > 0 {
			s.Combine(e.v, 1/size, e.v, 0, e.v)
		}
		length, err := apply()
		if err != nil {
			return 0, err
		}
		largest = math.Max(largest, length)
	}
	return largest, nil
}

// jacobian returns the norm of the Jacobian of count values at x, and leaves the problem evaluated
// at x. values extracts the values from g at the last point; backward writes J^T w for the
// coefficients (0, w).
func (e *difference) jacobian(ctx context.Context, count int, values func(g []float64) []float64,
	backward func(w []float64, d problem.Vector) error) (float64, error) {
	image := make([]float64, 1+count) // 0, J v
	return e.power(ctx, func() (float64, error) {
		if err := e.shift(-e.h); err != nil {
			return 0, err
		}
		copy(image[1:], values(e.g))
		if err := e.shift(e.h); err != nil {
			return 0, err
		}
		for i, plus := range values(e.g) {
			image[1+i] = (plus - image[1+i]) / (2 * e.h)
		}
		if err := e.shift(0); err != nil {
			return 0, err
		}
		return vec.Norm(image), backward(image, e.v)
	})
}
