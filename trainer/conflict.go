package trainer

import (
	"math"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// conflict watches the infeasibility on the automatic schedule of records, and searches for a proof
// that the constraints cannot be met.
type conflict struct {
	recent   []float64 // infeasibility of the last records, at most stalledRecords
	before   float64   // least infeasibility of the records before
	started  bool      // before has a value
	spent    float64   // cost of the searches, in gradient evaluations
	proof    *certify.Infeasibility
	attained bool // a search found a point that meets the constraints
	met      bool // an iterate on the schedule met the constraints
}

const (
	// stalledRecords is the number of records in a row without progress that start a search.
	stalledRecords = 10
	// stalled is the ratio of the least infeasibility of these records to the least before from
	// which the infeasibility counts as no longer falling.
	stalled = 0.9
	// searchShare is the largest cost of all searches, as a share of the run's gradient
	// evaluations.
	searchShare = 0.25
	// searchLeast is the least number of steps of a search during a run. A proof needs 40.
	searchLeast = 50
	// searchMost is the largest number of steps of a search.
	searchMost = 500
)

// add includes a record, and reports whether the infeasibility no longer falls.
func (c *conflict) add(infeasibility float64) bool {
	if len(c.recent) == stalledRecords {
		if first := c.recent[0]; !c.started || first < c.before {
			c.before, c.started = first, true
		}
		c.recent = c.recent[1:]
	}
	c.recent = append(c.recent, infeasibility)
	least := math.Inf(1)
	for _, v := range c.recent {
		least = min(least, v)
	}
	return c.started && least >= stalled*c.before
}

// searchConflict searches for the least violation from the iterate, and reports whether the search
// proves that the constraints cannot be met. The run asks on the automatic schedule of records,
// whether or not the iterate has a record, so that records do not change the end of a run. A
// search takes place only while no iterate on the schedule and no search has met the constraints,
// and only if the infeasibility no longer falls, or if the run is ending. All searches cost at most
// a quarter of the run's gradient evaluations; a search at the end costs at most a quarter again.
// If the search finds a proof, the iterate has a record. Early iterates are not compared with
// others, because few iterations lie between them.
func (t *run) searchConflict(ending bool) (proven bool, err error) {
	c := &t.conflict
	infeasibility, violation := t.last.Infeasibility, t.last.MaxViolation
	if t.recorded != t.at.Iteration {
		if t.ignoresConflict() {
			return false, nil
		}
		if infeasibility, violation, err = t.violation(); err != nil {
			return false, err
		}
	}
	stalls := (ending || !t.early()) && c.add(infeasibility)
	feasible := violation <= t.set.FeasibilityTolerance
	c.met = c.met || feasible
	if t.ignoresConflict() || feasible || !stalls && !ending || t.set.overdue() {
		return false, nil
	}
	steps := t.searchSteps(ending)
	if steps < 1 || steps < searchLeast && !ending {
		return false, nil
	}
	var o certify.SearchOutcome
	err = t.withAccuratePasses(func() (err error) {
		o, err = certify.SearchFeasible(t.ctx, t.full, certify.InfeasibleSettings{Iterations: steps, Tolerance: t.set.FeasibilityTolerance, Sphere: t.set.Certificate.Sphere})
		return err
	})
	if err != nil {
		return false, err
	}
	c.spent += float64(o.Evaluations) / 2 // a gradient evaluation is a forward and a backward pass
	c.proof, c.attained = o.Certificate, o.Attained
	if c.proof == nil {
		return false, nil
	}
	return true, t.record(false, true)
}

// ignoresConflict reports whether the run searches no more for a proof that the constraints cannot
// be met.
func (t *run) ignoresConflict() bool {
	c := &t.conflict
	return t.set.IgnoreConflict || c.attained || c.met || problem.FeaturesOf(t.full).Batches != nil
}

// violation returns the infeasibility and the largest violation of the iterate, or of the point
// that the method would return, as a record has them.
func (t *run) violation() (infeasibility, largest float64, err error) {
	err = t.returned(func() error {
		at, err := t.judged(false)
		if err != nil {
			return err
		}
		infeasibility, _ = certify.Residuals(at.Constraints, nil)
		largest = problem.MaxViolation(at.Constraints)
		return nil
	})
	return infeasibility, largest, err
}

// searchSteps returns the largest number of steps of the next search.
func (t *run) searchSteps(ending bool) int {
	evaluations := float64(t.at.GradientEvaluations - t.from)
	if t.full != t.p { // the gradients of the run are of mini-batches
		evaluations /= t.set.IterationsPerEpoch
	}
	if ending {
		return int(min(searchShare*evaluations, searchMost))
	}
	return int(min(searchShare*evaluations-t.conflict.spent, searchMost))
}
