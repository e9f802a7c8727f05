package certify

import (
	"context"
	"fmt"
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

const (
	// The rounding errors, as numbers of unit roundoffs: nearRounding of the gradients' norms,
	// nearMoved of the iterate's norm times the curvature, and nearForgiven of a function value
	// that move compares with the model.
	nearRounding = 128
	nearMoved    = 16
	nearForgiven = 64
	// nearSpare divides the accuracy while each step is at most half of the last: a more accurate
	// solution distinguishes small distances.
	nearSpare = 16
	// nearStill is a number of unit roundoffs of 1 + ||x||: a shorter step does not measure the
	// curvature.
	nearStill = 1000
	// nearCaution is the safety factor on the observed curvature, and nearSteepest is the upper
	// bound of l.
	nearCaution  = 1.1
	nearSteepest = 1e30
	// nearBatch is the largest number of constraints that join the model at a time, the largest
	// first.
	nearBatch = 4
	// nearTrials is the largest number of models in one step.
	nearTrials = 100
)

// nearSolver solves a proximal problem by the moving balls method. A step goes from y to the
// solution of the ballModel at y with the curvature s = rho^ + l; l grows until the model bounds
// every function at the new point. From a feasible y, a step leads to a feasible point. From an
// infeasible y, a step lowers the maximum of the constraints. If the modulus of weak convexity and
// l are small against rho^, each step leaves a small share of the distance. f~ and g~_j are f and
// g_j with the proximal term.
//
// The model contains only the largest constraint of each iterate above 0 and the constraints that
// exceeded the level t at a trial point. Few of possibly hundreds of constraints need gradients.
type nearSolver struct {
	rho, strong  float64 // rho^, and the modulus of strong convexity rho^ - modulus
	beyond       float64 // l
	tolerance    float64
	limit        int               // largest number of iterations
	q            *problem.Proximal // the proximal problem; its iterate is y or a trial point
	at           problem.Point     // f~ and g~ at the iterate of the last Forward
	v            problem.Vector    // buffer for a gradient on its way to the host
	coefficients []float64
	model        *ballModel
	working      []int          // the constraints in the model
	multipliers  []float64      // multipliers of the constraints in the model
	objective    float64        // f~ at y
	values       []float64      // g~ at y
	least        float64        // lower bound of the constraints' maximum over all points
	last         problem.Vector // the model's gradient of the Lagrangian before the step
}

// newNearSolver returns the solver for the proximal problem at p's iterate.
func newNearSolver(p problem.Problem, set NearSettings, nearMeasured estimate.Curvature) *nearSolver {
	n := &nearSolver{tolerance: set.Tolerance, limit: set.Iterations, beyond: math.Max(nearMeasured.Objective, nearMeasured.Constraint)}
	n.rho, n.strong = estimate.Proximity(set.RhoHat, set.Modulus, nearMeasured)
	n.strong = math.Min(n.strong, n.rho-nearMeasured.Weak)
	if pw := problem.FeaturesOf(p).Pieces; pw != nil {
		n.q = problem.NewProximal(problem.Split(pw), n.rho)
	} else {
		n.q = problem.NewProximal(p, n.rho)
	}
	if n.limit == 0 {
		n.limit = DefaultNearIterations
	}
	variables, m := n.q.Dims()
	n.v, n.model = n.q.Space().New(), newBallModel(variables, p.Space().Regularizer)
	n.last, n.coefficients = n.model.New(), make([]float64, 1+m)
	n.at.Constraints, n.values = make([]float64, m), make([]float64, m)
	return n
}

// run takes steps until y solves the proximal problem, or ctx is cancelled, and returns the
// distance or a Reason.
func (n *nearSolver) run(ctx context.Context) (Stationarity, error) {
	result := Stationarity{Distance: math.NaN(), RhoHat: n.rho}
	if err := n.at.Forward(n.q); err != nil {
		return result, err
	}
	for last := math.Inf(1); ; n.at.Iteration++ {
		result.Iterations = n.at.Iteration
		if err := n.linearise(); err != nil {
			return result, err
		}
		n.solve()
		accuracy, length := n.accuracy(), math.Sqrt(n.model.size)
		if n.least > accuracy {
			result.Reason = fmt.Sprintf("the proximal problem is infeasible: its constraints' maximum is at least %.3g", n.least)
			return result, nil
		}
		residual := n.model.curvature * length
		if residual <= accuracy/nearSpare || residual <= accuracy && length > last/2 {
			if solved, err := n.certify(&result); err != nil || solved {
				return result, err
			}
		}
		last = length
		moved, err := false, error(nil)
		if n.at.Iteration < n.limit && ctx.Err() == nil && vec.Finite(length) {
			moved, err = n.move()
		}
		if err != nil {
			return result, err
		}
		if !moved {
			return result, n.conclude(&result)
		}
	}
}

// certify certifies y with the model's multipliers, and reports whether the residuals are within
// the accuracy. If they are, certify sets Distance and Error.
func (n *nearSolver) certify(result *Stationarity) (bool, error) {
	nu := make([]float64, len(n.values))
	for i, j := range n.working {
		nu[j] = n.multipliers[i]
	}
	c, err := Measure(n.q, &n.at, nu, Settings{})
	if err != nil {
		return false, err
	}
	result.Certificate = c
	accuracy, scale := n.accuracy(), 1+vec.Norm1(nu)
	relative, absolute := math.Max(c.Stationarity, c.Complementarity)/scale, math.Max(c.Infeasibility, c.Domain)
	if !(math.Max(relative, absolute) <= accuracy) {
		return false, nil
	}
	result.Distance, result.Error = n.q.Space().Distance(problem.Iterate, n.q.Center), n.bound(c)
	return true, nil
}

// conclude certifies y when no further step is possible. It sets Reason if y is not the solution.
func (n *nearSolver) conclude(result *Stationarity) error {
	n.q.Space().Write(problem.Iterate, n.model.Slice(n.model.y))
	if err := n.at.Forward(n.q); err != nil {
		return err
	}
	if solved, err := n.certify(result); err != nil || solved {
		return err
	}
	result.Reason = fmt.Sprintf("the proximal problem was not solved: epsilon is %.3g after %d iterations",
		result.Certificate.Epsilon, n.at.Iteration)
	return nil
}

// accuracy returns the tolerance, or the rounding error if larger.
func (n *nearSolver) accuracy() float64 {
	if n.tolerance > 0 {
		return n.tolerance
	}
	b := n.model
	steepest := 0.0
	for j := range b.columns {
		steepest = math.Max(steepest, b.gram.At(j, j))
	}
	gradients := 1 + math.Sqrt(b.Dot(b.v, b.v)) + math.Sqrt(steepest)
	moved := b.curvature * math.Sqrt(b.Dot(b.y, b.y))
	return math.Max(DefaultNearTolerance, n.q.Space().Roundoff()*(nearRounding*gradients+nearMoved*moved))
}

// bound returns Stationarity.Error.
func (n *nearSolver) bound(c Certificate) float64 {
	nu := vec.Norm1(c.Nu)
	s, v := 2*n.strong*(1+nu), c.Stationarity
	return (v + math.Sqrt(v*v+2*s*(nu*c.Infeasibility+c.Complementarity))) / s
}

// linearise builds the model at the iterate; n.at holds f~ and g~ of the last Forward at the
// iterate.
func (n *nearSolver) linearise() error {
	b := n.model
	n.objective = n.at.Objective
	copy(n.values, n.at.Constraints)
	b.combined(1, n.multipliers)
	b.Combine(n.last, 1, b.pull, 0, b.pull)
	length := math.Sqrt(b.size)
	n.admit(0, 1)
	n.q.Space().Read(b.Slice(b.y), problem.Iterate)
	if err := n.gradient(0, b.v); err != nil {
		return err
	}
	if err := n.columns(0); err != nil {
		return err
	}
	n.adapt(length)
	return nil
}

// adapt derives l from the change of the Lagrangian's gradient over the last step, if the step was
// long enough to measure the curvature.
func (n *nearSolver) adapt(length float64) {
	b := n.model
	if !(length > nearStill*n.q.Space().Roundoff()*(1+math.Sqrt(b.Dot(b.y, b.y)))) {
		return
	}
	b.combined(1, n.multipliers)
	seen := b.Distance(b.pull, n.last) / (length * (1 + vec.Norm1(n.multipliers)))
	if vec.Finite(seen) {
		n.beyond = math.Max(n.beyond/2, nearCaution*seen-n.rho)
	}
}

// admit adds up to count constraints to the model: the largest of the constraints that are above
// the level and not in the model. It returns the number of added constraints.
func (n *nearSolver) admit(level float64, count int) int {
	before := len(n.working)
	for range count {
		worst, most := -1, level
		for j, v := range n.at.Constraints {
			if v > most && !slices.Contains(n.working, j) {
				worst, most = j, v
			}
		}
		if worst < 0 {
			break
		}
		n.working = append(n.working, worst)
		n.multipliers = append(n.multipliers, 0)
		n.model.add()
	}
	return len(n.working) - before
}

// columns evaluates the gradients of the model's constraints, beginning with the constraint at
// position first.
func (n *nearSolver) columns(first int) error {
	for i, j := range n.working {
		n.model.values[i] = n.values[j]
		if i < first {
			continue
		}
		if err := n.gradient(1+j, n.model.columns[i]); err != nil {
			return err
		}
	}
	n.model.products()
	return nil
}

// gradient copies a gradient at the iterate of the last Forward to the host: index 0 is f~, index 1
// + j is g~_j.
func (n *nearSolver) gradient(index int, to problem.Vector) error {
	clear(n.coefficients)
	n.coefficients[index] = 1
	if err := n.q.Backward(n.coefficients, n.v); err != nil {
		return err
	}
	n.q.Space().Read(n.model.Slice(to), n.v)
	return nil
}

// solve solves the model with the curvature rho^ + l, and sets the lower bound least.
func (n *nearSolver) solve() {
	n.model.curvature = n.rho + n.beyond
	n.least = math.Inf(-1)
	if w := n.model.restore(); w != nil {
		n.least = n.model.least(n.strong, w)
	}
	n.model.solve(n.multipliers)
}

// move takes the step to a point at which the model bounds the functions. It returns false if the
// step finds no such point or does not change y.
func (n *nearSolver) move() (bool, error) {
	b := n.model
	for range nearTrials {
		n.q.Space().Write(problem.Iterate, b.Slice(problem.Iterate))
		if err := n.at.Forward(n.q); err != nil {
			return false, err
		}
		if beyond, within := n.needed(); !within {
			n.beyond = math.Max(2*math.Max(n.beyond, n.rho/nearForgiven), beyond)
			if !(n.beyond < nearSteepest) {
				return false, nil
			}
			n.solve()
			continue
		}
		known := len(n.working)
		if n.admit(b.level+n.forgiven(b.level), nearBatch) == 0 {
			n.q.Space().Read(b.Slice(b.pull), problem.Iterate)
			return b.Distance(b.pull, b.y) > 0, nil
		}
		n.q.Space().Write(problem.Iterate, b.Slice(b.y))
		if err := n.at.Forward(n.q); err != nil {
			return false, err
		}
		if err := n.columns(known); err != nil {
			return false, err
		}
		n.solve()
	}
	return false, nil
}

// forgiven returns the rounding error of a value.
func (n *nearSolver) forgiven(value float64) float64 {
	return nearForgiven * n.q.Space().Roundoff() * (1 + math.Abs(value))
}

// needed reports whether the model bounds the functions at the trial point. If not, it also returns
// the l with which the model would bound them.
func (n *nearSolver) needed() (beyond float64, within bool) {
	b, within := n.model, true
	compare := func(at, from, along float64) {
		linear := from + along
		if !(at <= linear+b.curvature/2*b.size+n.forgiven(from)) {
			within = false
			if l := 2*(at-linear)/b.size - n.rho; vec.Finite(l) {
				beyond = math.Max(beyond, l)
			}
		}
	}
	compare(n.at.Objective, n.objective, b.Dot(b.v, b.d))
	for i, j := range n.working {
		compare(n.at.Constraints[j], n.values[j], b.along[i])
	}
	return beyond, within
}
