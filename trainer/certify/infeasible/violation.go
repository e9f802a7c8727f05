package infeasible

import (
	"math"

	"ppal/trainer/problem"
)

// violation evaluates v(x) = ||max(0, g(x))||^2/2 and its gradient J^T max(0, g).
type violation struct {
	of           problem.Problem // the problem with smooth constraints g
	space        *problem.Space  // of's vectors; the regularizer is the indicator of r's domain
	g            []float64       // g at the last forward
	coefficients []float64       // of of's backward pass
	evaluations  int             // forward and backward passes
}

// newViolation returns v of p. The pieces of a maximum count as separate constraints,
// so that v is smooth.
func newViolation(p problem.Problem) *violation {
	if pw := problem.FeaturesOf(p).Pieces; pw != nil {
		p = problem.Split(pw)
	}
	_, m := p.Dims()
	space := *p.Space()
	switch space.Regularizer.Kind {
	case problem.Ball, problem.Box:
	default:
		space.Regularizer = problem.Regularizer{}
	}
	return &violation{of: p, space: &space, g: make([]float64, m), coefficients: make([]float64, 1+m)}
}

// forward evaluates g at the iterate and returns v.
func (q *violation) forward() (float64, error) {
	q.evaluations++
	if _, err := q.of.Forward(q.g); err != nil {
		return math.NaN(), err
	}
	sum := 0.0
	for _, g := range q.g {
		sum += max(0, g) * max(0, g)
	}
	return sum / 2, nil
}

// backward writes the gradient factor J^T max(0, g) at the iterate of the last forward.
func (q *violation) backward(factor float64, d problem.Vector) error {
	q.evaluations++
	q.coefficients[0] = 0
	for j, g := range q.g {
		q.coefficients[1+j] = factor * max(0, g)
	}
	return q.of.Backward(q.coefficients, d)
}

// gradient writes the gradient of g_j at the iterate of the last forward.
func (q *violation) gradient(j int, d problem.Vector) error {
	q.evaluations++
	clear(q.coefficients)
	q.coefficients[1+j] = 1
	return q.of.Backward(q.coefficients, d)
}

// total returns ||max(0, g)||_1 at the last forward.
func (q *violation) total() float64 {
	sum := 0.0
	for _, g := range q.g {
		sum += max(0, g)
	}
	return sum
}
