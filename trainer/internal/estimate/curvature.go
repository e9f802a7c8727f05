package estimate

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// Curvature holds the estimates of a problem's curvature that the subgradient and proximal point
// methods make at their start.
type Curvature struct {
	Weak       float64 // largest modulus of weak convexity of f and the g_j: g + (weak/2)||.||^2 is convex
	Objective  float64 // largest absolute eigenvalue of f's Hessian
	Constraint float64 // largest absolute eigenvalue of the Hessians of the constraints' smooth terms
}

const (
	// lanczosSteps is the largest number of Lanczos steps for a Hessian.
	lanczosSteps = 8
	// The move to the second point has length 1. The factor startShrink shortens the move, down to
	// startLength, while f or g is not finite.
	startLength = 1e-3
	startShrink = 0.1
	// lanczosBreakdown is the remainder, relative to the product's length, at which the directions
	// span the whole reachable space of the Hessian.
	lanczosBreakdown = 1e-8
)

// Curvatures estimates the curvature of f and, if terms is true, of the largest terms of the
// constraints. It examines two points: the iterate, and the point at distance 1 down the gradient
// of f. If f or g is not finite at the second point, the distance is shorter. The second point is
// necessary because a start may be a point of symmetry: at x = 0 the sigmoids of a linear model
// have no curvature. For f and each term, Lanczos steps on differences of gradients find the
// extreme eigenvalues of the Hessian. The steps cost 9 gradients at each point, and at counts them.
// The estimates are lower bounds: the extremes of a few directions at two points. Curvatures
// restores the iterate and its forward pass.
func Curvatures(p problem.Problem, at *problem.Point, terms bool) (Curvature, error) {
	n, m := p.Dims()
	e := &spectrum{p: p, at: at, terms: NewTerms(p), g: make([]float64, m), direction: make([]float64, n)}
	for _, v := range []*problem.Vector{&e.start, &e.point, &e.base, &e.q, &e.previous, &e.product} {
		*v = p.Space().New()
		defer p.Space().Free(*v)
	}
	p.Space().Combine(e.start, 1, problem.Iterate, 0, problem.Iterate)
	var s Curvature
	if err := e.examine(&s, terms); err != nil {
		return s, err
	}
	moved, err := e.displace()
	if err != nil {
		return s, err
	}
	if moved {
		if err := e.examine(&s, terms); err != nil {
			return s, err
		}
	}
	p.Space().Combine(problem.Iterate, 1, e.start, 0, e.start)
	return s, at.Forward(p)
}

// spectrum is the state of the estimates.
type spectrum struct {
	p            problem.Problem
	at           *problem.Point
	terms        *Terms
	g, direction []float64
	// start is the iterate to restore. point is the point of the Hessian, and base is the gradient
	// at point. q, previous and product are the vectors of the Lanczos steps.
	start, point, base, q, previous, product problem.Vector
}

// displace moves the iterate from start down the gradient of f, by length 1 or less, and projects
// the iterate. It returns false if the gradient is zero or not finite, or if f or g is not finite
// at every trial point.
func (e *spectrum) displace() (bool, error) {
	p := e.p
	p.Space().Combine(problem.Iterate, 1, e.start, 0, e.start)
	if _, err := p.Forward(e.g); err != nil {
		return false, err
	}
	if err := e.terms.gradient(e.at, 0, e.base); err != nil {
		return false, err
	}
	length := math.Sqrt(p.Space().Dot(e.base, e.base))
	if !(length > 0) || !vec.Finite(length) {
		return false, nil
	}
	for t := 1 / length; t*length > startLength; t *= startShrink {
		p.Space().Combine(problem.Iterate, 1, e.start, -t, e.base)
		p.Space().Project()
		f, err := p.Forward(e.g)
		if err != nil {
			return false, err
		}
		if vec.Finite(f) && vec.FirstNonFinite(e.g) < 0 {
			return true, nil
		}
	}
	return false, nil
}

// examine raises s to the curvatures at the iterate.
func (e *spectrum) examine(s *Curvature, terms bool) error {
	e.p.Space().Combine(e.point, 1, problem.Iterate, 0, problem.Iterate)
	least, largest, err := e.extremes(0)
	if err != nil {
		return err
	}
	s.Objective = math.Max(s.Objective, math.Max(-least, largest))
	s.Weak = math.Max(s.Weak, -least)
	if !terms {
		return nil
	}
	if err := e.forwardAt(0); err != nil {
		return err
	}
	for _, t := range e.terms.largest(e.g) {
		if least, largest, err = e.extremes(1 + t); err != nil {
			return err
		}
		s.Constraint = math.Max(s.Constraint, math.Max(-least, largest))
		positive, negative := e.terms.signs(t)
		if positive {
			s.Weak = math.Max(s.Weak, -least)
		}
		if negative {
			s.Weak = math.Max(s.Weak, largest)
		}
	}
	return nil
}

// forwardAt evaluates f and g at point + t q.
func (e *spectrum) forwardAt(t float64) error {
	e.p.Space().Combine(problem.Iterate, 1, e.point, t, e.q)
	_, err := e.p.Forward(e.g)
	return err
}

// extremes returns the extreme Ritz values of a term's Hessian H at point after Lanczos steps
// (Golub and Van Loan, Matrix Computations, 10.1) from a fixed random direction, with H q =
// (gradient(point + h q) - gradient(point))/h. It returns zeros if a gradient is not finite. Index
// 0 is f, index 1 + t is the term t.
func (e *spectrum) extremes(term int) (least, largest float64, err error) {
	p, h := e.p, DifferenceLength(e.p, e.point)
	e.draw()
	if err := e.forwardAt(0); err != nil {
		return 0, 0, err
	}
	if err := e.terms.gradient(e.at, term, e.base); err != nil {
		return 0, 0, err
	}
	var diagonal, offDiagonal []float64
	for k := range min(lanczosSteps, len(e.direction)) {
		if err := e.forwardAt(h); err != nil {
			return 0, 0, err
		}
		if err := e.terms.gradient(e.at, term, e.product); err != nil {
			return 0, 0, err
		}
		p.Space().Combine(e.product, 1/h, e.product, -1/h, e.base)
		size := math.Sqrt(p.Space().Dot(e.product, e.product))
		along := p.Space().Dot(e.product, e.q)
		p.Space().Combine(e.product, 1, e.product, -along, e.q)
		if k > 0 {
			p.Space().Combine(e.product, 1, e.product, -offDiagonal[k-1], e.previous)
		}
		rest := math.Sqrt(p.Space().Dot(e.product, e.product))
		diagonal, offDiagonal = append(diagonal, along), append(offDiagonal, rest)
		if !(rest > lanczosBreakdown*size) {
			break
		}
		e.q, e.previous = e.previous, e.q
		p.Space().Combine(e.q, 1/rest, e.product, 0, e.product)
	}
	least, largest = tridiagonalExtremes(diagonal, offDiagonal)
	return least, largest, nil
}

// draw sets q to the fixed random direction of length 1.
func (e *spectrum) draw() {
	randomDirection(e.direction)
	e.p.Space().Write(e.q, e.direction)
}

// randomDirection sets d to a fixed random direction of length 1.
func randomDirection(d []float64) {
	rng := rand.New(rand.NewPCG(1, 0))
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	vec.Scale(d, 1/vec.Norm(d))
}

// tridiagonalExtremes returns the extreme eigenvalues of the symmetric tridiagonal matrix with the
// given diagonal and off-diagonal elements, or zeros if an element is not finite.
func tridiagonalExtremes(diagonal, offDiagonal []float64) (least, largest float64) {
	n := len(diagonal)
	if n == 0 || vec.FirstNonFinite(diagonal) >= 0 || vec.FirstNonFinite(offDiagonal) >= 0 {
		return 0, 0
	}
	t := mat.NewSymDense(n, nil)
	for i, d := range diagonal {
		t.SetSym(i, i, d)
		if i > 0 {
			t.SetSym(i-1, i, offDiagonal[i-1])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(t, false) {
		return 0, 0
	}
	values := eigen.Values(nil)
	return values[0], values[n-1]
}

// DifferenceLength returns the length of a finite difference at x: 1e-4 (1 + ||x||) in float64,
// 1e-2 (1 + ||x||) in float32.
func DifferenceLength(p problem.Problem, x problem.Vector) float64 {
	h := differenceLength
	if p.Space().Roundoff() > 0x1p-53 {
		h = narrowDifferenceLength
	}
	return h * (1 + math.Sqrt(p.Space().Dot(x, x)))
}
