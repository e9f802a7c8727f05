package session

import "ppal/internal/rundir"

// The outcome of a run in the user's terms.
type (
	// Outcome is the result of a run, counted on decisions.
	Outcome = rundir.Outcome
	// ConstraintOutcome is the result for one constraint.
	ConstraintOutcome = rundir.ConstraintOutcome
	// ObjectiveOutcome is the minimised rate on each split.
	ObjectiveOutcome = rundir.ObjectiveOutcome
	// Promise says whether a bound holds on new rows at the run's confidence.
	Promise = rundir.Promise
	// SplitValues holds the value of a quantity on each split.
	SplitValues = rundir.SplitValues
	// Probability computes the probability of the positive class from a score.
	Probability = rundir.Probability
	// Probabilities computes the probability of each class from its scores.
	Probabilities = rundir.Probabilities
	// BoundsOn says which values the bounds apply to. The empty string means OnDecisions.
	BoundsOn = rundir.BoundsOn
)

// The values to which bounds apply.
const (
	OnDecisions = rundir.OnDecisions
	OnSurrogate = rundir.OnSurrogate
)
