package method

import (
	"math"

	"ppal/trainer/internal/qp"
	"ppal/trainer/problem"
)

// augmentedLagrangian is the function
//
//	L_c(x; lambda) = f(x) + (1/2c) sum_j (max(0, lambda_j + c g_j(x))^2 - lambda_j^2)
//
// of the method of multipliers for inequality constraints.
type augmentedLagrangian struct {
	c            float64
	lambda       []float64
	coefficients []float64 // 1, max(0, lambda + c g) of the last evaluation: the coefficients of the gradient
}

// newAugmentedLagrangian returns L_c for m constraints with lambda = 0.
func newAugmentedLagrangian(c float64, m int) augmentedLagrangian {
	a := augmentedLagrangian{c: c, lambda: make([]float64, m), coefficients: make([]float64, 1+m)}
	a.coefficients[0] = 1
	return a
}

// value returns L_c for f and g, and sets coefficients.
func (a *augmentedLagrangian) value(f float64, g []float64) float64 {
	for j, l := range a.lambda {
		w := max(0, l+a.c*g[j])
		a.coefficients[1+j] = w
		f += (w*w - l*l) / (2 * a.c)
	}
	return f
}

// composite is the accelerated composite gradient method on L_c(.; lambda) + r (Beck and Teboulle
// 2009). The restarts of O'Donoghue and Candes (2015) make the convergence linear on
// strongly convex regions. From x_k and x_{k-1}:
//
//	y       = x_k + b (x_k - x_{k-1})
//	x_{k+1} = prox_{r/s}(y - grad L_c(y)/s)
//
// A step first multiplies s by 0.9. The step then doubles s until L_c(x_{k+1}) is at most the
// quadratic upper bound at y.
type composite struct {
	augmentedLagrangian
	previous, y, d problem.Vector
	smooth         float64 // s
	t              float64 // state of the momentum, 1 at a restart
	// residual bounds the distance from 0 to the subdifferential of L_c + r at the iterate, for the
	// accepted s. It is 0 if rounding alone moved x.
	residual float64
}

const (
	compositeDecay  = 0.9  // factor of s before a step
	compositeLimit  = 1e30 // largest s: a step with a larger s does not move x
	compositeRounds = 64   // unit roundoffs of L_c that the test of the bound allows
	compositeStill  = 4    // unit roundoffs of 1 + ||x||: a shorter step counts as 0
)

// newComposite returns the method on a for p. smooth is the first s.
func newComposite(a augmentedLagrangian, smooth float64, p problem.Problem) *composite {
	return &composite{augmentedLagrangian: a, smooth: smooth, t: 1, previous: p.Space().New(), y: p.Space().New(), d: p.Space().New()}
}

// restart clears the momentum. Call restart after a change of lambda, c or the problem.
func (c *composite) restart() { c.t = 1 }

// step moves the iterate from x_k to x_{k+1}; at holds f and g of x_k. A step costs one backward
// pass and at least two forward passes. The first step after a restart needs no forward pass at y.
func (c *composite) step(p problem.Problem, at *problem.Point) error {
	momentum, following := qp.Momentum(c.t)
	if momentum > 0 {
		p.Space().Combine(c.y, 1+momentum, problem.Iterate, -momentum, c.previous)
	} else {
		p.Space().Combine(c.y, 1, problem.Iterate, 0, problem.Iterate)
	}
	p.Space().Combine(c.previous, 1, problem.Iterate, 0, problem.Iterate)
	if momentum > 0 {
		p.Space().Combine(problem.Iterate, 1, c.y, 0, c.y)
		if err := at.Forward(p); err != nil {
			return err
		}
	}
	value := c.value(at.Objective, at.Constraints)
	if err := at.Backward(p, c.coefficients, c.d); err != nil {
		return err
	}
	c.smooth *= compositeDecay
	length, err := c.search(p, at, value)
	if err != nil {
		return err
	}
	c.residual = 2 * c.smooth * length
	if length <= compositeStill*p.Space().Roundoff()*(1+math.Sqrt(p.Space().Dot(problem.Iterate, problem.Iterate))) {
		c.residual = 0
	}
	p.Space().Combine(c.y, 1, c.y, -1, problem.Iterate)
	if p.Space().Dot(c.y, problem.Iterate) > p.Space().Dot(c.y, c.previous) { // the step goes against the momentum
		following = 1
	}
	c.t = following
	return nil
}

// search finds s and sets the iterate to x_{k+1}, the step from y with this s. value is L_c(y).
// search returns the length of the step.
func (c *composite) search(p problem.Problem, at *problem.Point, value float64) (float64, error) {
	forgiven := compositeRounds * p.Space().Roundoff() * (1 + math.Abs(value))
	for {
		p.Space().Combine(problem.Iterate, 1, c.y, -1/c.smooth, c.d)
		p.Space().Prox(1/c.smooth, problem.Iterate)
		if err := at.Forward(p); err != nil {
			return 0, err
		}
		length := p.Space().Distance(problem.Iterate, c.y)
		bound := value + p.Space().Dot(c.d, problem.Iterate) - p.Space().Dot(c.d, c.y) + c.smooth/2*length*length
		if c.value(at.Objective, at.Constraints) <= bound+forgiven || c.smooth > compositeLimit {
			return length, nil
		}
		c.smooth *= 2
	}
}

// visitState shows the state to v.
func (c *composite) visitState(v problem.StateVisitor) {
	v.Number("composite.smooth", &c.smooth)
	v.Number("composite.t", &c.t)
	v.Number("composite.c", &c.c)
	v.Number("composite.residual", &c.residual)
	v.Numbers("composite.multipliers", c.lambda)
	v.Vector("composite.previous", c.previous)
}
