package certify

import (
	"context"
	"fmt"
	"math"

	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// NearSettings are the settings of MeasureNear. The zero value works.
type NearSettings struct {
	// RhoHat is rho^ > 0, the weight of the proximal term, above the moduli of weak convexity of f
	// and g; 0 is the default: the default of method.ProximalPoint, estimated at the iterate.
	// Distances are comparable only at the same rho^. If the modulus estimated at the iterate is at
	// least RhoHat, MeasureNear returns a Reason instead of a distance.
	RhoHat float64
	// Modulus is the largest modulus of weak convexity; 0 is the default: RhoHat/2, or the
	// estimate.
	Modulus float64
	// Tolerance is the KKT epsilon to which MeasureNear solves the proximal problem; stationarity and
	// complementarity are relative to 1 + ||nu||_1, as in the error of the distance. 0 is the
	// default: 1e-7, or the rounding error if larger: 128 unit roundoffs of 1 + the norms of the
	// gradients, and 16 unit roundoffs of the iterate's norm times the curvature (8e-6 and 1e-6 in
	// float32). The solver keeps a margin below Tolerance if rounding allows it.
	Tolerance float64
	// Iterations is the largest number of solver iterations; 0 is the default, 500.
	Iterations int
}

// The defaults of Settings.
const (
	DefaultNearTolerance  = 1e-7
	DefaultNearIterations = 500
)

// Stationarity is the distance of the iterate x to the solution x^ of its proximal problem,
//
//	minimise f(y) + r(y) + (rho^/2)||y - x||^2  subject to  g_j(y) + (rho^/2)||y - x||^2 <= 0,
//
// the measure of Huang and Lin (NeurIPS 2023) and of Boob, Deng and Lan (2022). If the distance is
// small, x is near a point that is nearly KKT. Unlike the residual at x, the distance does not jump
// if x narrowly misses a kink.
type Stationarity struct {
	Distance float64 // ||x - x^||; NaN if Reason is set
	// Error bounds the error of Distance, with the residuals and the multiplier nu of Certificate
	// and the modulus of strong convexity s = rho^ - modulus:
	//
	//	Error = (v + sqrt(v^2 + 2 S (||nu||_1 infeasibility + complementarity)))/S,
	//	S = 2 s (1 + ||nu||_1),  v = stationarity.
	Error       float64
	RhoHat      float64
	Certificate Certificate // certificate of the proximal problem, in its split form, at the computed solution
	Iterations  int         // solver iterations
	// Reason says why MeasureNear returns no distance: the proximal problem is infeasible, not convex,
	// or was not solved. "" if Distance is valid.
	Reason string
}

// MeasureNear solves the proximal problem at the iterate by the moving balls method of Auslender,
// Shefi and Teboulle (SIAM Journal on Optimization 20, 2010), with maxima in split form. at holds f
// and g of the last Forward at the iterate; MeasureNear restores the iterate and its forward pass.
// It costs 5 to 20 iterations, each a forward pass and a backward pass for f and for each of the
// few relevant constraints, and 18 gradients for the curvature of f and of each of up to 4 terms of
// the constraints; at counts none of them.
//
// MeasureNear recognises an infeasible problem by a positive lower bound of the constraints'
// maximum: phi - ||v||^2/(2 s) > 0. phi and v are the value and the gradient of a convex
// combination of the constraints. If r is an indicator, the bound is the minimum over the ball or
// the box.
//
// If ctx is cancelled, MeasureNear takes no more steps.
func MeasureNear(ctx context.Context, p problem.Problem, at *problem.Point, set NearSettings) (Stationarity, error) {
	if err := set.Validate(); err != nil {
		return Stationarity{}, err
	}
	uncounted := *at
	nearMeasured, err := estimate.Curvatures(p, &uncounted, true)
	if err != nil {
		return Stationarity{}, fmt.Errorf("near: near stationarity: %w", err)
	}
	if set.RhoHat > 0 && set.RhoHat <= nearMeasured.Weak {
		return Stationarity{Distance: math.NaN(), RhoHat: set.RhoHat, Reason: fmt.Sprintf(
			"rho^ = %.3g is at most the modulus of weak convexity at the iterate, %.3g: the proximal problem is not convex", set.RhoHat, nearMeasured.Weak)}, nil
	}
	n := newNearSolver(p, set, nearMeasured)
	result, err := n.run(ctx)
	if e := n.close(p, at); err == nil {
		err = e
	}
	if err != nil {
		return Stationarity{}, fmt.Errorf("near: near stationarity: %w", err)
	}
	return result, nil
}

// Validate returns an error that wraps problem.ErrSettings for settings out of their range.
func (s NearSettings) Validate() error {
	if !(s.Tolerance >= 0) || s.Iterations < 0 {
		return fmt.Errorf("near: %w: near stationarity's tolerance is %v and the number of iterations %d, want positive numbers",
			problem.ErrSettings, s.Tolerance, s.Iterations)
	}
	return estimate.CheckProximity("near stationarity", s.RhoHat, s.Modulus)
}

// close frees the vectors and restores the iterate.
func (n *nearSolver) close(p problem.Problem, at *problem.Point) error {
	p.Space().Combine(problem.Iterate, 1, n.q.Center, 0, n.q.Center)
	n.q.Release()
	return at.Forward(p)
}
