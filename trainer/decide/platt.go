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

const (
	plattSteps     = 100   // largest number of Newton steps
	plattTolerance = 1e-10 // largest mean gradient over the rows at the solution
	plattHalvings  = 60    // largest number of halvings of a step
)

// FitPlatt fits the probabilities of finite scores to the rows' classes by maximum likelihood with
// the targets (n_+ + 1)/(n_+ + 2) and 1/(n_- + 2), which keep the fit finite if the scores separate
// the classes. Sources: Platt, "Probabilistic outputs for support vector machines and comparisons
// to regularized likelihood methods", 1999; for the Newton iteration, Lin, Lin and Weng, "A note on
// Platt's probabilistic outputs for support vector machines", 2007. The error wraps
// ErrNoProbabilities, or problem.ErrSettings if the lengths differ.
func FitPlatt(scores []float64, positive []bool) (Platt, error) {
	if len(scores) != len(positive) {
		return Platt{}, fmt.Errorf("decide: %w: %d scores for %d rows", problem.ErrSettings, len(scores), len(positive))
	}
	var count [2]float64
	largest := 0.0
	for i, s := range scores {
		largest = math.Max(largest, math.Abs(s))
		if positive[i] {
			count[1]++
		} else {
			count[0]++
		}
	}
	switch {
	case count[0] == 0 || count[1] == 0:
		return Platt{}, fmt.Errorf("%w: the rows have %v positive and %v other rows, want both", ErrNoProbabilities, count[1], count[0])
	case largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest):
		return Platt{}, fmt.Errorf("%w: the largest score is %v", ErrNoProbabilities, largest)
	}
	high, low := (count[1]+1)/(count[1]+2), 1/(count[0]+2)
	target := func(i int) float64 {
		if positive[i] {
			return high
		}
		return low
	}
	// The scores are divided by the largest, so that both parameters have the same scale.
	a, b := 0.0, math.Log((count[1]+1)/(count[0]+1))
	loss := func(a, b float64) float64 {
		sum := 0.0
		for i, s := range scores {
			z := a*s/largest + b
			sum += math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - target(i)*z
		}
		return sum
	}
	value := loss(a, b)
	for range plattSteps {
		haa, hab, hbb, ga, gb := 1e-12, 0., 1e-12, 0., 0.
		for i, s := range scores {
			s /= largest
			p := 1 / (1 + math.Exp(-(a*s + b)))
			w, d := p*(1-p), p-target(i)
			haa, hab, hbb = haa+w*s*s, hab+w*s, hbb+w
			ga, gb = ga+d*s, gb+d
		}
		if math.Abs(ga) < plattTolerance*float64(len(scores)) && math.Abs(gb) < plattTolerance*float64(len(scores)) {
			break
		}
		det := haa*hbb - hab*hab
		da, db := -(hbb*ga-hab*gb)/det, -(haa*gb-hab*ga)/det
		slope, step, improved := ga*da+gb*db, 1.0, false
		for range plattHalvings {
			toA, toB := a+step*da, b+step*db
			if toA == a && toB == b && slope <= 0 { // no shorter step changes the loss
				break
			}
			if next := loss(toA, toB); next < value+1e-4*step*slope {
				a, b, value, improved = toA, toB, next, true
				break
			}
			step /= 2
		}
		if !improved {
			break
		}
	}
	p := Platt{Slope: a / largest, Intercept: b}
	if !(p.Slope > 0) || math.IsInf(p.Slope, 0) || math.IsNaN(p.Intercept) || math.IsInf(p.Intercept, 0) {
		return Platt{}, fmt.Errorf("%w: the fitted slope is %v: the scores do not rank positive rows higher", ErrNoProbabilities, p.Slope)
	}
	return p, nil
}
