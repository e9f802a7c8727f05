package session

import (
	"ppal/internal/preset"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// The defaults that do not depend on the task.
const (
	// DefaultIterations is the default limit on iterations.
	DefaultIterations = 1000
	// DefaultRidge is the default weight of the regularizer l2 of a Decisions task. The sigmoid of
	// the scores in the objective does not determine the scale of the weights. The ridge determines
	// the scale. Measured on Adult, Bank and COMPAS: without a ridge the scores can saturate before
	// the model has learnt, and a ridge of 1e-4 adds 0.3 to 1 points of error.
	DefaultRidge = 1e-5
	// DefaultNormalize is the default normalisation of pictures.
	DefaultNormalize = models.NormalizeStandardize
)

// DefaultClasses returns the default classes of Images.
func DefaultClasses() []int { return []int{0, 1, 2, 3} }

// ridge returns the default regularizer of bounds on decisions.
func ridge() problem.Regularizer {
	return problem.Regularizer{Kind: problem.SquaredL2, Weight: DefaultRidge}
}

// defaultMethod returns ALM, which chooseSteps replaces if quasi-Newton steps do not suit the
// problem, and Unconstrained for a task without constraints.
func defaultMethod(t Task) trainer.Method {
	if TraitsOf(t).Unbounded {
		return &method.Unconstrained{}
	}
	return &method.ALM{}
}

// firstOrderMethod returns PPALA with the practical settings for the task.
func firstOrderMethod(task string) (trainer.Method, error) {
	m := &method.PPALA{}
	return m, preset.SetDefaults(m.Options(), task)
}
