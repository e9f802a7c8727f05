package verify

import (
	"fmt"
	"math"

	"ppal/constraints"
)

// logisticOf returns 1/(1 + e^-z).
func logisticOf(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}

// surrogate is a decreasing function of a margin, with its derivative.
type surrogate struct {
	value, slope func(y float64) float64
}

// surrogateOf returns the surrogate with the name.
//
//	sigmoid   1/(1 + e^y)
//	logistic  log(1 + e^-y)
//	hinge     max(0, 1 - y), with the derivative 0 at y = 1
func surrogateOf(name constraints.Phi) (*surrogate, error) {
	switch name {
	case constraints.Sigmoid:
		return &surrogate{func(y float64) float64 { return logisticOf(-y) },
			func(y float64) float64 { return -logisticOf(y) * logisticOf(-y) }}, nil
	case constraints.Logistic:
		return &surrogate{logisticLoss, func(y float64) float64 { return -logisticOf(-y) }}, nil
	case constraints.Hinge:
		return &surrogate{func(y float64) float64 { return max(0, 1-y) }, func(y float64) float64 {
			if y < 1 {
				return -1
			}
			return 0
		}}, nil
	}
	return nil, fmt.Errorf("verify: unknown surrogate %q", name)
}

// logisticLoss returns log(1 + e^-y).
func logisticLoss(y float64) float64 {
	if y < 0 {
		return -y + math.Log1p(math.Exp(y))
	}
	return math.Log1p(math.Exp(-y))
}

// softmax writes the probabilities of the scores.
func softmax(p, scores []float64) {
	largest := math.Inf(-1)
	for _, s := range scores {
		largest = max(largest, s)
	}
	sum := 0.0
	for k, s := range scores {
		p[k] = math.Exp(s - largest)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
}

// crossEntropy returns -log of the probability of class y.
func crossEntropy(scores []float64, y int) float64 {
	largest, sum := math.Inf(-1), 0.0
	for _, s := range scores {
		largest = max(largest, s)
	}
	for _, s := range scores {
		sum += math.Exp(s - largest)
	}
	return math.Log(sum) + largest - scores[y]
}

// largestAt returns the index of the largest score, the first of equal scores.
func largestAt(scores []float64) int {
	at := 0
	for k, s := range scores {
		if s > scores[at] {
			at = k
		}
	}
	return at
}
