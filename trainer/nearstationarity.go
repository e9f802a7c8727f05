package trainer

import (
	"fmt"
	"math"
)

// NearStationaritySettings are those of NearStationarity. The zero value works.
type NearStationaritySettings struct {
	// RhoHat is rho^ > 0, above the moduli of weak convexity of f and g; 0 is the default: as ProximalPoint's, estimated at the iterate.
	// Distances compare only at the same rho^.
	RhoHat float64
	// Modulus is the largest modulus of weak convexity; 0 is the default: RhoHat/2, or what was estimated.
	Modulus float64
	// Tolerance is the KKT epsilon to which the proximal problem is solved; 0 is the default: 1e-7, or what rounding leaves:
	// 128 unit roundoffs of 1 + the norms of the gradients at the iterate, and 16 of the iterate's own norm times the curvature (8e-6
	// and 1e-6 in float32).
	Tolerance float64
	// Iterations is the limit of the solver's; 0 is the default, 500.
	Iterations int
}

// The defaults of NearStationaritySettings.
const (
	DefaultNearTolerance  = 1e-7
	DefaultNearIterations = 500
)

const (
	// The method of multipliers: the factor by which the violation should fall from update to update, the penalty's where it does
	// not, and the accuracy of an inner problem in terms of the last violation.
	nearProgress = 0.25
	nearGrowth   = 4
	nearAccuracy = 0.1
	// What a residual cannot be expected to go below: unit roundoffs of the gradients, and of what rounding x does to them.
	nearRounding = 128
	nearMoved    = 16
)

// NearStationarity is how far the iterate x is from the solution x^ of its proximal problem,
//
//	minimise f(y) + r(y) + (rho^/2)||y - x||^2  subject to  g_j(y) + (rho^/2)||y - x||^2 <= 0,
//
// the measure of Huang and Lin (NeurIPS 2023) and of Boob, Deng and Lan (2022). Where it is small, x is near a point that is nearly
// KKT: unlike the residual at x itself it does not jump where x just misses a kink.
type NearStationarity struct {
	Distance float64 // ||x - x^||; NaN where there is a Reason
	// Error bounds the error of Distance: with the residuals of Certificate, its multiplier in place of the exact one, and the modulus
	// of strong convexity s = rho^ - modulus,
	//   Error = (v + sqrt(v^2 + 2 S (||nu||_1 feasibility + complementarity)))/S,  S = 2 s (1 + ||nu||_1),  v = stationarity.
	Error       float64
	RhoHat      float64
	Certificate Certificate // of the proximal problem, in its split form, at the solution found
	Iterations  int         // of the solver; each is a forward and a backward pass
	// Reason says why there is no distance: the problem is infeasible, or was not solved; "" where there is one.
	Reason string
}

// MeasureNearStationarity solves the proximal problem at the iterate, whose last Forward gave at, by the method of multipliers
// (Rockafellar 1973) with accelerated gradients, maxima in split form, and leaves the iterate and its forward pass as they were. It
// costs some 70 iterations, each a backward pass and about two forward passes, and 19 gradients or more for the curvature; none
// is counted in at.
//
// An infeasible problem is recognised by a lower bound of its constraints' maximum: phi - ||v||^2/(2 s) > 0, phi and v the value
// and the gradient of a convex combination of them.
func MeasureNearStationarity(p Problem, at *Point, set NearStationaritySettings) (NearStationarity, error) {
	n, err := newNearSolver(p, at, set)
	if err != nil {
		return NearStationarity{}, err
	}
	result, err := n.run()
	if e := n.close(p, at); err == nil {
		err = e
	}
	if err != nil {
		return NearStationarity{}, fmt.Errorf("trainer: near stationarity: %w", err)
	}
	return result, nil
}

// proximity is the part that the proximal point methods have too.
func (s NearStationaritySettings) proximity() ProximalPoint {
	return ProximalPoint{RhoHat: s.RhoHat, Modulus: s.Modulus}
}

func (s NearStationaritySettings) validate() error {
	if !(s.Tolerance >= 0) || s.Iterations < 0 {
		return fmt.Errorf("trainer: %w: near stationarity's tolerance is %v and iterations %d, want positive numbers",
			ErrSettings, s.Tolerance, s.Iterations)
	}
	return s.proximity().validate("near stationarity")
}

// nearSolver is a proximal problem with its solver.
type nearSolver struct {
	rho, strong float64 // rho^, and the modulus of strong convexity rho^ - modulus
	tolerance   float64
	limit       int // of iterations
	q           *proximal
	acg         *composite
	at          Point
	v           Vector
}

func newNearSolver(p Problem, at *Point, set NearStationaritySettings) (*nearSolver, error) {
	if err := set.validate(); err != nil {
		return nil, err
	}
	uncounted := *at
	measured, err := estimateSmoothness(p, &uncounted, set.RhoHat == 0)
	if err != nil {
		return nil, err
	}
	n := &nearSolver{tolerance: set.Tolerance, limit: set.Iterations}
	n.rho, n.strong = set.proximity().choose(measured)
	if pw, ok := p.(Piecewise); ok {
		n.q = newProximal(Split(pw), n.rho)
	} else {
		n.q = newProximal(p, n.rho)
	}
	n.v = n.q.NewVector()
	n.at.Constraints = make([]float64, constraints(n.q))
	if err := n.prepare(p, &uncounted, measured.objective+n.rho); err != nil {
		n.q.release()
		return nil, err
	}
	return n, nil
}

// prepare sizes the solver by the gradients at the iterate and the curvature of the objective.
func (n *nearSolver) prepare(p Problem, at *Point, curvature float64) error {
	terms, bound := newSmoothTerms(p), make([]float64, constraints(p))
	if err := terms.bounds(at, bound, n.v); err != nil {
		return err
	}
	if err := terms.gradient(at, 0, n.v); err != nil {
		return err
	}
	penalty := 1.0
	if size := dot(bound, bound); size > 0 {
		penalty = curvature / size // as stiff as the objective
	}
	n.acg = newComposite(newAugmentedLagrangian(penalty, constraints(n.q)), curvature, n.q)
	if n.tolerance == 0 {
		gradients := 1 + math.Sqrt(n.q.Dot(n.v, n.v)) + norm1(bound)
		moved := curvature * math.Sqrt(n.q.Dot(Iterate, Iterate))
		n.tolerance = math.Max(DefaultNearTolerance, n.q.Roundoff()*(nearRounding*gradients+nearMoved*moved))
	}
	if n.limit == 0 {
		n.limit = DefaultNearIterations
	}
	return nil
}

// run solves by the method of multipliers.
func (n *nearSolver) run() (NearStationarity, error) {
	result := NearStationarity{Distance: math.NaN(), RhoHat: n.rho}
	if err := n.at.forward(n.q); err != nil {
		return result, err
	}
	for last, target := math.Inf(1), math.Inf(1); ; {
		if err := n.minimise(target); err != nil {
			return result, err
		}
		copy(n.acg.lambda, n.acg.weights[1:])
		c, err := Certify(n.q, &n.at, n.acg.lambda, CertificateSettings{})
		if err != nil {
			return result, err
		}
		result.Certificate, result.Iterations = c, n.at.Iteration
		if c.Epsilon <= n.tolerance {
			result.Distance = n.q.Distance(Iterate, n.q.center)
			result.Error = n.bound(c)
			return result, nil
		}
		if result.Reason, err = n.hopeless(c); err != nil || result.Reason != "" {
			return result, err
		}
		missing := math.Max(c.Feasibility, c.Complementarity)
		if missing > nearProgress*last {
			n.acg.c *= nearGrowth
		}
		last = missing
		target = math.Max(n.tolerance/2, nearAccuracy*math.Min(missing, c.Epsilon))
		n.acg.restart()
	}
}

// minimise takes steps, at least one, until the residual is at most target.
func (n *nearSolver) minimise(target float64) error {
	for {
		if err := n.acg.step(n.q, &n.at); err != nil {
			return err
		}
		n.at.Iteration++
		if n.acg.residual <= target || n.at.Iteration >= n.limit {
			return nil
		}
	}
}

// hopeless says why the solver should stop without a solution, "" where it should not.
func (n *nearSolver) hopeless(c Certificate) (string, error) {
	least, err := n.leastViolation()
	switch {
	case err != nil:
		return "", err
	case least > 0:
		return fmt.Sprintf("the proximal problem is infeasible: its constraints' maximum is at least %.3g", least), nil
	case n.at.Iteration >= n.limit || !finite(c.Epsilon):
		return fmt.Sprintf("the proximal problem was not solved: epsilon is %.3g after %d iterations", c.Epsilon, n.at.Iteration), nil
	}
	return "", nil
}

// leastViolation returns a lower bound of max_j g~_j over all x, by the combination of the constraints that the multipliers are.
func (n *nearSolver) leastViolation() (float64, error) {
	total := norm1(n.acg.lambda)
	if !(total > 0) || !finite(total) {
		return 0, nil
	}
	value, weights := 0.0, make([]float64, 1+len(n.acg.lambda))
	for j, l := range n.acg.lambda {
		weights[1+j] = l / total
		value += weights[1+j] * n.at.Constraints[j]
	}
	if value <= 0 {
		return value, nil
	}
	if err := n.q.Backward(weights, n.v); err != nil {
		return 0, err
	}
	return value - n.q.Dot(n.v, n.v)/(2*n.strong), nil
}

// bound is NearStationarity.Error.
func (n *nearSolver) bound(c Certificate) float64 {
	nu := norm1(c.Nu)
	s, v := 2*n.strong*(1+nu), c.Stationarity
	return (v + math.Sqrt(v*v+2*s*(nu*c.Feasibility+c.Complementarity))) / s
}

// close gives the vectors back and brings the iterate back.
func (n *nearSolver) close(p Problem, at *Point) error {
	p.Combine(Iterate, 1, n.q.center, 0, n.q.center)
	n.q.release()
	return at.forward(p)
}
