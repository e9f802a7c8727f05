package models_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/models"
)

// TestAddToScores adds offsets to the scores of every kind of model.
func TestAddToScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, spec := range []models.Spec{
		{Inputs: 4, Outputs: 1},
		{Inputs: 4, Outputs: 3},
		{Inputs: 4, Outputs: 2, Hidden: []int{5, 3}, Activation: models.Tanh},
		{Inputs: 4, Outputs: 3, Hidden: []int{5}, Heads: models.Separate},
	} {
		weights, err := models.Init(spec, rng)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]float64, 4*6)
		for i := range rows {
			rows[i] = rng.NormFloat64()
		}
		before, err := models.Predict(spec, weights, rows)
		if err != nil {
			t.Fatal(err)
		}
		x, err := models.Stack(spec, weights)
		if err != nil {
			t.Fatal(err)
		}
		offsets := []float64{0.5, -2, 3}[:spec.Outputs]
		if err := models.AddToScores(spec, x, offsets); err != nil {
			t.Fatal(err)
		}
		moved, err := models.Unstack(spec, x)
		if err != nil {
			t.Fatal(err)
		}
		after, err := models.Predict(spec, moved, rows)
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			if want := before[i] + offsets[i%spec.Outputs]; math.Abs(after[i]-want) > 1e-12 {
				t.Errorf("%+v: score %d is %v, want %v", spec, i, after[i], want)
			}
		}
		if err := models.AddToScores(spec, x, make([]float64, 7)); !errors.Is(err, models.ErrWeights) {
			t.Errorf("%+v: seven offsets: %v", spec, err)
		}
		if err := models.AddToScores(spec, x[:3], offsets); !errors.Is(err, models.ErrWeights) {
			t.Errorf("%+v: a vector of three weights: %v", spec, err)
		}
	}
}
