package constraints

// BoundsOn says which values a run's bounds apply to.
type BoundsOn string

// The values to which bounds apply.
const (
	OnDecisions BoundsOn = "decisions" // rates of counted decisions
	OnSurrogate BoundsOn = "surrogate" // smooth functions of the scores, as in the published problems
)
