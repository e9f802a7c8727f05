package decide

import (
	"errors"
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// Platt gives probabilities of the positive class from scores:
//
//	p(s) = 1/(1 + e^-(Slope s + Intercept)),   Slope > 0.
//
// s is a score of the saved model, after the subtraction of the threshold. Because p increases with
// s, the decision s > 0 is the decision p > AtThreshold. Therefore no decision changes.
type Platt struct {
	Slope, Intercept float64
}

// Probability returns p(s).
func (p Platt) Probability(s float64) float64 { return 1 / (1 + math.Exp(-(p.Slope*s + p.Intercept))) }

// AtThreshold returns p(0). The decision for a row is positive if its probability is above p(0).
func (p Platt) AtThreshold() float64 { return p.Probability(0) }

// ErrNoProbabilities says that scores give no increasing probability: the rows lack a class, or
// the scores do not rank the positive rows above the others.
var ErrNoProbabilities = errors.New("decide: no probabilities")

// FitPlatt fits the probabilities of finite scores to the rows' classes by maximum likelihood with
// the targets (n_+ + 1)/(n_+ + 2) and 1/(n_- + 2), which keep the fit finite if the scores separate
// the classes. It is FitSoftmax with the scores 0 and s. Source: Platt, "Probabilistic outputs for
// support vector machines and comparisons to regularized likelihood methods", 1999. The error wraps
// ErrNoProbabilities, or problem.ErrSettings if the lengths differ.
func FitPlatt(scores []float64, positive []bool, weights []float64) (Platt, error) {
	if len(scores) != len(positive) {
		return Platt{}, fmt.Errorf("decide: %w: %d scores for %d rows", problem.ErrSettings, len(scores), len(positive))
	}
	pair := make([]float64, 2)
	p, err := fitSoftmax(rowsOfClasses{len(scores), 2, scaled(weights), func(i int) ([]float64, int) {
		pair[1] = scores[i]
		if positive[i] {
			return pair, 1
		}
		return pair, 0
	}})
	if err != nil {
		return Platt{}, err
	}
	return Platt{Slope: p.Slope, Intercept: p.Intercepts[1]}, nil
}
