package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// The number of records changes neither the weights nor the end of a run: for each method, and for
// outputs and ends that depend on checks, runs with a record in every iteration, at some
// iterations, and at the ends alone are equal. The last record is that of the last iterate.
func TestRecordsChangeNoWeight(t *testing.T) {
	validation := func(r *trainer.Settings, merits ...float64) {
		check := -1
		r.Measure = func() (map[string]float64, error) { return nil, nil }
		r.ValidationMerit = func() trainer.Merit {
			check++
			return trainer.Merit{Objective: merits[min(check, len(merits)-1)]}
		}
	}
	impossible := func() problem.Functions {
		fn := testkit.Line()
		g := fn.G
		fn.G = func(dst, x []float64) { g(dst, x); dst[0] = 1 + x[0]*x[0] }
		fn.JacobianT = func(dst, x, w []float64) { clear(dst); dst[0] = 2 * x[0] * w[0] }
		return fn
	}
	for _, c := range []struct {
		name string
		fn   problem.Functions
		set  func(*trainer.Settings)
	}{
		{"last", testkit.Line(), func(*trainer.Settings) {}},
		{"tolerance", testkit.Line(), func(s *trainer.Settings) { s.Tolerance = 1e-2 }},
		{"random", testkit.Line(), func(s *trainer.Settings) { s.Output = trainer.OutputRandom }},
		{"best", testkit.Line(), func(s *trainer.Settings) { s.Output = trainer.OutputBest }},
		{"best-train", testkit.Line(), func(s *trainer.Settings) { s.Output = trainer.OutputBestTrain }},
		{"patience", testkit.Line(), func(s *trainer.Settings) { s.Patience = 3; validation(s, 9, 8, 7, 5, 6, 6, 4, 5, 5, 5) }},
		{"conflict", impossible(), func(*trainer.Settings) {}},
	} {
		runs := 0
		for _, m := range method.Names() {
			var want string
			for _, every := range []int{0, 1, 7, 1000} {
				l := &testkit.Journal{}
				s := trainer.Settings{Iterations: 120, CheckEvery: 4, RecordEvery: every, Recorder: l, Seed: 3}
				c.set(&s)
				p := testkit.Start(t, c.fn, 2)
				own := require.Value(method.New(m))(t)
				r, err := trainer.Train(context.Background(), p, own, s)
				if err != nil {
					if !errors.Is(err, problem.ErrSettings) {
						t.Errorf("%s, %s: %v", c.name, m, err)
					}
					break // the method does not suit the problem
				}
				x := make([]float64, p.Space().Len())
				p.Space().Read(x, problem.Iterate)
				got := fmt.Sprintf("%s after %d iterations, output %d at %v", r.Status, r.Iterations, r.Output, x)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, %s: a record every %d iterations: %s, want %s", c.name, m, every, got, want)
				}
				runs++
				if k := l.Iterations; every > 0 && k[len(k)-1] != r.Iterations || !slices.IsSorted(k) {
					t.Errorf("%s, %s: records at %v of %d iterations", c.name, m, k, r.Iterations)
				}
			}
		}
		if runs < 20 {
			t.Errorf("%s: %d runs", c.name, runs)
		}
	}
}
