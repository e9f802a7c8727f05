package certify

import (
	"math"

	"ppal/trainer/problem"
)

// violation evaluates v(x) = ||max(0, g(x))||^2/2 and its gradient J^T max(0, g). It is also the
// problem with the objective 0, whose passes it counts.
type violation struct {
	smooth       problem.Problem // the problem with smooth constraints g
	space        *problem.Space  // of's vectors; the regularizer is the indicator of r's domain
	g            []float64       // g at the last forward
	coefficients []float64       // of of's backward pass
	evaluations  int             // forward and backward passes
	kinks        bool            // g may have kinks
	shallow      bool            // see problem.Shallow
	scales       *problem.Scales // see problem.Scaled
}

// newViolation returns v of p. The pieces of a maximum count as separate constraints,
// so that v is smooth.
func newViolation(p problem.Problem) *violation {
	f := problem.FeaturesOf(p)
	if pw := f.Pieces; pw != nil {
		p = problem.Split(pw)
	}
	_, m := p.Dims()
	space := *p.Space()
	switch space.Regularizer.Kind {
	case problem.Ball, problem.Box:
	default:
		space.Regularizer = problem.Regularizer{}
	}
	return &violation{smooth: p, space: &space, g: make([]float64, m), coefficients: make([]float64, 1+m), kinks: f.Kinks, shallow: f.Shallow, scales: f.Scales}
}

// Dims implements problem.Problem.
func (q *violation) Dims() (n, m int) { return q.smooth.Dims() }

// Space implements problem.Problem. Its regularizer is the indicator of r's domain.
func (q *violation) Space() *problem.Space { return q.space }

// NonSmooth implements problem.NonSmooth.
func (q *violation) NonSmooth() bool { return q.kinks }

// Shallow implements problem.Shallow.
func (q *violation) Shallow() bool { return q.shallow }

// Scales implements problem.Scaled.
func (q *violation) Scales() *problem.Scales { return q.scales }

// Forward implements problem.Problem. The objective is 0.
func (q *violation) Forward(g []float64) (f float64, err error) {
	q.evaluations++
	_, err = q.smooth.Forward(g)
	return 0, err
}

// Backward implements problem.Problem. The first coefficient is that of the objective 0.
func (q *violation) Backward(coefficients []float64, d problem.Vector) error {
	q.evaluations++
	copy(q.coefficients[1:], coefficients[1:])
	q.coefficients[0] = 0
	return q.smooth.Backward(q.coefficients, d)
}

// forward evaluates g at the iterate and returns v.
func (q *violation) forward() (float64, error) {
	if _, err := q.Forward(q.g); err != nil {
		return math.NaN(), err
	}
	return q.value(), nil
}

// value returns v at the last forward.
func (q *violation) value() float64 {
	sum := 0.0
	for _, g := range q.g {
		sum += max(0, g) * max(0, g)
	}
	return sum / 2
}

// backward writes the gradient factor J^T max(0, g) at the iterate of the last forward.
func (q *violation) backward(factor float64, d problem.Vector) error {
	q.evaluations++
	q.coefficients[0] = 0
	for j, g := range q.g {
		q.coefficients[1+j] = factor * max(0, g)
	}
	return q.smooth.Backward(q.coefficients, d)
}

// gradient writes the gradient of g_j at the iterate of the last forward.
func (q *violation) gradient(j int, d problem.Vector) error {
	q.evaluations++
	clear(q.coefficients)
	q.coefficients[1+j] = 1
	return q.smooth.Backward(q.coefficients, d)
}

// total returns ||max(0, g)||_1 at the last forward.
func (q *violation) total() float64 {
	sum := 0.0
	for _, g := range q.g {
		sum += max(0, g)
	}
	return sum
}
