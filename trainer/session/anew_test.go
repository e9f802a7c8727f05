package session

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
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
// grow without effect: a round begins anew, and the run ends below the false negative rate of the
// weights of the loss, 0.932. With quasi-Newton steps every run converges.
func TestRoundsBeginAnew(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	momentum := step.Settings{Kind: step.Nesterov}
	for name, m := range map[string]func() trainer.Method{
		"alm":           func() trainer.Method { return &method.ALM{} },
		"alm, nesterov": func() trainer.Method { return &method.ALM{Primal: momentum} },
		"ppala":         func() trainer.Method { return &method.PPALA{Primal: momentum} },
		"plada":         func() trainer.Method { return &method.PLADA{Primal: momentum} },
		"gdpa":          func() trainer.Method { return &method.GDPA{Primal: &momentum, Automatic: true} },
	} {
		anew := 0
		for seed := range uint64(2) {
			o := Options{Data: Matrices{Train: unclear(1500, 4)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "precision >= 0.8")},
				Method: m(), Settings: trainer.Settings{Iterations: 800, Seed: seed}, Device: Device{Kind: CPU, Threads: 2}}
			r := trained(t, o)
			if name == "alm" && r.Training.Status != trainer.RoundsEnded {
				t.Errorf("seed %d: %s after %d iterations", seed, r.Training.Status, r.Training.Iterations)
			}
			i := slices.IndexFunc(r.Training.Notes, func(note string) bool { return strings.Contains(note, "began anew") })
			if i < 0 {
				continue
			}
			if anew++; name == "alm" && !strings.HasPrefix(r.Training.Notes[i], "2 rounds") { // the first converges
				t.Errorf("seed %d: %s", seed, r.Training.Notes[i])
			}
			if *r.Outcome.Objective.Train > 0.93 {
				t.Errorf("%s, seed %d: a false negative rate of %v", name, seed, *r.Outcome.Objective.Train)
			}
		}
		if anew == 0 {
			t.Errorf("%s: no round began anew: the rows test nothing", name)
		}
	}
}

// A method without a penalty warns that no round gained on the weights of the loss.
func TestCannotBeginAnew(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	r := trained(t, Options{Data: Matrices{Train: unclear(1500, 4)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "precision >= 0.8")},
		Method: &method.GDA{}, Settings: trainer.Settings{Iterations: 800}, Device: Device{Kind: CPU, Threads: 2}})
	if !r.Training.Warnings.Has(decide.WarnStuck) {
		t.Errorf("the warnings are %q", r.Training.Warnings.Texts())
	}
}
