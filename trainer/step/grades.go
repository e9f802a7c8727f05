package step

import (
	"math"

	"ppal/trainer/problem"
)

// sampling decides when the passes leave a sample of the rows.
//
// x has been fitted to the sample, so that phi on other rows is larger than on the sample. For a
// minimiser of phi on n rows this bias is about V/n (the term p/n of Akaike's criterion). With the
// share s of the rows in place of n, phi on a sample differs from phi on the larger share t, at the
// same x, by about
//
//	E(s, t) = V (1/s - 1/t).
//
// In the smallest sample, after every fifth trial, one forward pass on the next grade measures
// E(s, t) and so V = abs(phi_t(x) - phi_s(x))/(1/s - 1/t), with the present multipliers. The passes
// rise when the model predicts a decrease of phi of at most 0.15 E(s, 1): further steps then mostly
// fit the sample. Larger samples need no pass for V.
//
// Source of the idea: Byrd, Chin, Nocedal and Wu, Sample size selection in optimization methods for
// machine learning, Math. Program. 134, 2012. They compare the variance of the gradient with its
// norm; here the change of phi decides, because that is what the steps and the multipliers use.
type sampling struct {
	steps  int     // trials since the last measurement
	spread float64 // V; 0 before the first measurement
}

const (
	sampleSteps = 5    // trials between the measurements of V
	sampleShare = 0.15 // of the sampling error: a smaller predicted decrease ends the sample
)

// err returns E(s, t).
func (a *sampling) err(s, t float64) float64 { return a.spread * (1/s - 1/t) }

// visit shows the state to v, which saves or restores it.
func (a *sampling) visit(v problem.StateVisitor) {
	v.Count("quasi.sample.steps", &a.steps)
	v.Number("quasi.sample.spread", &a.spread)
}

// stages returns the last stage.
func (q *QuasiNewton) stages() int {
	if q.graded == nil {
		return firstPass + 1
	}
	return len(q.graded.Grades())
}

// grade gives the problem's passes the grade of the stage.
func (q *QuasiNewton) grade() {
	switch {
	case q.graded == nil:
	case q.stage == firstPass:
		problem.MakeAccurate(q.graded)
	default:
		q.graded.SetGrade(q.stage - 1)
	}
}

// gradeOf returns the grade of the passes in a stage.
func (q *QuasiNewton) gradeOf(stage int) problem.Grade {
	if q.graded == nil || stage == firstPass {
		return problem.Grade{Share: 1}
	}
	return q.graded.Grades()[stage-1]
}

// share returns the share of the rows that the passes of a stage see.
func (q *QuasiNewton) share(stage int) float64 { return q.gradeOf(stage).Share }

// Sampled reports whether the passes see a sample of the rows.
func (q *QuasiNewton) Sampled() bool { return q.share(q.stage) < 1 }

// roundoff returns the unit roundoff of the present passes.
func (q *QuasiNewton) roundoff() float64 {
	if u := q.gradeOf(q.stage).Roundoff; u > 0 {
		return u
	}
	return q.space.Roundoff()
}

// enter gives the passes the grade of a stage and evaluates f and g.
func (q *QuasiNewton) enter(p problem.Problem, at *problem.Point, stage int) error {
	if q.Sampled() {
		q.exhausted = false // other rows move the minimiser
	}
	q.stage, q.current, q.known = stage, false, false
	q.grade()
	return at.Forward(p)
}

// PredictOnAllRows is Predict after a rise to the coarsest grade that sees all rows.
func (q *QuasiNewton) PredictOnAllRows(p problem.Problem, at *problem.Point, phi Augmented) (decrease float64, cut bool, err error) {
	stage := q.stage
	for q.share(stage) < 1 {
		stage++
	}
	if err := q.enter(p, at, stage); err != nil {
		return 0, false, err
	}
	return q.Predict(p, at, phi)
}

// rises reports whether the passes must rise to the next grade before the planned step, which
// predicts the given decrease. It is false for the accurate passes.
func (q *QuasiNewton) rises(p problem.Problem, at *problem.Point, phi Augmented, decrease float64) (bool, error) {
	if q.tooCoarse(at, phi, decrease) {
		return true, nil
	}
	return q.misled(p, at, phi, decrease)
}

// tooCoarse reports whether rounding errors would spoil the planned step from the value phi(x).
func (q *QuasiNewton) tooCoarse(at *problem.Point, phi Augmented, decrease float64) bool {
	u := q.gradeOf(q.stage).Roundoff
	return u > 0 && (!(decrease > phi.noise(at.Objective, at.Constraints, u)) || q.length <= coarseMove*u*(1+q.plan.norm))
}

// misled reports whether the sample would mislead the planned step. It measures V if that is due.
func (q *QuasiNewton) misled(p problem.Problem, at *problem.Point, phi Augmented, decrease float64) (bool, error) {
	if !q.Sampled() {
		return false, nil
	}
	s := q.share(q.stage)
	if q.stage == firstPass+1 && q.sampling.steps >= sampleSteps {
		q.sampling.steps = 0
		before := phi.Value(at.Objective, at.Constraints)
		copy(q.g, at.Constraints)
		q.graded.SetGrade(q.stage)
		f, err := p.Forward(at.Constraints)
		q.grade()
		if err != nil {
			return false, err
		}
		gap := math.Abs(phi.Value(f, at.Constraints) - before)
		q.sampling.spread = gap / (1/s - 1/q.share(q.stage+1))
		at.Restore(at.Objective, q.g)
	}
	return !(decrease > sampleShare*q.sampling.err(s, 1)), nil
}
