package method

import (
	"fmt"

	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// chooser is a method with a primal step that can be step.Auto.
type chooser interface {
	trainer.Method
	// primal returns the settings of the primal step; nil: the method's own step.
	primal() *step.Settings
}

// quasiNewton is a chooser whose primal step can be step.LBFGS.
type quasiNewton interface {
	chooser
	// firstOrderOnly reports whether a setting that only steps of the first order use is not 0,
	// without the settings of primal.
	firstOrderOnly() bool
}

// implier is a chooser in which another setting can imply the kind of the primal step.
type implier interface {
	// impliedPrimal returns the implied kind, else step.Auto.
	impliedPrimal() step.Kind
}

// ChoosePrimal replaces the primal step step.Auto of m by the step for the problem p. Init of a
// method does the same. ChoosePrimal returns a note that names the step lbfgs or nesterov and, if
// lbfgs does not suit p, the reason. A step that the settings name has the same note, so that a
// repeated or resumed run has the notes of the first run. The note is "" for other steps and for
// methods without quasi-Newton steps.
//
// The step is step.LBFGS for ALM and Unconstrained if p has all rows in each step, no kinks, and
// the regularizer none, ball or l2, and if m has no setting that only other steps use. Otherwise,
// the step is step.Nesterov, or step.Gradient for PLADA's x-step Inner.
func ChoosePrimal(m trainer.Method, p problem.Problem) (note string) {
	c, ok := m.(chooser)
	if !ok || c.primal() == nil {
		return ""
	}
	primal := c.primal()
	primal.Kind = primalOf(c)
	if _, ok := c.(quasiNewton); !ok {
		return ""
	}
	reason := step.QuasiNewtonRefuses(p)
	switch {
	case primal.Kind == step.Auto && reason == "":
		*primal = step.Settings{Kind: step.LBFGS}
	case primal.Kind == step.Auto:
		primal.Kind = step.Nesterov
	}
	switch {
	case primal.Kind == step.LBFGS || primal.Kind == step.Nesterov && reason == "":
		return fmt.Sprintf("The primal step is %v.", primal.Kind)
	case primal.Kind == step.Nesterov:
		return fmt.Sprintf("The primal step is nesterov, because %s.", reason)
	}
	return ""
}

// History returns the largest number of earlier vectors of x's size that the primal step of m
// keeps, after ChoosePrimal.
func History(m trainer.Method) int {
	if c, ok := m.(chooser); ok && c.primal() != nil {
		return c.primal().History()
	}
	return 0
}

// primalOf returns the kind of the primal step as far as the settings determine the kind, else
// step.Auto.
func primalOf(c chooser) step.Kind {
	primal := *c.primal()
	q, ok := c.(quasiNewton)
	implied := step.Auto
	if i, ok := c.(implier); ok {
		implied = i.impliedPrimal()
	}
	switch {
	case primal.Kind != step.Auto:
		return primal.Kind
	case implied != step.Auto:
		return implied
	case !ok, !primal.Completed() && (primal.Eta != 0 || primal.Fixed || primal.Momentum != 0 || q.firstOrderOnly()):
		return step.Nesterov
	}
	return step.Auto
}
