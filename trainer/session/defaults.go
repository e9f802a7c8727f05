package session

import (
	"ppal/constraints"
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
	// DefaultKappa is the default bound of NeymanPearson.
	DefaultKappa = 0.2
	// DefaultEpsilon is the default bound of the fairness tasks.
	DefaultEpsilon = 0.01
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

// Defaults are the options that a session chooses for a task if the caller leaves them zero.
type Defaults struct {
	Linear      bool              // the model is linear, not a network
	Hidden      []int             // widths of a network
	Activation  models.Activation // activation of a network
	Regularizer problem.Regularizer
	Phi         constraints.Phi // surrogate of the error, in the objective
	Psi         constraints.Phi // surrogate in the constraints; "": NeymanPearson uses Phi
}

// DefaultsOf returns the defaults of the named task. For any other name, for example the name of a
// Statement, the model is linear and has no regularizer.
func DefaultsOf(task string) Defaults {
	table := Defaults{Hidden: []int{64}, Activation: models.ReLU}
	switch task {
	case NameNeymanPearson:
		return Defaults{
			Hidden: []int{256}, Activation: models.Sigmoid, Phi: constraints.Sigmoid,
			Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 40},
		}
	case NameDemographicParity, NameEqualizedOdds:
		table.Linear, table.Phi, table.Psi = true, constraints.Logistic, constraints.Sigmoid
		return table
	case NameIntersectional:
		table.Phi, table.Psi = constraints.Hinge, constraints.Hinge
		return table
	case NameRates:
		table.Linear, table.Regularizer = true, problem.Regularizer{Kind: problem.SquaredL2, Weight: DefaultRidge}
		return table
	case NameClassRates:
		return Defaults{
			Hidden: []int{256}, Activation: models.Sigmoid,
			Regularizer: problem.Regularizer{Kind: problem.SquaredL2, Weight: DefaultRidge},
		}
	}
	return Defaults{Linear: true}
}

// spec returns the default model.
func (d Defaults) spec() models.Spec {
	if d.Linear {
		return models.Spec{}
	}
	return models.Spec{Hidden: d.Hidden, Activation: d.Activation}
}

// orDefault returns the bounds, or one default bound for nil.
func orDefault(bounds []float64, other float64) []float64 {
	if bounds == nil {
		return []float64{other}
	}
	return bounds
}

// boundsOf returns one bound for each of n constraints of a task, or an *OptionError. option is the
// name of the option that holds the bounds.
func boundsOf(option string, values []float64, n int) ([]float64, error) {
	bounds, err := constraints.Bounds(values, n)
	if err != nil {
		return nil, &OptionError{Option: option, Problem: "has " + err.Error()}
	}
	return bounds, nil
}

func (Decisions) taskName() string { return NameRates }

// nameOf returns the task's name; "" for a task of the caller's own.
func nameOf(t Task) string {
	if n, ok := t.(interface{ taskName() string }); ok {
		return n.taskName()
	}
	return ""
}

// taskName returns the task's name. On pictures the Decisions task has a different name.
func (o *Options) taskName() string {
	name := nameOf(o.Task)
	switch o.Data.(type) {
	case Images, ImagesAtHand:
		if name == NameRates {
			return NameClassRates
		}
	}
	return name
}

// defaultMethod returns ALM, which chooseSteps replaces if quasi-Newton steps do not suit the
// problem, and Unconstrained for Decisions without constraints.
func defaultMethod(t Task) trainer.Method {
	if d, ok := t.(Decisions); ok && len(d.SubjectTo) == 0 {
		return &method.Unconstrained{}
	}
	return &method.ALM{}
}

// firstOrderMethod returns PPALA with the practical settings for the task.
func firstOrderMethod(task string) (trainer.Method, error) {
	m := &method.PPALA{}
	return m, preset.SetDefaults(m.Options(), task)
}
