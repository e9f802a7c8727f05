package estimate

import (
	"fmt"
	"math"
	"math/rand/v2"

	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

const (
	powerIterations = 12
	// The lengths of the central differences, of 1 + ||x||. The error is of the order of h^2 from the third derivatives and of
	// roundoff/h: 1e-8 and 1e-12 in float64, 1e-4 and 6e-6 in float32, where 1e-4 would leave 6e-4 of one rounding and more of a
	// sum over many rows. Both are far inside stepMargin.
	differenceLength       = 1e-4
	narrowDifferenceLength = 1e-2
	stepMargin             = 0.9
)

// stepWarning compares a fixed step size with 0.9/(L + 3 rho M^2), the theorems' bound, L the Lipschitz constant of
// d(x) = grad f(x) + J(x)^T w(g(x)) and M = ||J||, both estimated at the start. w nil means weights 0.
func StepWarning(p problem.Problem, at *problem.Point, eta, rho float64, weights func(w, g []float64)) ([]string, error) {
	smoothness, jacobian, err := estimateLipschitz(p, at, weights)
	if err != nil {
		return nil, err
	}
	bound := stepMargin / (smoothness + 3*rho*jacobian*jacobian)
	if eta <= bound || math.IsNaN(bound) {
		return nil, nil
	}
	return []string{fmt.Sprintf(
		"eta = %g is above the theorem's bound, about %.3g (L about %.3g, ||J|| about %.3g at the start): the run may not converge",
		eta, bound, smoothness, jacobian)}, nil
}

// estimateLipschitz runs the power iteration on differences of d(x) = grad f + J^T w(g) and of g at the iterate, and leaves the
// iterate and its forward pass as they were. The directions are drawn from a fixed seed. It costs about 25 gradients, not counted.
func estimateLipschitz(p problem.Problem, at *problem.Point, weights func(w, g []float64)) (smoothness, jacobian float64, err error) {
	n, m := p.Dims()
	e := &difference{p: p, at: at, g: make([]float64, m), w: make([]float64, 1+m), weights: weights,
		x: p.Space().New(), base: p.Space().New(), v: p.Space().New(), d: p.Space().New()}
	defer func() {
		for _, v := range []problem.Vector{e.x, e.base, e.v, e.d} {
			p.Space().Free(v)
		}
	}()
	p.Space().Combine(e.x, 1, problem.Iterate, 0, problem.Iterate)
	e.h = differenceLength
	if p.Space().Roundoff() > 0x1p-53 {
		e.h = narrowDifferenceLength
	}
	e.h *= 1 + math.Sqrt(p.Space().Dot(e.x, e.x))
	rng := rand.New(rand.NewPCG(1, 0))
	start := make([]float64, n)
	draw := func() {
		for i := range start {
			start[i] = rng.NormFloat64()
		}
		p.Space().Write(e.v, start)
	}
	draw()
	for range powerIterations {
		if smoothness, err = e.gradient(); err != nil {
			return 0, 0, err
		}
	}
	if m > 0 {
		draw()
		for range powerIterations {
			if jacobian, err = e.jacobian(); err != nil {
				return 0, 0, err
			}
		}
	}
	p.Space().Combine(problem.Iterate, 1, e.x, 0, e.x)
	return smoothness, jacobian, at.Forward(p)
}

// difference is the state of the power iterations: v is the direction, d takes the image.
type difference struct {
	p             problem.Problem
	at            *problem.Point
	g, w          []float64
	weights       func(w, g []float64)
	x, base, v, d problem.Vector
	h             float64
}

// shift puts the iterate at x + t v/||v||.
func (e *difference) shift(t float64) error {
	if n := math.Sqrt(e.p.Space().Dot(e.v, e.v)); n > 0 {
		e.p.Space().Combine(e.v, 1/n, e.v, 0, e.v)
	}
	e.p.Space().Combine(problem.Iterate, 1, e.x, t, e.v)
	_, err := e.p.Forward(e.g)
	return err
}

// direction writes d(x) at the iterate of the last forward pass.
func (e *difference) direction(into problem.Vector) error {
	clear(e.w)
	e.w[0] = 1
	if e.weights != nil {
		e.weights(e.w[1:], e.g)
	}
	return e.p.Backward(e.w, into)
}

// gradient takes v to (d(x + h v) - d(x - h v))/2h and returns its length.
func (e *difference) gradient() (float64, error) {
	if err := e.shift(-e.h); err != nil {
		return 0, err
	}
	if err := e.direction(e.base); err != nil {
		return 0, err
	}
	if err := e.shift(e.h); err != nil {
		return 0, err
	}
	if err := e.direction(e.d); err != nil {
		return 0, err
	}
	e.p.Space().Combine(e.v, 1/(2*e.h), e.d, -1/(2*e.h), e.base)
	return math.Sqrt(e.p.Space().Dot(e.v, e.v)), nil
}

// jacobian takes v to J^T J v, J v by a central difference, and returns ||J v||.
func (e *difference) jacobian() (float64, error) {
	if err := e.shift(-e.h); err != nil {
		return 0, err
	}
	jv := append([]float64{}, e.g...)
	if err := e.shift(e.h); err != nil {
		return 0, err
	}
	for j, g := range e.g {
		jv[j] = (g - jv[j]) / (2 * e.h)
	}
	if err := e.shift(0); err != nil {
		return 0, err
	}
	copy(e.w[1:], jv)
	e.w[0] = 0
	return vec.Norm(jv), e.p.Backward(e.w, e.v)
}
