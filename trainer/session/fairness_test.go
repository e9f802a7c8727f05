package session

import (
	"context"
	"math"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/config"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// tables is a resolved configuration of a fairness problem on a built-in table.
func tableConfig(t *testing.T, values config.Values) config.Train {
	t.Helper()
	values["threads"] = "2"
	cfg, err := config.Resolve(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Every fairness problem trains, becomes feasible where its bound can be met, and ends with measures of every split.
func TestFairnessProblemsTrain(t *testing.T) {
	for name, tc := range map[string]struct {
		values   config.Values
		measure  string
		feasible bool
	}{
		"dp, absolute":     {config.Values{"problem": "dp", "dataset": "synthetic-compas", "method": "plada"}, "dp_gap", true},
		"dp, split":        {config.Values{"problem": "dp", "dataset": "synthetic-compas"}, "dp_gap", true},
		"dp, plada split":  {config.Values{"problem": "dp", "dataset": "synthetic-compas", "method": "plada", "x-step": "split"}, "dp_gap", true},
		"eo, two":          {config.Values{"problem": "eo", "dataset": "synthetic-compas", "method": "plada"}, "tpr_gap", true},
		"eo, max":          {config.Values{"problem": "eo", "dataset": "synthetic-compas", "method": "plada", "eo-form": "max"}, "fpr_gap", true},
		"if, expectation":  {config.Values{"problem": "if", "if-form": "expectation", "hidden": "8"}, "group_error_gap_max", true},
		"if, each":         {config.Values{"problem": "if", "hidden": "8"}, "group_loss_violation_max", false},
		"if, sampled":      {config.Values{"problem": "if", "if-form": "sampled", "method": "plada", "hidden": "8"}, "group_error_violation_mean", false},
		"if, multipliers":  {config.Values{"problem": "if", "method": "multiplier-model", "multiplier-model-step": "0.01", "hidden": "8"}, "group_error_violation_max", false},
		"dp, mini-batches": {config.Values{"problem": "dp", "dataset": "synthetic-compas", "method": "plada", "batch-size": "500"}, "dp_gap", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := build(t, tableConfig(t, tc.values))
			r, err := e.Train(context.Background(), trainer.Settings{Iterations: 200})
			if err != nil {
				t.Fatal(err)
			}
			final, err := e.Finish(r)
			if err != nil {
				t.Fatal(err)
			}
			if worst := problem.MaxViolation(final.Constraints); tc.feasible && worst > 1e-3 {
				t.Errorf("the violation is %v after 200 iterations", worst)
			}
			if start := math.Log(2); final.Objective > 1 || tc.values["problem"] == "dp" && final.Objective > start {
				t.Errorf("the objective is %v", final.Objective)
			}
			if len(final.Splits) != 3 || len(final.Values) != 1+len(e.Bounds()) {
				t.Errorf("%d splits, %d values of %d constraints", len(final.Splits), len(final.Values), len(e.Bounds()))
			}
			for _, s := range final.Splits {
				if len(s.Decisions) != len(final.Values) || s.Decisions[0] != s.Named["error"] {
					t.Errorf("%s rows: %d values on decisions, want %d; the first is %v, want the error %v", s.Name, len(s.Decisions),
						len(final.Values), s.Decisions[0], s.Named["error"])
				}
				for _, m := range []string{"error", "auc", "loss", "max_violation", tc.measure} {
					if _, ok := s.Named[m]; !ok {
						t.Errorf("no measure %s of the %s rows in %v", m, s.Name, s.Named)
					}
				}
			}
		})
	}
}

// The certificate in float64, from blocks of rows, is that of the training problem run in float64.
func TestExactFairness(t *testing.T) {
	for _, values := range []config.Values{
		{"problem": "eo", "dataset": "synthetic-adult", "method": "plada", "dtype": "float64"},
		{"problem": "if", "hidden": "5", "dtype": "float64"},
	} {
		e := build(t, tableConfig(t, values))
		if _, err := e.Train(context.Background(), trainer.Settings{Iterations: 5}); err != nil {
			t.Fatal(err)
		}
		smooth, err := newExact(e.t, e.splits[0].rows, e.iterate())
		if err != nil {
			t.Fatal(err)
		}
		if smooth.blocks, err = e.t.blocksOf(e.splits[0].data, 501, tensor.Float64, e.weights(t)); err != nil { // sparse rows and dense ones are cut up
			t.Fatal(err)
		}
		p, err := wrapped(e.t.goal, smooth)
		if err != nil {
			t.Fatal(err)
		}
		n, m := p.Dims()
		g, want := make([]float64, m), make([]float64, m)
		f, err := p.Forward(g)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := e.problem.Forward(want)
		if err != nil {
			t.Fatal(err)
		}
		nearly(t, "f, g", append(g, f), append(want, whole))
		weights := make([]float64, 1+m)
		for j := range weights {
			weights[j] = 1 / float64(1+j)
		}
		a, b := p.Space().New(), e.problem.Space().New()
		if err := p.Backward(weights, a); err != nil {
			t.Fatal(err)
		}
		if err := e.problem.Backward(weights, b); err != nil {
			t.Fatal(err)
		}
		x, y := make([]float64, n), make([]float64, n)
		p.Space().Read(x, a)
		e.problem.Space().Read(y, b)
		nearly(t, "gradient", x, y)
	}
}
