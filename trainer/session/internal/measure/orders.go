package measure

import (
	"slices"

	"ppal/internal/decide"
	"ppal/internal/vec"
	"ppal/trainer"
)

// setOrders prepares the rounds for n training rows whose pairs are counted.
func (f *Solution) setOrders(n int) trainer.Warnings {
	terms := f.System.Terms()
	f.Orders = &decide.Orders{Rates: terms, Count: func(scores, smooth []float64) ([]float64, error) {
		counted, err := f.Sample.CountScores(scores, smooth[:terms])
		return counted.Terms, err
	}}
	counted, err := f.Sample.CountScores(make([]float64, n), make([]float64, terms))
	if err != nil {
		panic(err) // finite scores of all rows have counts
	}
	f.Target = newTarget(f.System, &counted)
	return coded(WarnUnjudged, unjudged(f.System, &counted))
}

// Decided returns the rates of decisions for the rounds.
func (f *Solution) Decided() decide.Decisions {
	if f.Orders != nil {
		return f.Orders
	}
	return f.Rates
}

// The search between the ends of two rounds counts the pairs at segmentPoints points of the segment
// and then halves an interval segmentHalvings times.
const (
	segmentPoints   = 32
	segmentHalvings = 20
)

// RankStep takes the exact step of pairs: a shift of the scores of a group if the model has a
// weight for it, else a point between the ends of the best round and of another round. best are the
// scores of the best round. scoresOf rounds the weights x to the precision of the run, and returns
// the scores of the training rows at x in float64; affine says that the scores are affine functions
// of x. resolution is the largest relative distance of equal scores.
func (f *Solution) RankStep(best []float64, resolution float64, affine bool, scoresOf func(x []float64) ([]float64, error)) error {
	smooth, err := f.smooth(best)
	if err != nil {
		return err
	}
	if f.Exact, err = f.Orders.Step(f.Target, best, smooth, resolution); err != nil {
		return err
	}
	f.Weights = nil
	if f.Exact.Violation > 0 && !f.Exact.Moved {
		if err := f.between(best, affine, scoresOf); err != nil {
			return err
		}
	}
	scores := best
	if f.Weights != nil {
		if scores, err = scoresOf(f.Weights); err != nil {
			return err
		}
	}
	counted, err := f.Sample.CountScores(scores, smooth)
	f.flat = counted.Flat()
	return err
}

// smooth returns the smooth rates of the scores, and 0 for the terms that are no rates. It returns
// zeros if counts determine all rates.
func (f *Solution) smooth(scores []float64) ([]float64, error) {
	if !f.System.NeedsSmooth() {
		return make([]float64, f.System.Terms()), nil
	}
	_, rates, err := f.Sample.Smooth(scores)
	if err != nil {
		return nil, err
	}
	return append(rates, make([]float64, f.System.Terms()-len(rates))...), nil
}

// between searches weights that meet the bounds on the segments from the best round's weights to
// those of the other rounds. The segment to another round ends at the first weights that do. best
// are the scores of the best round. If the scores are affine, only the ends of a segment and the
// found weights take a pass over the rows.
func (f *Solution) between(best []float64, affine bool, scoresOf func(x []float64) ([]float64, error)) error {
	from := f.Rounds.Ends[f.Rounds.Best]
	for k, to := range f.Rounds.Ends {
		if k == f.Rounds.Best || slices.Equal(to, from) {
			continue
		}
		var x []float64
		exact := func(t float64) (*decide.Exact, error) {
			x = vec.Between(from, to, t)
			scores, err := scoresOf(x)
			if err != nil {
				return nil, err
			}
			return f.still(scores)
		}
		search := func(at func(t float64) (*decide.Exact, error)) (e *decide.Exact, err error) {
			t := firstMet(func(t float64) bool {
				if err == nil {
					e, err = at(t)
				}
				return err == nil && e.Violation <= 0
			})
			if err != nil || t < 0 {
				return nil, err
			}
			return exact(t)
		}
		e, err := (*decide.Exact)(nil), error(nil)
		if affine {
			var end []float64
			if end, err = scoresOf(slices.Clone(to)); err != nil {
				return err
			}
			e, err = search(func(t float64) (*decide.Exact, error) { return f.still(vec.Between(best, end, t)) })
		}
		if err == nil && (!affine || e != nil && e.Violation > 0) { // the rounding of the weights may matter
			e, err = search(exact)
		}
		if err != nil {
			return err
		}
		if e != nil && (f.Exact.Violation > 0 || e.After < f.Exact.After) {
			f.Weights = x
			f.Exact.After, f.Exact.Violation, f.Exact.Unjudged, f.Exact.Moved = e.After, e.Violation, e.Unjudged, true
		}
	}
	return nil
}

// still describes the orders of the scores without a shift.
func (f *Solution) still(scores []float64) (*decide.Exact, error) {
	smooth, err := f.smooth(scores)
	if err != nil {
		return nil, err
	}
	orders := *f.Orders
	orders.Direction = nil
	return orders.Step(f.Target, scores, smooth, 0)
}

// firstMet returns about the least t in (0, 1] for which met is true; -1 if met is false at all
// points.
func firstMet(met func(t float64) bool) float64 {
	low, high := 0.0, -1.0
	for p := 1; p <= segmentPoints; p++ {
		t := float64(p) / segmentPoints
		if met(t) {
			high = t
			break
		}
		low = t
	}
	if high < 0 {
		return -1
	}
	for range segmentHalvings {
		if t := low + (high-low)/2; met(t) {
			high = t
		} else {
			low = t
		}
	}
	return high
}
