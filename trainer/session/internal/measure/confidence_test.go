package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/internal/rates"
	"ppal/internal/require"
)

// TestConfidenceComparesAllThresholds compares the search over thresholds with brute force: among
// the thresholds that meet the bound on the training rows and the umbrella's number on the
// validation rows, the search takes the threshold with the least objective.
func TestConfidenceComparesAllThresholds(t *testing.T) {
	bound := require.Value(constraints.Parse("fpr <= 0.1"))(t)
	labels := func(n int) (list []int) {
		for i := range n {
			list = append(list, i*i%7%2)
		}
		return list
	}
	training, validation := labels(300), labels(400)
	population := func(labels []int) *constraints.Population {
		return &constraints.Population{Classes: []string{"no", "yes"}, Labels: labels}
	}
	system := require.Value(constraints.NewSystem(constraints.FNR(), []constraints.Constraint{bound}, population(training)))(t)
	sample := require.Value(system.On(population(training)))(t)
	others := require.Value(system.On(population(validation)))(t)
	c := require.Value(NewConfidence(system, others, len(validation), 0.95))(t)
	f, _, err := NewSolution(system, sample, 2, len(training), 0)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(7, 8))
	draw := func(labels []int, shift float64) (scores []float64) {
		for _, y := range labels {
			scores = append(scores, rng.NormFloat64()+float64(2*y-1)+shift)
		}
		return scores
	}
	share := func(labels []int, scores []float64, label int, above float64) (hits, rows int) {
		for i, y := range labels {
			if y == label {
				rows++
				if scores[i] > above {
					hits++
				}
			}
		}
		return hits, rows
	}
	for _, shift := range []float64{-0.3, 0, 0.3} { // the validation rows are easier, as hard, harder
		scores, held := draw(training, 0), draw(validation, shift)
		least := math.Inf(1)
		for _, at := range slices.Concat(scores, held) {
			bad, negative := share(training, scores, 0, at)
			wrong, all := share(validation, held, 0, at)
			k, _ := rates.Umbrella(all, 0.1, 0.05)
			if float64(bad) <= 0.1*float64(negative) && wrong <= all-k {
				hits, positive := share(training, scores, 1, at)
				least = min(least, 1-float64(hits)/float64(positive))
			}
		}
		exact, err := c.search(f, scores, held, make([]int, len(c.sample.Rows())), 0)
		if err != nil || exact.Violation != 0 || math.Abs(exact.After-least) > 1e-9 {
			t.Errorf("shift %v: %+v, %v, want the objective %v", shift, exact, err, least)
		}
	}
}
