package session

import (
	"fmt"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// TestRecordsChangeNoWeight checks that the number of records changes neither the weights nor the
// end of a run, for problems of each kind, first-order and quasi-Newton steps, mini-batches, and
// ends by the bounds, by validation rows and by a conflict.
func TestRecordsChangeNoWeight(t *testing.T) {
	require.NoRace(t, "TestResume runs the same goroutines")
	table := Table{Dataset: "synthetic-compas"}
	on := func(set trainer.Settings, m trainer.Method, change func(*Options), texts ...string) Options {
		o := onTable(Decisions{SubjectTo: subject(t, texts...)}, table, func(o *Options) { o.Settings, o.Method = set, m })
		if change != nil {
			change(&o)
		}
		return o
	}
	for name, options := range map[string]func() Options{
		"pictures":            func() Options { return withValidation(trainer.OutputLast, 0, nil) },
		"pictures, patience":  func() Options { return withValidation("", 4, nil) },
		"parity":              func() Options { return onTable(DemographicParity{}, table, nil) },
		"decisions":           func() Options { return on(trainer.Settings{}, nil, nil, "gap(positive_rate, sex) <= 0.02") },
		"decisions, patience": func() Options { return on(trainer.Settings{Patience: 8}, nil, nil, "gap(positive_rate, sex) <= 0.02") },
		"decisions, best-train": func() Options {
			return on(trainer.Settings{Output: trainer.OutputBestTrain}, nil, nil, "fpr <= 0.1")
		},
		"decisions, nesterov": func() Options {
			return on(trainer.Settings{}, &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}}, nil, "fpr <= 0.1")
		},
		"decisions, batches": func() Options {
			return on(trainer.Settings{}, nil, func(o *Options) { o.BatchSize = 500 }, "gap(tpr, sex) <= 0.05")
		},
		"surrogates": func() Options {
			return on(trainer.Settings{Tolerance: 1e-3}, nil, func(o *Options) {
				o.Task = Decisions{BoundsOn: constraints.OnSurrogate, Minimize: constraints.FNR(), SubjectTo: subject(t, "fpr <= 0.1")}
			}, "fpr <= 0.1")
		},
		"conflict": func() Options { return on(trainer.Settings{}, nil, nil, "fpr <= 0.02", "fnr <= 0.02") },
	} {
		var want string
		for _, every := range []int{1, 50} {
			o := options()
			o.Settings.Iterations, o.Settings.RecordEvery, o.Settings.Seed, o.Device.Dtype = 60, every, 1, tensor.Float32
			a := buildOptions(t, o)
			r := require.Value(a.Optimize(t.Context(), a.options.Settings))(t)
			got := fmt.Sprintf("%s after %d iterations, output %d at %v", r.Status, r.Iterations, r.Output, a.iterate())
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s: a record every %d iterations: %.200s, want %.200s", name, every, got, want)
			}
		}
	}
}
