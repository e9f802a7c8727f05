package step

import (
	"fmt"
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// innerStep is PLADA's x-step by several subgradient steps on the exact subproblem
//
//	minimise <grad f(x_k), y> + <lambda, g(y)> + ||y - x_k||^2/(2 e) + r(y).
//
// The subproblem is 1/e-strongly convex for convex g and lambda >= 0. From y_0 = x_k, with d_t a
// subgradient of <lambda, g> at y_t,
//
//	y_{t+1} = prox_{s r}(y_t - s (grad f(x_k) + d_t + (y_t - x_k)/e)),  s = 2e/(t + 2),
//
// and x+ is the (t+1)-weighted mean of the y_t (Lacoste-Julien, Schmidt and Bach, arXiv:1212.2002).
// Each inner step costs one forward and one backward pass; the x-step costs one more backward pass.
// The step size e is fixed or follows the curvature rule along grad f + d^T lambda.
type innerStep struct {
	set                       Settings
	steps                     int            // number of inner steps
	k                         int            // number of x-steps
	step                      float64        // e_k; NaN before the first x-step
	rule                      curvature      // the curvature rule
	gradient, d, center, mean problem.Vector // grad f(x_k), the direction, x_k, the mean of the y_t
	moved                     problem.Vector // y - x_k
	g, coefficients           []float64      // buffers for Forward and Backward
}

// NewInner returns PLADA's x-step with the given number of inner steps. The error wraps
// problem.ErrSettings if the settings ask for momentum or Adam.
func NewInner(set Settings, steps int, p problem.Problem) (*innerStep, error) {
	if set.Momentum != 0 || set.Kind == Adam {
		return nil, fmt.Errorf("step: %w: the x-step inner supports neither momentum nor Adam", problem.ErrSettings)
	}
	m := problem.Constraints(p)
	s := &innerStep{set: set, steps: steps, step: math.NaN(), g: make([]float64, m), coefficients: make([]float64, 1+m),
		gradient: p.Space().New(), d: p.Space().New(), center: p.Space().New(), mean: p.Space().New(), moved: p.Space().New()}
	if !set.Fixed {
		s.rule = newCurvature(p)
	}
	return s, nil
}

// Last implements Step.
func (s *innerStep) Last() float64 { return s.step }

// Move implements Step.
func (s *innerStep) Move(p problem.Problem, at *problem.Point, dir Direction) error {
	if err := at.Backward(p, dir.Coefficients, s.d); err != nil {
		return err
	}
	if err := s.size(p, at, dir); err != nil {
		return err
	}
	clear(s.coefficients)
	s.coefficients[0] = 1
	if err := at.Backward(p, s.coefficients, s.gradient); err != nil {
		return err
	}
	copy(s.coefficients, dir.Coefficients)
	s.coefficients[0] = 0
	p.Space().Combine(s.center, 1, problem.Iterate, 0, problem.Iterate)
	direction := s.d
	s.d = s.rule.remember(direction)
	p.Space().Combine(s.d, 1, direction, -1, s.gradient) // subgradient of <lambda, g> at y_0
	for t := range s.steps {
		if t > 0 {
			if _, err := p.Forward(s.g); err != nil {
				return err
			}
			if err := at.Backward(p, s.coefficients, s.d); err != nil {
				return err
			}
		}
		// y - s(gradient + d + (y - center)/e), with s = 2e/(t+2)
		length := 2 * s.step / float64(t+2)
		p.Space().Combine(s.d, 1, s.d, 1, s.gradient)
		p.Space().Combine(s.moved, 1, problem.Iterate, -1, s.center) // subtract before the division: y/e - x_k/e would cancel
		p.Space().Combine(s.d, 1, s.d, 1/s.step, s.moved)
		p.Space().Descend(problem.Descent{Direction: s.d, Step: length, Length: length})
		share := 2 / float64(t+2) // the running (t+1)-weighted mean
		p.Space().Combine(s.mean, 1-share, s.mean, share, problem.Iterate)
	}
	p.Space().Combine(problem.Iterate, 1, s.mean, 0, s.mean)
	if s.rule.on {
		s.rule.moved(p.Space().Distance(problem.Iterate, s.center))
	}
	s.k++
	return nil
}

// size sets e_k.
func (s *innerStep) size(p problem.Problem, at *problem.Point, dir Direction) error {
	if s.set.Fixed {
		s.step = s.set.Eta
		return nil
	}
	scale := 1 + vec.Norm1(dir.Coefficients[1:])
	if s.k == 0 {
		if err := s.rule.probe(p, at, s.d, dir, scale); err != nil {
			return err
		}
	} else {
		s.rule.observe(s.k, s.d, scale)
	}
	s.step = s.rule.step(s.set.Eta) / scale
	return nil
}

// VisitState implements Step.
func (s *innerStep) VisitState(v problem.StateVisitor) {
	v.Count("inner.k", &s.k)
	v.Number("inner.step", &s.step)
	if s.rule.on {
		s.rule.visitState(v)
	}
}
