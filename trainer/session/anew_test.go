package session

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/racing"
	"ppal/trainer"
)

// unclear returns rows of three skewed features that say little about the label.
func unclear(n int, seed uint64) *Matrix {
	random := rand.New(rand.NewPCG(seed, 0))
	x, labels := &matrix.Dense{Rows: n, Cols: 3, Data: make([]float64, 3*n)}, make([]int, n)
	for i := range n {
		a, b, c := random.ExpFloat64(), random.ExpFloat64(), math.Floor(random.ExpFloat64()/5)
		copy(x.Data[3*i:], []float64{a - 1, b - 1, c})
		labels[i] = -1
		if random.Float64() < 1/(1+math.Exp(0.4+0.75*(a-1)-0.9*math.Log1p(3.5*b)+0.7)) {
			labels[i] = 1
		}
	}
	return &Matrix{Features: x, Labels: labels}
}

// TestRoundsBeginAnew checks that a run under a bound on precision does not stay where multipliers
// grow without effect: from every start the run converges, and runs that began anew end below the
// false negative rate of the weights of the loss, 0.932.
func TestRoundsBeginAnew(t *testing.T) {
	racing.Skip(t, "TestConfidenceOfRates runs the same goroutines")
	anew := 0
	for seed := range uint64(4) {
		o := Options{Data: Matrices{Train: unclear(1500, 4)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "precision >= 0.8")},
			Settings: trainer.Settings{Iterations: 400, Seed: seed}, Device: Device{Kind: CPU, Threads: 2}}
		r := trained(t, o)
		if r.Training.Status != trainer.Converged {
			t.Errorf("seed %d: %s after %d iterations", seed, r.Training.Status, r.Training.Iterations)
		}
		if !slices.ContainsFunc(r.Training.Notes, func(note string) bool { return strings.Contains(note, "began anew") }) {
			continue
		}
		if anew++; *r.Outcome.Objective.Train > 0.93 {
			t.Errorf("seed %d: a false negative rate of %v", seed, *r.Outcome.Objective.Train)
		}
	}
	if anew == 0 {
		t.Error("no round began anew: the rows test nothing")
	}
}
