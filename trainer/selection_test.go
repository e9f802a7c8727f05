package trainer_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

func TestMeritBetter(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a, b trainer.Merit
		want bool
	}{
		{trainer.Merit{0, 2}, trainer.Merit{0.1, 1}, true},
		{trainer.Merit{0.1, 1}, trainer.Merit{0, 2}, false},
		{trainer.Merit{0, 1}, trainer.Merit{0, 2}, true},
		{trainer.Merit{0, 1}, trainer.Merit{0, 1}, false},
		{trainer.Merit{nan, 1}, trainer.Merit{9, 9}, false},
		{trainer.Merit{9, 9}, trainer.Merit{nan, 1}, true},
		{trainer.Merit{nan, 1}, trainer.Merit{inf, 2}, true},
		{trainer.Merit{0, nan}, trainer.Merit{0, 9}, false},
	} {
		if got := c.a.Better(c.b); got != c.want {
			t.Errorf("%v better than %v: %v", c.a, c.b, got)
		}
	}
}

func TestMeritOf(t *testing.T) {
	if got, want := trainer.MeritOf(3, []float64{-1, 0.25, 0.5}, 0.25), (trainer.Merit{0.25, 3}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := trainer.MeritOf(3, []float64{-1, 0.2}, 0.25); got.Violation != 0 {
		t.Errorf("a violation below the tolerance gives %v", got)
	}
	if got := trainer.MeritOf(3, []float64{1, math.NaN(), 2}, 0); !math.IsNaN(got.Violation) {
		t.Errorf("a constraint that is not a number gives %v", got)
	}
}

// The best iterate on the training rows is the record with the smallest violation beyond the
// tolerance, and among these the record with the smallest objective. The choice does not change the
// records, to the bit.
func TestOutputBestTrain(t *testing.T) {
	run := func(output trainer.Output, tolerance float64) (*trainer.Result, *testkit.Journal, float64) {
		l, p := &testkit.Journal{}, testkit.Start(t, testkit.Line(), 0)
		r := require.Value(trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{
			Iterations: 50, RecordEvery: 1, Output: output, FeasibilityTolerance: tolerance, Recorder: l}))(t)
		return r, l, testkit.Iterate(p)[0]
	}
	for _, tolerance := range []float64{1e-9, 1e-2} {
		best, l, x := run(trainer.OutputBestTrain, tolerance)
		_, plain, _ := run(trainer.OutputLast, tolerance)
		want := 1
		merit := func(r trainer.Record) trainer.Merit {
			return trainer.MeritOf(r.Objective, []float64{r.MaxViolation}, tolerance)
		}
		for i, r := range l.Records {
			if i > 0 && merit(r).Better(merit(l.Records[want])) {
				want = i
			}
			if p := plain.Records[i]; p.Objective != r.Objective || p.MaxViolation != r.MaxViolation || p.Certificate.Epsilon != r.Certificate.Epsilon {
				t.Errorf("record %d differs from that of a run without a selection", i)
			}
		}
		if best.Output != want || want == 50 {
			t.Errorf("tolerance %v: iterate %d, want %d", tolerance, best.Output, want)
		}
		if g := x - 1; best.Point.Constraints[0] != g || best.Objective != l.Records[want].Objective {
			t.Errorf("tolerance %v: g is %v, want %v; the objective is %v, of the record %v",
				tolerance, best.Point.Constraints, g, best.Objective, l.Records[want].Objective)
		}
	}
}

// A caller's TrainMerit replaces the merit of the record.
func TestOutputBestTrainByOwnMerit(t *testing.T) {
	record := -1
	r := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{}, trainer.Settings{
		Iterations: 50, CheckEvery: 5, RecordEvery: 50, Output: trainer.OutputBestTrain,
		Measure:    func() (map[string]float64, error) { record++; return nil, nil },
		TrainMerit: func() trainer.Merit { return trainer.Merit{Objective: math.Abs(float64(record) - 2)} },
	}))(t)
	if r.Output != 10 {
		t.Errorf("iterate %d, want 10", r.Output)
	}
}

// A run stops if the merit on the validation rows does not improve for as many checks as its
// patience, whatever the number of records. It returns the best iterate by default. The start
// never counts as the best.
func TestPatience(t *testing.T) {
	merits := []float64{0, 5, 4, 4, 6, 3, 7, 8, 3, 1, 0} // by check
	run := func(patience int, output trainer.Output) *trainer.Result {
		record := -1
		r := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: restless}, trainer.Settings{
			Iterations: 100, CheckEvery: 10, RecordEvery: 100, Patience: patience, Output: output,
			Measure:         func() (map[string]float64, error) { record++; return nil, nil },
			ValidationMerit: func() trainer.Merit { return trainer.Merit{Violation: merits[record]} },
		}))(t)
		return r
	}
	for _, c := range []struct {
		patience                   int
		output                     trainer.Output
		status                     trainer.Status
		iterations, outputOfResult int
	}{
		{1, "", trainer.NoImprovement, 30, 20},
		{2, "", trainer.NoImprovement, 40, 20},
		{3, "", trainer.NoImprovement, 80, 50},
		{3, trainer.OutputLast, trainer.NoImprovement, 80, 80},
		{4, "", trainer.IterationLimit, 100, 100},
		{0, trainer.OutputBestValidation, trainer.IterationLimit, 100, 100},
	} {
		r := run(c.patience, c.output)
		if r.Status != c.status || r.Iterations != c.iterations || r.Output != c.outputOfResult {
			t.Errorf("patience %d, output %q: %s after %d iterations, output %d; want %s, %d, %d",
				c.patience, c.output, r.Status, r.Iterations, r.Output, c.status, c.iterations, c.outputOfResult)
		}
	}
}

func TestSelectionRefused(t *testing.T) {
	for _, s := range []trainer.Settings{
		{Patience: 3}, {Output: trainer.OutputBestValidation}, {Output: "fastest"},
		{Patience: -1, ValidationMerit: func() trainer.Merit { return trainer.Merit{} }},
	} {
		if _, err := trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), 0), &method.ALM{}, s); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("patience %d, output %q: error %v, want ErrSettings", s.Patience, s.Output, err)
		}
	}
}
