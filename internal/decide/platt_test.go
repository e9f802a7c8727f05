package decide_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/decide"
	"ppal/trainer/problem"
)

// TestPlattRecoversProbabilities draws classes from known probabilities and fits the probabilities.
func TestPlattRecoversProbabilities(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	const n = 40000
	scores, positive := make([]float64, n), make([]bool, n)
	want := decide.Platt{Slope: 0.02, Intercept: -0.7}
	for i := range scores {
		scores[i] = 100 * rng.NormFloat64()
		positive[i] = rng.Float64() < want.Probability(scores[i])
	}
	got, err := decide.FitPlatt(scores, positive, nil)
	if err != nil || math.Abs(got.Slope-want.Slope) > 0.001 || math.Abs(got.Intercept-want.Intercept) > 0.05 {
		t.Fatalf("%+v, %v; want about %+v", got, err, want)
	}
	mean := 0.0
	for i, s := range scores {
		p := got.Probability(s)
		if (s > 0) != (p > got.AtThreshold()) {
			t.Fatalf("the score %v has the probability %v, the threshold %v: the decision changes", s, p, got.AtThreshold())
		}
		if positive[i] {
			mean++
		}
		mean -= p
	}
	if math.Abs(mean/n) > 1e-4 {
		t.Errorf("the mean probability is %v off the share of positive rows", mean/n)
	}
}

// TestPlattStaysFinite fits scores that separate the classes.
func TestPlattStaysFinite(t *testing.T) {
	p, err := decide.FitPlatt([]float64{-300, -200, 250, 310}, []bool{false, false, true, true}, nil)
	if err != nil || !(p.Slope > 0) || p.Slope > 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if high, low := p.Probability(310), p.Probability(-300); high < 0.7 || high > 0.8 || low > 0.3 || low < 0.2 {
		t.Errorf("probabilities %v and %v, want near the targets 3/4 and 1/4", high, low)
	}
}

// TestPlattRefuses checks the errors for bad input.
func TestPlattRefuses(t *testing.T) {
	if _, err := decide.FitPlatt([]float64{1, 2}, []bool{true, true}, nil); !errors.Is(err, decide.ErrNoProbabilities) {
		t.Errorf("one class: %v", err)
	}
	if _, err := decide.FitPlatt([]float64{-1, 1, -2, 2}, []bool{true, false, true, false}, nil); !errors.Is(err, decide.ErrNoProbabilities) {
		t.Errorf("a falling score: %v", err)
	}
	if _, err := decide.FitPlatt([]float64{0, 0}, []bool{true, false}, nil); !errors.Is(err, decide.ErrNoProbabilities) {
		t.Errorf("scores of 0: %v", err)
	}
	if _, err := decide.FitPlatt([]float64{1}, nil, nil); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a missing class: %v", err)
	}
}
