package trainer_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// twoSides returns the problem min x^2/2 s.t. x <= -gap, -x <= -gap, with r the indicator of the
// box [-9, 9].
func twoSides(gap float64) problem.Functions {
	return problem.Functions{N: 1, M: 2, Regularizer: problem.Regularizer{Kind: problem.Box, Lower: -9, Upper: 9},
		F:         func(x []float64) float64 { return x[0] * x[0] / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] },
		G:         func(dst, x []float64) { dst[0], dst[1] = x[0]+gap, -x[0]+gap },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] - w[1] },
	}
}

// A run whose constraints contradict each other stops long before its limit, with a proof. With
// IgnoreConflict the run goes on. The records to the stop are the same.
func TestInfeasibleProblemStops(t *testing.T) {
	for _, m := range []func() trainer.Method{func() trainer.Method { return &method.ALM{} }, func() trainer.Method { return &method.GDA{} },
		func() trainer.Method { return &method.ALM{} }} {
		run := func(ignore bool) (*trainer.Result, *testkit.Journal) {
			l := &testkit.Journal{}
			r := require.Value(trainer.Train(t.Context(), testkit.Start(t, twoSides(1), 4), m(),
				trainer.Settings{Iterations: 3000, RecordEvery: 5, Recorder: l, IgnoreConflict: ignore}))(t)
			return r, l
		}
		r, l := run(false)
		if r.Status != trainer.Infeasible || r.Iterations > 600 || r.Attainable {
			t.Fatalf("%s: %v after %d iterations", m().Name(), r.Status, r.Iterations)
		}
		c := r.Infeasible
		if c == nil || math.Abs(c.Relaxation-1) > 1e-3 || math.Abs(c.Shares[0]-0.5) > 1e-3 || math.Abs(c.Values[1]-1) > 1e-2 {
			t.Errorf("%s: %+v", m().Name(), c)
		}
		if testkit.Mentions(r.Warnings.Texts(), "use more --iterations") {
			t.Errorf("%s: advice that does not help: %q", m().Name(), r.Warnings)
		}
		whole, all := run(true)
		if whole.Status != trainer.IterationLimit || whole.Iterations != 3000 || whole.Infeasible != nil {
			t.Errorf("%s: with IgnoreConflict %v after %d iterations", m().Name(), whole.Status, whole.Iterations)
		}
		for i, record := range l.Records {
			if other := all.Records[i]; record.Objective != other.Objective || record.MaxViolation != other.MaxViolation || record.Stationarity != other.Stationarity {
				t.Fatalf("%s: record %d is %+v, with IgnoreConflict %+v", m().Name(), i, record, other)
			}
		}
	}
}

// A search that proves nothing changes no bit of the run: here the constraints can be met, and the
// method ignores them.
func TestSearchLeavesTheRunAlone(t *testing.T) {
	run := func(ignore bool) (*trainer.Result, *testkit.Journal) {
		l := &testkit.Journal{}
		r := require.Value(trainer.Train(t.Context(), testkit.Start(t, testkit.Line(), 4), &method.Unconstrained{Primal: step.Settings{Kind: step.Nesterov}},
			trainer.Settings{Iterations: 300, RecordEvery: 5, Recorder: l, IgnoreConflict: ignore}))(t)
		return r, l
	}
	r, l := run(false)
	if r.Status != trainer.IterationLimit || !r.Attainable || r.BestFeasible != nil {
		t.Fatalf("%v, attainable %t, %+v: the test needs a run that stays infeasible", r.Status, r.Attainable, r.BestFeasible)
	}
	_, all := run(true)
	for i, record := range l.Records {
		if other := all.Records[i]; record.Objective != other.Objective || record.MaxViolation != other.MaxViolation || record.Stationarity != other.Stationarity {
			t.Fatalf("record %d is %+v, without a search %+v", i, record, other)
		}
	}
}

// A run with a feasible record does not search: the record meets the constraints.
func TestNoSearchAfterFeasibleRecord(t *testing.T) {
	r, err := trainer.Train(t.Context(), testkit.Start(t, testkit.Line(), 0), &method.Unconstrained{}, trainer.Settings{Iterations: 300, RecordEvery: 5})
	if err != nil || r.BestFeasible == nil || r.Point.Constraints[0] < 1 || r.Attainable {
		t.Errorf("%+v, %v", r, err)
	}
}

// The trend tells multipliers that still change from multipliers at rest.
func TestTrend(t *testing.T) {
	for iterations, moving := range map[int]bool{60: true, 3000: false} {
		r := require.Value(trainer.Train(t.Context(), testkit.Start(t, testkit.Line(), 0), &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: iterations, RecordEvery: 5}))(t)
		if is := r.Trend.Multipliers > 1e-2; is != moving || r.Trend.AtRounding == moving {
			t.Errorf("%d iterations: %+v", iterations, r.Trend)
		}
	}
	r, err := trainer.Train(t.Context(), testkit.Start(t, testkit.Line(), 0), &method.Unconstrained{}, trainer.Settings{Iterations: 50})
	if err != nil || !math.IsNaN(r.Trend.Multipliers) {
		t.Errorf("without multipliers: %+v, %v", r.Trend, err)
	}
}

// bowl is f = |x - 1|^p/p of 3 variables and g = 2 - x_0, with the given signs of the gradients.
func bowl(p, signF, signG float64) problem.Functions {
	return problem.Functions{N: 3, M: 1,
		F: func(x []float64) (f float64) {
			for _, v := range x {
				f += math.Pow(math.Abs(v-1), p) / p
			}
			return f
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = signF * math.Copysign(math.Pow(math.Abs(v-1), p-1), v-1)
			}
		},
		G:         func(dst, x []float64) { dst[0] = 2 - x[0] },
		JacobianT: func(dst, _, w []float64) { clear(dst); dst[0] = -signG * w[0] },
	}
}

// A run whose gradient of f or of a violated constraint has the wrong sign warns, with every primal
// step. A right gradient gives no warning, even if f must rise from the start, or has a kink. If
// records have a sample of the rows, the gradient of the sample decides.
func TestWrongSignIsSaid(t *testing.T) {
	const text = "does not fall along its negative gradient"
	for _, c := range []struct {
		name                string
		power, signF, signG float64
		start               []float64
		want                string
	}{
		{"right", 2, 1, 1, []float64{5, -3, 2}, ""},
		{"f must rise", 2, 1, 1, []float64{1, 1, 1}, ""},
		{"kinks", 1, 1, 1, []float64{1, 1, 1}, ""},
		{"sign of f", 2, -1, 1, []float64{5, -3, 2}, "the objective has not fallen"},
		{"sign of g", 2, 1, -1, []float64{-1, 0, 0}, "the constraint 1 has not fallen"},
	} {
		for _, kind := range []step.Kind{step.Gradient, step.Nesterov, step.LBFGS} {
			given, right := bowl(c.power, c.signF, c.signG), bowl(c.power, 1, 1)
			for rows, sample := range []*problem.Functions{nil, &given, &right} {
				settings, want := trainer.Settings{Iterations: 40, IgnoreConflict: true}, c.want
				if sample != nil { // its gradient is the one that is checked
					settings.Sample = &trainer.Sample{Problem: require.Value(sample.New(c.start))(t), Rows: rows}
				}
				if sample == &right {
					want = ""
				}
				r, err := trainer.Train(t.Context(), require.Value(given.New(c.start))(t), &method.ALM{Primal: step.Settings{Kind: kind}}, settings)
				if errors.Is(err, problem.ErrNonFinite) && c.want != "" {
					continue // the steps went to infinity, which is an error already
				}
				require.NoError(t, err)
				all := strings.Join(r.Warnings.Texts(), "\n")
				if said := strings.Contains(all, text); said != (want != "") || !strings.Contains(all, want) {
					t.Errorf("%s, %v, sample %d: %q", c.name, kind, rows, r.Warnings)
				}
			}
		}
	}
}

// A nil problem, method or context is an error that wraps problem.ErrSettings.
func TestNilArguments(t *testing.T) {
	var none context.Context
	p := require.Value(bowl(2, 1, 1).New([]float64{0, 0, 0}))(t)
	for name, try := range map[string]func() error{
		"problem is nil": func() error {
			_, err := trainer.Train(t.Context(), nil, &method.ALM{}, trainer.Settings{})
			return err
		},
		"method is nil":  func() error { _, err := trainer.Train(t.Context(), p, nil, trainer.Settings{}); return err },
		"context is nil": func() error { _, err := trainer.Train(none, p, &method.ALM{}, trainer.Settings{}); return err },
	} {
		if err := try(); !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If a problem does not meet a method's need, the error names the method and the need.
func TestNeeds(t *testing.T) {
	smooth := testkit.Start(t, testkit.Line(), 0)
	absolute := testkit.Line()
	absolute.Pieces = problem.Abs(1)
	pieces := testkit.Start(t, absolute, 0)
	absolute.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: 1}
	regularized := testkit.Start(t, absolute, 0)
	proxLinear := &method.PLADA{XStep: method.ProxLinear}
	for _, c := range []struct {
		name string
		m    trainer.Method
		p    problem.Problem
		want string // "" if the problem meets the need
	}{
		{"nothing", &method.ALM{}, smooth, ""},
		{"pieces", proxLinear, pieces, ""},
		{"no pieces", proxLinear, smooth, "PLADA's x-step proxlinear needs constraints that are maxima"},
		{"regularizer", proxLinear, regularized, "PLADA's x-step proxlinear needs a regularizer in [none]; the problem has l1"},
		{"group", &method.MultiplierModel{}, smooth, "the multiplier model needs one drawn group"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.m.Needs().Check(c.p)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			testkit.Refused(t, c.p, c.m, trainer.Settings{})
		})
	}
}
