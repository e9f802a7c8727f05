package rundir

import (
	"cmp"
	"slices"

	"ppal/trainer/certify/infeasible"
)

// Infeasibility is the proof that a run's constraints cannot be met near its weights
// (infeasible.Certificate), with the keys of summary.json. It describes the point of the least
// violation that a search from the last iterate found. The file infeasible.safetensors has the
// weights of the point.
type Infeasibility struct {
	// Conflict lists the constraints that the point violates, the largest share first. The shares
	// are the weights y of the stationary combination of the constraints; their sum is 1.
	Conflict     []Conflicting `json:"conflict"`
	Constraints  []float64     `json:"constraints"`   // g at the point
	MaxViolation float64       `json:"max_violation"` // max_j g_j: raised by this amount, all bounds are met at the point
	// Relaxation is the least amount by which all bounds must be raised, to first order.
	Relaxation   float64 `json:"relaxation"`
	Stationarity float64 `json:"stationarity"` // relative to the gradients of the violated constraints
	// Radius is the distance from the point within which the constraints cannot be met, to first
	// order, relative to 1 + the norm of the weights.
	Radius float64 `json:"radius"`
	// BoundShifts are the amounts that the feedback of bounds on decisions had added to the bounds;
	// nil for bounds on surrogates.
	BoundShifts []float64 `json:"bound_shifts,omitempty"`
}

// Conflicting is a constraint of a conflict.
type Conflicting struct {
	Constraint string  `json:"constraint"`
	Share      float64 `json:"share"`
	Excess     float64 `json:"excess"` // g_j at the point
}

// NewInfeasibility returns the proof c for constraints with the given names; nil for nil.
func NewInfeasibility(c *infeasible.Certificate, names []string) *Infeasibility {
	if c == nil {
		return nil
	}
	i := &Infeasibility{Constraints: c.Values, Relaxation: c.Relaxation, Stationarity: c.Stationarity, Radius: c.Radius, MaxViolation: slices.Max(c.Values)}
	for j, share := range c.Shares {
		if share > 0 {
			i.Conflict = append(i.Conflict, Conflicting{Constraint: names[j], Share: share, Excess: c.Values[j]})
		}
	}
	slices.SortStableFunc(i.Conflict, func(a, b Conflicting) int { return cmp.Compare(b.Share, a.Share) })
	return i
}
