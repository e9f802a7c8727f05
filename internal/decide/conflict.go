package decide

import (
	"cmp"
	"context"

	"ppal/trainer"
	"ppal/trainer/certify"
)

// conflict searches for a proof that the bounds of the smooth problem cannot be met.
type conflict struct {
	spent  float64                // cost of the searches, in gradient evaluations
	inARow int                    // rounds in a row with a proof
	proof  *certify.Infeasibility // proof of the last round; nil: no proof
}

const (
	// mostConflicts is the number of rounds in a row with a proof that ends the run. The shifts after
	// the first of them may make the smooth problem feasible.
	mostConflicts = 2
	// searchShare is the largest cost of all searches but the last, as a share of the gradient
	// evaluations, or of the iterations if they are more: quasi-Newton steps at rest evaluate nothing.
	searchShare = 0.25
	// searchLeast is the least number of steps of a search; a proof needs 40.
	searchLeast = 50
	// searchLast is the least number of steps of a search after the last round. Most searches end
	// sooner.
	searchLast = 200
	// searchMost is the largest number of steps of a search.
	searchMost = 500
)

// searchConflict searches for the least violation of the smooth problem from the last iterate of a
// round, if no round met the bounds on decisions with the exact step. last says that no round
// follows.
func (l *loop) searchConflict(ctx context.Context, last bool) error {
	c, smooth := &l.conflict, l.f.Smooth
	c.proof = nil
	steps := int(min(searchShare*float64(max(l.at.GradientEvaluations, l.at.Iteration))-c.spent, searchMost))
	if last {
		steps = max(steps, searchLast)
	}
	tolerance := cmp.Or(l.set.FeasibilityTolerance, trainer.DefaultFeasibilityTolerance)
	if l.set.IgnoreConflict || l.best.round.Exact.Violation <= 0 || l.result.Certificate.Infeasibility <= tolerance || steps < searchLeast {
		c.inARow = 0
		return nil
	}
	o, err := certify.SearchFeasible(ctx, smooth, certify.InfeasibleSettings{Iterations: steps, Tolerance: tolerance, Sphere: l.set.Certificate.Sphere})
	if err != nil {
		return err
	}
	c.spent += float64(o.Evaluations) / 2 // a gradient evaluation is a forward and a backward pass
	c.proof = o.Certificate
	if c.inARow++; c.proof == nil {
		c.inARow = 0
	}
	return nil
}
