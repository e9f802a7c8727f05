package measure

import (
	"slices"

	"ppal/internal/decide"
)

// mostTurned is the largest number of columns whose weights Turn changes.
const mostTurned = 8

// Turn is the first part of the exact step for a linear model with one score and at most mostTurned
// columns. It starts decide.Turn from the weights of the rounds. If the search finds better
// weights, Turn sets f.Weights and f.Step, and returns the scores of the training rows at these
// weights; otherwise it returns scores. For other models it returns scores.
//
// x [columns + 1] are the weights of the best round with the bias last, and scores the scores of
// the training rows at x. accepted is 1 for a row of the positive class, else 0. scoresOf rounds x
// to the precision of the run, and returns the scores of the training rows at x in float64.
// resolution is as in ExactStep. c tightens the bounds; nil: no promise. Errors come from scoresOf
// and decide.Turn.
func (f *Solution) Turn(x, scores []float64, accepted []int, resolution float64, c *Confidence, scoresOf func(x []float64) ([]float64, error)) ([]float64, error) {
	n := len(x) - 1
	if n < 1 || n > mostTurned || f.Rates.Outputs() != 1 || !f.Rates.AllDecided() {
		return scores, nil
	}
	columns, target := make([][]float64, n), f.Target
	zero, err := scoresOf(make([]float64, n+1))
	for k := range columns {
		unit := make([]float64, n+1)
		unit[k] = 1
		if err == nil {
			columns[k], err = scoresOf(unit)
		}
	}
	if err != nil {
		return nil, err
	}
	weights, sums := f.Sample.Weights(), [2]float64{}
	weight := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	for i, y := range accepted {
		sums[y] += weight(i)
	}
	means := make([]float64, n)
	for k, column := range columns {
		for i, y := range accepted {
			column[i] -= zero[i]
			means[k] += float64(2*y-1) * weight(i) * column[i] / sums[y]
		}
	}
	if c != nil {
		target = target.Tightened(c.Tighten(f.ratesOf(scores, nil)))
	}
	starts := [][]float64{x[:n], means}
	for _, end := range f.Rounds.Ends {
		starts = append(starts, end[:n])
	}
	turned, err := decide.Turn(f.Rates, target, columns, starts, func(w []float64) { Round(w, resolution) }, resolution)
	if err != nil || turned == nil {
		return scores, err
	}
	f.before = f.Target.Value(f.ratesOf(scores, nil))
	f.Weights = append(turned, x[n])
	f.Step = make([]float64, n+1)
	for k, v := range f.Weights {
		f.Step[k] = v - x[k]
	}
	return scoresOf(slices.Clone(f.Weights))
}
