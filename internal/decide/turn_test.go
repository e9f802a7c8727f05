package decide

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// TestTurn checks that Turn leaves weights whose decisions are wrong for the right ones, keeps
// their norm, rounds them, and leaves the right ones.
func TestTurn(t *testing.T) {
	const n = 200
	columns := [][]float64{make([]float64, n), make([]float64, n)}
	for i := range n {
		columns[0][i], columns[1][i] = math.Sin(float64(3*i)), math.Cos(float64(5*i*i))
	}
	rates := require.Value(NewRates(n, 2, []float64{0}, func(i int) []Entry {
		wrong := 1
		if columns[0][i]-2*columns[1][i] > 0.1 {
			wrong = 0
		}
		return []Entry{{Rate: 0, Class: wrong, Weight: 1. / n}}
	}))(t)
	target := &Target{Objective: problem.AffineRow{Coefficients: []float64{1}}}
	round := func(w []float64) {
		for k, v := range w {
			w[k] = float64(float32(v))
		}
	}
	w, err := Turn(rates, target, columns, [][]float64{{3, 4}}, round, 1e-9)
	if err != nil || w == nil || math.Abs(vec.Norm(w)-5) > 1e-6 || w[0] != float64(float32(w[0])) || math.Abs(w[1]/w[0]+2) > 0.2 {
		t.Errorf("weights %v, %v, want about a multiple of 1, -2 with the norm 5", w, err)
	}
	if again, err := Turn(rates, target, columns, [][]float64{w}, round, 1e-9); err != nil || again != nil {
		t.Errorf("the best weights became %v, %v", again, err)
	}
	if _, err := Turn(rates, target, columns, [][]float64{{1}}, round, 1e-9); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a start of one weight for two columns: %v", err)
	}
}

// TestTurnOfOneColumn checks that Turn ends for one column, which has two directions, and takes the
// better one.
func TestTurnOfOneColumn(t *testing.T) {
	const n = 60
	column := make([]float64, n)
	rates := require.Value(NewRates(n, 2, []float64{0}, func(i int) []Entry {
		column[i] = float64(i*i%17) - 8
		wrong := 0
		if column[i] > 1 && i%7 > 0 {
			wrong = 1
		}
		return []Entry{{Rate: 0, Class: wrong, Weight: 1. / n}}
	}))(t)
	target := &Target{Objective: problem.AffineRow{Coefficients: []float64{1}}}
	for _, start := range []float64{2, -2} {
		w, err := Turn(rates, target, [][]float64{column}, [][]float64{{start}}, func([]float64) {}, 1e-9)
		if err != nil || w != nil && (len(w) != 1 || w[0] != -start) {
			t.Errorf("from %v to %v, %v", start, w, err)
		}
	}
}

// TestTurnGainsMoreThanNoise checks that c changed decisions have at least 1/4 c^(1/2) fewer
// errors, on rows whose classes depend little on the columns.
func TestTurnGainsMoreThanNoise(t *testing.T) {
	const n = 100
	changes := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		columns := [][]float64{make([]float64, n), make([]float64, n)}
		for k := range n {
			columns[0][k], columns[1][k] = rng.NormFloat64(), rng.NormFloat64()
		}
		rates := require.Value(NewRates(n, 2, []float64{0}, func(i int) []Entry {
			wrong := 0
			if columns[0][i]+4*rng.NormFloat64() < 0 {
				wrong = 1
			}
			return []Entry{{Class: wrong, Weight: 1. / n}}
		}))(t)
		target := &Target{Objective: problem.AffineRow{Coefficients: []float64{1}}}
		decide := func(w []float64) ([]int32, float64) {
			scores, decisions := make([]float64, n), make([]int32, n)
			for i := range scores {
				scores[i] = w[0]*columns[0][i] + w[1]*columns[1][i]
			}
			e := require.Value(Offsets(rates, target, scores, 1e-9))(t)
			Decide(decisions, scores, e.Offsets)
			return decisions, n * e.After
		}
		start := []float64{1, 0}
		w := require.Value(Turn(rates, target, columns, [][]float64{start}, func([]float64) {}, 1e-9))(t)
		if w == nil {
			continue
		}
		changes++
		before, errors := decide(start)
		after, fewer := decide(w)
		changed := 0
		for i, k := range after {
			if k != before[i] {
				changed++
			}
		}
		if errors-fewer < turnNoise*math.Sqrt(float64(changed)) {
			t.Errorf("table %d: %d changed decisions gain %.0f rows", seed, changed, errors-fewer)
		}
	}
	if changes == 0 {
		t.Error("Turn never changed the weights")
	}
}
