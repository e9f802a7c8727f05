package constraints

// BoundsOn says which values the bounds of a run apply to. The empty string means OnDecisions.
type BoundsOn string

// The values to which bounds apply.
const (
	OnDecisions BoundsOn = "decisions" // rates of counted decisions
	OnSurrogate BoundsOn = "surrogate" // smooth functions of the scores, as in the published problems
)
