package measure

import (
	"slices"

	"ppal/internal/decide"
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
// the scores of the training rows at x in float64. resolution is the largest relative distance of
// equal scores.
func (f *Solution) RankStep(best []float64, resolution float64, scoresOf func(x []float64) ([]float64, error)) error {
	smooth, err := f.smooth(best)
	if err != nil {
		return err
	}
	if f.Exact, err = f.Orders.Step(f.Target, best, smooth, resolution); err != nil {
		return err
	}
	f.Constant, f.Weights = -1, nil
	if f.Exact.Violation > 0 && !f.Exact.Moved {
		if err := f.between(scoresOf); err != nil {
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

// smooth returns the smooth rates of the scores, and 0 for the terms that are no rates.
func (f *Solution) smooth(scores []float64) ([]float64, error) {
	_, rates, err := f.Sample.Smooth(scores)
	if err != nil {
		return nil, err
	}
	return append(rates, make([]float64, f.System.Terms()-len(rates))...), nil
}

// between searches weights that meet the bounds on the segments from the best round's weights to
// those of the other rounds. The segment to another round ends at the first weights that do.
func (f *Solution) between(scoresOf func(x []float64) ([]float64, error)) error {
	from := f.Rounds.Ends[f.Rounds.Best]
	at := func(to []float64, t float64) (x []float64, e *decide.Exact, err error) {
		x = slices.Clone(from)
		for i := range x {
			x[i] += t * (to[i] - from[i])
		}
		scores, err := scoresOf(x)
		if err != nil {
			return nil, nil, err
		}
		smooth, err := f.smooth(scores)
		if err != nil {
			return nil, nil, err
		}
		still := *f.Orders
		still.Direction = nil
		e, err = still.Step(f.Target, scores, smooth, 0)
		return x, e, err
	}
	for k, to := range f.Rounds.Ends {
		if k == f.Rounds.Best || slices.Equal(to, from) {
			continue
		}
		low, met := 0.0, -1.0
		try := func(t float64) error {
			_, e, err := at(to, t)
			switch {
			case err != nil:
			case e.Violation <= 0:
				met = t
			default:
				low = t
			}
			return err
		}
		for p := 1; p <= segmentPoints && met < 0; p++ {
			if err := try(float64(p) / segmentPoints); err != nil {
				return err
			}
		}
		if met < 0 {
			continue
		}
		for range segmentHalvings {
			if err := try(low + (met-low)/2); err != nil {
				return err
			}
		}
		x, e, err := at(to, met)
		if err != nil {
			return err
		}
		if f.Exact.Violation > 0 || e.After < f.Exact.After {
			f.Weights = x
			f.Exact.After, f.Exact.Violation, f.Exact.Unjudged, f.Exact.Moved = e.After, e.Violation, e.Unjudged, true
		}
	}
	return nil
}
