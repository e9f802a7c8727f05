package verify

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// A proof of infeasibility whose numbers or weights were changed and sealed again is found by the
// recomputation.
func TestForgedProofs(t *testing.T) {
	require.NoRace(t, "it trains two runs")
	for _, name := range []string{"impossible", "impossible decisions"} {
		options := runs(t)[name]
		dir := trained(t, options())
		text := require.Value(os.ReadFile(dir.Summary()))(t)
		weights := require.Value(os.ReadFile(dir.Infeasible()))(t)
		flipped := slices.Clone(weights)
		flipped[len(flipped)-1] ^= 0x80 // the sign of the last weight
		for _, test := range []struct {
			says    string
			change  func(s *results.Summary)
			weights []byte
		}{
			{"infeasibility.constraints[1] is", func(s *results.Summary) { s.Infeasibility.Constraints[1] += 0.001 }, weights},
			{"infeasibility.max_violation is", func(s *results.Summary) { s.Infeasibility.MaxViolation -= 0.001 }, weights},
			{"infeasibility.relaxation is", func(s *results.Summary) { s.Infeasibility.Relaxation *= 1.01 }, weights},
			{"infeasibility.conflict[1].share is", func(s *results.Summary) { s.Infeasibility.Conflict[1].Share += 0.001 }, weights},
			{"infeasibility.conflict[1].share is", func(s *results.Summary) { s.Infeasibility.Conflict = s.Infeasibility.Conflict[:1] }, weights},
			{"infeasibility.stationarity is", func(s *results.Summary) { s.Infeasibility.Stationarity += 0.001 }, weights},
			{"infeasibility.radius", func(s *results.Summary) { s.Infeasibility.Radius /= 1e4 }, weights},
			{"prove no conflict", func(s *results.Summary) { s.Infeasibility.Radius = 1.99 }, weights},
			{"has a proof: false", func(s *results.Summary) { s.Infeasibility = nil }, weights},
			{"has a proof: true", func(s *results.Summary) { s.Status = string(trainer.Converged) }, weights},
			{"infeasible.safetensors is missing", func(s *results.Summary) {}, nil},
			{"infeasibility.constraints[0] is", func(s *results.Summary) {}, flipped},
		} {
			for path, content := range map[string][]byte{dir.Summary(): text, dir.Infeasible(): weights} {
				require.NoError(t, os.WriteFile(path, content, 0o644))
			}
			s, err := rundir.ReadSummary(dir.Summary())
			require.NoError(t, err)
			test.change(&s)
			if test.weights == nil {
				err = os.Remove(dir.Infeasible())
			} else if err = os.WriteFile(dir.Infeasible(), test.weights, 0o644); err == nil {
				err = dir.WriteSummary(&s)
			}
			require.NoError(t, err)
			r := verified(t, dir, options())
			if found := strings.Join(r.Problems, "\n"); r.Verified || !strings.Contains(found, test.says) {
				t.Errorf("%s: want a problem with %q, got %q", name, test.says, found)
			}
		}
	}
}

// A proof at weights so large that most sigmoids saturate is verified, although its gradients are
// inexact in float32.
func TestProofOfSteepScores(t *testing.T) {
	part := func(n int, seed uint64) *session.Matrix {
		r := rand.New(rand.NewPCG(seed, 0))
		features := &matrix.Dense{Rows: n, Cols: 1, Data: make([]float64, n)}
		m := &session.Matrix{Features: features}
		for i := range n {
			features.Data[i] = 0.6*float64(i%3) + r.NormFloat64()
			m.Labels = append(m.Labels, i%3)
		}
		return m
	}
	o := func() session.Options {
		return session.Options{Data: session.Matrices{Train: part(300, 1), Test: part(60, 2), Classes: []string{"p", "q", "s"}},
			Task: words(t, constraints.OnDecisions, "error[*] <= 0.2"), Model: &models.Spec{}, Settings: trainer.Settings{Iterations: 1000},
			Device: session.Device{Kind: session.CPU, Threads: 1}}
	}
	dir := trained(t, o())
	if s, err := rundir.ReadSummary(dir.Summary()); err != nil || s.Status != string(trainer.Infeasible) {
		t.Fatalf("status %q, %v", s.Status, err)
	}
	r := require.Value(Run(t.Context(), string(dir), o()))(t)
	if !r.Verified {
		t.Errorf("%q", r.Problems)
	}
}
