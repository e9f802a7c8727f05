package near

import (
	"fmt"
	"math"

	"ppal/trainer/certify"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// Settings are those of NearStationarity. The zero value works.
type Settings struct {
	// RhoHat is rho^ > 0, above the moduli of weak convexity of f and g; 0 is the default: as
	// ProximalPoint's, estimated at the iterate. Distances compare only at the same rho^. Where the
	// modulus at the iterate, as estimated, reaches it there is no distance.
	RhoHat float64
	// Modulus is the largest modulus of weak convexity; 0 is the default: RhoHat/2, or what was
	// estimated.
	Modulus float64
	// Tolerance is the KKT epsilon to which the proximal problem is solved, stationarity and
	// complementarity relative to 1 + ||nu||_1, which is how the distance's error takes them; 0 is the
	// default: 1e-7, or what rounding leaves: 128 unit roundoffs of 1 + the norms of the gradients,
	// and 16 of the iterate's own norm times the curvature (8e-6 and 1e-6 in float32). It is met with
	// a factor to spare where rounding allows that.
	Tolerance float64
	// Iterations is the limit of the solver's; 0 is the default, 500.
	Iterations int
}

// The defaults of NearStationaritySettings.
const (
	DefaultTolerance  = 1e-7
	DefaultIterations = 500
)

// Stationarity is how far the iterate x is from the solution x^ of its proximal problem,
//
//	minimise f(y) + r(y) + (rho^/2)||y - x||^2  subject to  g_j(y) + (rho^/2)||y - x||^2 <= 0,
//
// the measure of Huang and Lin (NeurIPS 2023) and of Boob, Deng and Lan (2022). Where it is small,
// x is near a point that is nearly KKT: unlike the residual at x itself it does not jump where x
// just misses a kink.
type Stationarity struct {
	Distance float64 // ||x - x^||; NaN where there is a Reason
	// Error bounds the error of Distance: with the residuals of Certificate, its multiplier in place
	// of the exact one, and the modulus of strong convexity s = rho^ - modulus,
	//   Error = (v + sqrt(v^2 + 2 S (||nu||_1 infeasibility + complementarity)))/S,  S = 2 s (1 + ||nu||_1),  v = stationarity.
	Error       float64
	RhoHat      float64
	Certificate certify.Certificate // of the proximal problem, in its split form, at the solution found
	Iterations  int                 // of the solver
	// Reason says why there is no distance: the problem is infeasible, or was not solved; "" where
	// there is one.
	Reason string
}

// Measure solves the proximal problem at the iterate, whose last Forward gave at, by the moving
// balls method of Auslender, Shefi and Teboulle (SIAM Journal on Optimization 20, 2010), maxima in
// split form, and leaves the iterate and its forward pass as they were. It costs some 5 to 20
// iterations, each a forward pass and a backward pass for f and for each of the few constraints
// that matter, and 18 gradients for the curvature of f and of each of up to 4 terms of the
// constraints; none is counted in at.
//
// An infeasible problem is recognised by a lower bound of its constraints' maximum: phi -
// ||v||^2/(2 s) > 0, phi and v the value and the gradient of a convex combination of them (the
// least over the ball or the box where r is one).
func Measure(p problem.Problem, at *problem.Point, set Settings) (Stationarity, error) {
	if err := set.Validate(); err != nil {
		return Stationarity{}, err
	}
	uncounted := *at
	measured, err := estimate.Curvatures(p, &uncounted, true)
	if err != nil {
		return Stationarity{}, fmt.Errorf("trainer: near stationarity: %w", err)
	}
	if set.RhoHat > 0 && set.RhoHat <= measured.Weak {
		return Stationarity{Distance: math.NaN(), RhoHat: set.RhoHat, Reason: fmt.Sprintf(
			"rho^ = %.3g is not above the weak convexity modulus %.3g at the iterate", set.RhoHat, measured.Weak)}, nil
	}
	n := newNearSolver(p, set, measured)
	result, err := n.run()
	if e := n.close(p, at); err == nil {
		err = e
	}
	if err != nil {
		return Stationarity{}, fmt.Errorf("trainer: near stationarity: %w", err)
	}
	return result, nil
}

// Validate returns an error (problem.ErrSettings) for settings out of their range.
func (s Settings) Validate() error {
	if !(s.Tolerance >= 0) || s.Iterations < 0 {
		return fmt.Errorf("trainer: %w: near stationarity's tolerance is %v and iterations %d, want positive numbers",
			problem.ErrSettings, s.Tolerance, s.Iterations)
	}
	return estimate.CheckProximity("near stationarity", s.RhoHat, s.Modulus)
}

// close gives the vectors back and brings the iterate back.
func (n *nearSolver) close(p problem.Problem, at *problem.Point) error {
	p.Space().Combine(problem.Iterate, 1, n.q.Center, 0, n.q.Center)
	n.q.Release()
	return at.Forward(p)
}
