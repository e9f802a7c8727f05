package session

import (
	"ppal/constraints"
	"ppal/internal/option"
)

// boundsOn is the condition that bounds apply to the values.
func boundsOn(on BoundsOn) option.Condition { return option.If("bounds-on", string(on)) }

// boundsOptions returns the settings that say what bounds apply to.
func boundsOptions(on *BoundsOn, standard BoundsOn, confidence *float64) []*option.Option {
	return []*option.Option{
		option.Choice("bounds-on", on, "let the bounds hold for the counted decisions, or for the smooth surrogates as in the published problems",
			OnDecisions, OnSurrogate).Or(string(standard)),
		option.Number("confidence", confidence, option.Within(0, 1),
			"let the bounds hold on new rows with this probability, as in 0.95: the validation rows choose the threshold; 0: on the training rows;"+
				" see docs/reference/confidence.md").Or("0").With(boundsOn(OnDecisions)),
	}
}

// epsilonOption returns the setting of the bounds of gaps and groups.
func epsilonOption(epsilon *[]float64) *option.Option {
	return option.Numbers("epsilon", epsilon, option.AtLeast(0), "X[,X]", "bound each gap; eo takes one value or two").Or("0.01")
}

// phiOption returns the setting of the surrogate in the objective.
func phiOption(phi *constraints.Phi, standard constraints.Phi) *option.Option {
	return option.Choice("phi", phi, "choose the surrogate of the error in the objective", constraints.Sigmoid, constraints.Logistic, constraints.Hinge).
		Or(string(standard)).With(boundsOn(OnSurrogate))
}

// psiOption returns the setting of the surrogate in the constraints.
func psiOption(psi *constraints.Phi, standard constraints.Phi) *option.Option {
	return option.Choice("psi", psi, "choose the surrogate of the error in the constraints", constraints.Sigmoid, constraints.Hinge).
		Or(string(standard)).With(boundsOn(OnSurrogate))
}

// boundsOf returns one bound for each of n constraints of a task, or an *OptionError. name is the
// name of the option that holds the bounds.
func boundsOf(name string, values []float64, n int) ([]float64, error) {
	bounds, err := constraints.Bounds(values, n)
	if err != nil {
		return nil, &OptionError{Option: name, Problem: "has " + err.Error()}
	}
	return bounds, nil
}
