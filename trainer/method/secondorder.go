package method

import (
	"fmt"
	"math"

	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// augmentedRule is a DualRule whose primal step minimises an augmented Lagrangian while the
// multipliers stay fixed.
type augmentedRule interface {
	trainer.DualRule
	// augmented returns the function that the primal steps minimise. Its multipliers are the rule's
	// own slice.
	augmented() step.Augmented
	// updateOuter updates the multipliers with g at an approximate minimiser, and reports whether
	// they can change.
	updateOuter(g []float64) bool
	// tighten raises the penalty and reports whether the penalty changed. The iteration calls
	// tighten if the violation has not halved.
	tighten() bool
	// settle says that w are the coefficients of the constraints in the gradient at the iterate.
	settle(w []float64)
}

// secondOrder implements the iteration of an augmentedRule by quasi-Newton steps. An iteration
// first updates the dual variables, if the update predicts a much larger change than the next step,
// and then takes the step.
//
// The update predicts the change ||w - lambda||^2/(2c), and the step predicts the decrease of its
// model (step.Augmented, step.QuasiNewton). Both are changes of the same Lagrangian, so their ratio
// has no unit. The multipliers move when a step inside the trust region predicts less than a share
// of the update's change: a tenth, because an update costs a backward pass, or a fifth with a
// secant Jacobian, where an update usually costs no pass. This rule determines the number of steps
// between updates.
//
// If the number outer.overdue of a saved state is 1, the first iteration updates the dual variables
// if a constraint is violated and the update can change something, whatever the step predicts, and
// also if the trust region cuts the step, if the last step was rejected, or before the fifth
// iteration.
//
// Other updates begin in the fifth iteration. A model with fewer pairs predicts too small
// a decrease. Multipliers that grow before f can fall may drive saturating losses of f to points
// where the gradient vanishes.
//
// The violation ||max(0, g)|| is compared at each update, after 100 steps without an update, and
// after 20 steps without an update if the violation has grown. If the violation has not halved
// since the previous comparison and exceeds the tolerance, the rule may raise its penalty
// (Bertsekas, Constrained Optimization and Lagrange Multiplier Methods, 1982, section 2.2). With a
// small penalty, phi may fall without bound outside the feasible set. The violation grows there,
// and the trust region cuts every step. After three longest steps with growing violation and
// negative curvature (step.QuasiNewton.Bent), the comparison does not wait.
//
// While the passes see a sample of the rows (problem.Grade), multipliers and penalty rest, because
// the constraints of a sample are off by its sampling error, which would enter the multipliers. An
// update or a comparison that falls due there ends the samples, and is decided anew on all rows.
type secondOrder struct {
	rule      augmentedRule
	step      *step.QuasiNewton
	share     float64 // a step that predicts less than this share of an update waits for the update
	tolerance float64 // violation that needs no larger penalty
	steps     int     // iterations so far, at most youth
	waited    int     // steps since the violation was compared
	moved     bool    // the iterate has moved since then; without a move, an update would repeat the last one
	overdue   bool    // the next iteration updates the dual variables if a constraint is violated
	violation float64 // the violation of the last comparison
	last      float64 // the violation of the last iteration
	fleeing   int     // successive longest steps with growing violation and negative curvature
	w         []float64
}

const (
	outerShare     = 0.1 // the share of an update that costs a backward pass
	flight         = 3   // longest steps with growing violation and negative curvature
	secantShare    = 0.2 // the share of an update without a pass
	youth          = 5   // the earliest iteration with an update
	patience       = 100 // steps without an update
	impatience     = 20  // the same, while the violation is larger than at the last comparison
	violationShare = 0.5 // the violation must fall by this factor
	toleranceShare = 0.1 // of the feasibility tolerance
)

// newSecondOrder prepares a run. tolerance is the largest violation that counts as feasible.
func newSecondOrder(rule augmentedRule, p problem.Problem, at *problem.Point, tolerance float64) (*secondOrder, error) {
	quasi, err := step.NewQuasiNewton(p)
	if err != nil {
		return nil, fmt.Errorf("method: %s: %w", rule.Name(), err)
	}
	share := outerShare
	if quasi.Secant() {
		share = secantShare
	}
	return &secondOrder{rule: rule, step: quasi, share: share, tolerance: toleranceShare * tolerance, violation: violationOf(at.Constraints),
		w: make([]float64, len(at.Constraints))}, nil
}

// iterate moves the iterate from x_k to x_{k+1}.
func (s *secondOrder) iterate(p problem.Problem, at *problem.Point) error {
	s.steps = min(s.steps+1, youth)
	phi := s.rule.augmented()
	decrease, cut, err := s.step.Predict(p, at, phi)
	if err != nil {
		return err
	}
	update, compare := s.due(at.Constraints, phi, decrease, cut)
	if compare && s.step.Sampled() {
		if decrease, cut, err = s.step.PredictOnAllRows(p, at, phi); err != nil {
			return err
		}
		update, compare = s.due(at.Constraints, phi, decrease, cut)
	}
	if compare && s.outer(at.Constraints, update) {
		s.step.Refresh()
		phi = s.rule.augmented()
		if _, _, err = s.step.Predict(p, at, phi); err != nil {
			return err
		}
	}
	s.overdue = false
	moved, err := s.step.Try(p, at, phi)
	if err != nil {
		return err
	}
	s.moved = s.moved || moved
	phi.Coefficients(s.w, at.Constraints)
	s.rule.settle(s.w)
	return nil
}

// due reports whether the rules of secondOrder ask for an update of the dual variables, and whether
// they ask for a comparison of the violation, which comes with each update.
func (s *secondOrder) due(g []float64, phi step.Augmented, decrease float64, cut bool) (update, compare bool) {
	gain := phi.Gain(g)
	v, wait := violationOf(g), patience
	due := s.steps >= youth && s.moved && !cut && decrease <= s.share*gain
	update = gain > 0 && (due || s.overdue && v > s.tolerance)
	if s.fleeing++; !(cut && s.step.Bent() && v > s.last) {
		s.fleeing = 0
	}
	s.last = v
	switch {
	case v > s.violation && s.fleeing >= flight:
		wait = 0
	case v > s.violation:
		wait = impatience
	}
	s.waited++
	return update, update || s.waited >= wait && s.moved
}

// outer compares the violation and raises the penalty if it has not halved. It first updates the
// dual variables if update says so. It reports whether the multipliers or the penalty may have
// changed.
func (s *secondOrder) outer(g []float64, update bool) bool {
	v := violationOf(g)
	slow := v > violationShare*s.violation && v > s.tolerance
	s.waited, s.moved, s.violation = 0, false, v
	changed := update && s.rule.updateOuter(g)
	return slow && s.rule.tighten() || changed
}

// resting reports whether no further iteration changes the iterate, the dual variables or the
// penalty: the steps are below the rounding of x, and without a move no update is due.
func (s *secondOrder) resting() bool { return s.step.Exhausted() && !s.moved }

// violationOf returns ||max(0, g)||.
func violationOf(g []float64) float64 {
	sum := 0.0
	for _, v := range g {
		sum += max(0, v) * max(0, v)
	}
	return math.Sqrt(sum)
}

// visitState shows the state to v.
func (s *secondOrder) visitState(v problem.StateVisitor) {
	v.Count("outer.steps", &s.steps)
	v.Count("outer.waited", &s.waited)
	problem.VisitFlag(v, "outer.moved", &s.moved)
	problem.VisitFlag(v, "outer.overdue", &s.overdue)
	v.Number("outer.violation", &s.violation)
	v.Number("outer.last", &s.last)
	v.Count("outer.fleeing", &s.fleeing)
	s.step.VisitState(v)
}
