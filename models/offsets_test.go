package models_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
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
		weights := require.Value(models.Init(spec, rng))(t)
		rows := make([]float64, 4*6)
		for i := range rows {
			rows[i] = rng.NormFloat64()
		}
		before := require.Value(models.Predict(spec, weights, rows))(t)
		x := require.Value(models.Stack(spec, weights))(t)
		offsets := []float64{0.5, -2, 3}[:spec.Outputs]
		require.NoError(t, models.AddToScores(spec, x, offsets))
		moved := require.Value(models.Unstack(spec, x))(t)
		after := require.Value(models.Predict(spec, moved, rows))(t)
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
