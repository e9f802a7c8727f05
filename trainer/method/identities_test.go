package method_test

import (
	"math"
	"testing"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// identities asserts, at every iteration, the equations that hold by construction: lambda = mu +
// rho (g + u), nu >= 0, nu.u = 0, ||mu+ - mu|| <= delta/2, z = (lambda - mu)/alpha, ||x|| <= theta,
// and x in the box.
type identities struct {
	t        *testing.T
	p        problem.Problem
	m        trainer.Method
	rounding float64 // relative rounding error of the space's precision
	mu       []float64
	x        []float64
	steps    int
}

func newIdentities(t *testing.T, p problem.Problem, m trainer.Method) *identities {
	n, constraints := p.Dims()
	return &identities{t: t, p: p, m: m, rounding: 1e-12, mu: make([]float64, constraints), x: make([]float64, n)}
}

func (c *identities) Record(*trainer.Record) error { return nil }

// perturbation returns rho, alpha, beta and the bound on ||mu+ - mu||/delta of the perturbed
// Lagrangian methods.
func perturbation(m trainer.Method) (rho, alpha, beta, bound float64, ok bool) {
	var set method.Perturbation
	bound = 0.5
	switch m := m.(type) {
	case *method.PPALA:
		set = m.Perturbation
	case *method.PLADA:
		set = m.Perturbation
		if m.BoxStep {
			bound *= set.Rho()
		}
	default:
		return 0, 0, 0, 0, false
	}
	if alpha = set.Alpha; alpha == 0 {
		alpha = 10
	}
	if beta = set.Beta; beta == 0 {
		beta = 0.1
	}
	return set.Rho(), alpha, beta, bound, true
}

func (c *identities) Tick(at *problem.Point) {
	c.steps++
	c.domain(at)
	rho, alpha, beta, bound, ok := perturbation(c.m)
	if !ok {
		return
	}
	r := c.m.Report()
	moved := 0.0
	for j, lambda := range r.Multipliers {
		mu, u, g, nu := r.Auxiliary[j], r.Slack[j], at.Constraints[j], r.Nu[j]
		size := math.Abs(lambda) + math.Abs(mu) + rho*(math.Abs(g)+u)
		if e := math.Abs(lambda - mu - rho*(g+u)); e > 1e-14*size {
			c.t.Fatalf("step %d: lambda_%d = %v, mu + rho (g + u) differs by %v", c.steps, j, lambda, e)
		}
		// The perturbation z = (lambda - mu)/alpha satisfies g + u - z = beta (lambda - mu).
		z := (lambda - mu) / alpha
		if e := math.Abs(g + u - z - beta*(lambda-mu)); e > 1e-14*(size/rho+math.Abs(g)+u) {
			c.t.Fatalf("step %d: z_%d is %v off", c.steps, j, e)
		}
		if !(nu >= 0) || !(u >= 0) || nu*u > 1e-14*(1+size*size) {
			c.t.Fatalf("step %d: nu_%d = %v, u = %v, want both >= 0 and one of them 0", c.steps, j, nu, u)
		}
		moved += (mu - c.mu[j]) * (mu - c.mu[j])
		c.mu[j] = mu
	}
	size := 0.0
	for _, mu := range c.mu {
		size = math.Max(size, math.Abs(mu))
	}
	if moved = math.Sqrt(moved); moved > bound*r.Delta*(1+1e-12)+1e-15*size {
		c.t.Fatalf("step %d: mu moved by %v, want at most %v", c.steps, moved, bound*r.Delta)
	}
}

// domain asserts that x is in dom r.
func (c *identities) domain(*problem.Point) {
	c.p.Space().Read(c.x, problem.Iterate)
	switch r := c.p.Space().Regularizer; r.Kind {
	case problem.Ball:
		sum := 0.0
		for _, v := range c.x {
			sum += v * v
		}
		if n := math.Sqrt(sum); n > r.Radius*(1+c.rounding) {
			c.t.Fatalf("step %d: ||x|| = %v in a ball of radius %v", c.steps, n, r.Radius)
		}
	case problem.Box:
		for i, v := range c.x {
			if v < r.Lower || v > r.Upper {
				c.t.Fatalf("step %d: x_%d = %v in a box of [%v, %v]", c.steps, i, v, r.Lower, r.Upper)
			}
		}
	}
}
