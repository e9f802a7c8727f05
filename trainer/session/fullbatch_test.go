package session

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// finishing are runs on mini-batches whose last iterations use all rows: with quasi-Newton steps on
// smooth constraints and on pieces, and with the steps of the batches.
func finishing(iterations int) map[string]func() Options {
	parity := func(task Task, m func() trainer.Method) func() Options {
		return func() Options {
			return onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) {
				o.Method, o.BatchSize, o.Settings.Iterations = m(), 400, iterations
			})
		}
	}
	return map[string]func() Options{
		"ppala":    parity(DemographicParity{}, func() trainer.Method { return &method.PPALA{} }),
		"plada":    parity(EqualizedOdds{}, func() trainer.Method { return &method.PLADA{} }),
		"pieces":   parity(EqualizedOdds{}, func() trainer.Method { return &method.PLADA{XStep: method.ProxLinear} }),
		"alm":      parity(DemographicParity{}, func() trainer.Method { return &method.ALM{} }),
		"gda":      parity(DemographicParity{}, func() trainer.Method { return &method.GDA{} }),
		"momentum": parity(DemographicParity{}, func() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }),
		"gradient": parity(EqualizedOdds{}, func() trainer.Method {
			return &method.PLADA{Primal: step.Settings{Kind: step.Gradient}, XStep: method.Subgradient}
		}),
		"network": func() Options {
			o := small(func(c *setup) { c.BatchSize, c.method = 31, &method.PPALA{} }).options()
			o.Settings.Iterations = iterations
			return o
		},
	}
}

// The last iterations use all rows, and count as passes. They end with a better certificate than
// batches alone.
func TestLastIterationsUseAllRows(t *testing.T) {
	racing.Skip(t, "TestBatchesResume runs the same goroutines")
	const iterations = 120
	for name, options := range finishing(iterations) {
		var epsilon [2]float64
		for k := range epsilon {
			o := options()
			if k == 0 { // batches to the end
				o.Settings.Iterations = 1
			}
			e := buildOptions(t, o)
			b := e.batches
			last := 2 * o.Settings.Iterations / int(b.PerPass()) // linear models
			if name == "network" {
				last /= 2
			}
			if k == 0 != (last == 0) || k == 1 && b.From != iterations-last {
				t.Fatalf("%s: all rows from iteration %d on, want the last %d of %d", name, b.From, last, o.Settings.Iterations)
			}
			quasi := fmt.Sprintf("The last %d of the %d iterations use all rows, with quasi-Newton steps.", last, iterations)
			if has := slices.Contains(e.finishes, quasi); has != (k == 1 && name != "gda" && name != "gradient" && name != "pieces") {
				t.Errorf("%s: the notes are %q", name, e.finishes)
			}
			want := iterations / b.PerPass()
			if k == 1 {
				want = float64(b.From)/b.PerPass() + float64(last)
			}
			records := &trace{}
			r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: iterations, Recorder: records}))(t)
			if got := records.Records[len(records.Records)-1].Epoch; got != want {
				t.Errorf("%s: the run ends after %v epochs, want %v", name, got, want)
			}
			epsilon[k] = r.Certificate.Epsilon
		}
		if name != "gda" && name != "gradient" && epsilon[1] > epsilon[0]/2 {
			t.Errorf("%s: epsilon is %v with all rows in the last iterations, %v without", name, epsilon[1], epsilon[0])
		}
	}
}

// A run that stops among the batches, before the last iterations or among them, and continues, ends
// with the weights of a run without a stop.
func TestBatchesResume(t *testing.T) {
	const iterations = 120
	for name, options := range finishing(iterations) {
		if racing.Detector && name != "plada" && name != "network" {
			continue // the same goroutines
		}
		whole := buildOptions(t, options())
		from := whole.batches.From
		weights := func(e *assembly, s trainer.Settings) (models.Weights, *trainer.Result) {
			r := require.Value(e.Optimize(t.Context(), s))(t)
			return e.weights(t), r
		}
		want, _ := weights(whole, trainer.Settings{Iterations: iterations})
		stops := []int{from - 1, from, from + 1}
		if racing.Detector {
			stops = []int{from}
		}
		for _, stop := range stops {
			_, half := weights(buildOptions(t, options()), trainer.Settings{Iterations: stop})
			o := options()
			if m, ok := o.Method.(*method.PPALA); ok { // as config.yaml names the step
				m.Primal.Kind = step.Nesterov
			}
			got, _ := weights(buildOptions(t, o), trainer.Settings{Iterations: iterations, Resume: half.State,
				ResumeAt: problem.Point{Iteration: stop, GradientEvaluations: half.Point.GradientEvaluations}})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: stopped after %d of %d iterations, all rows from %d on: other weights", name, stop, iterations, from)
			}
		}
	}
}

// On batches, PLADA has two smooth constraints for each gap, unless its x-step needs pieces.
func TestBatchesSplitGaps(t *testing.T) {
	for _, c := range []struct {
		step        method.XStep
		batch, want int
	}{{method.XStepAuto, 0, 2}, {method.XStepAuto, 1 << 20, 2}, {method.XStepAuto, 400, 4}, {method.ProxLinear, 400, 2}} {
		a := buildOptions(t, onTable(EqualizedOdds{}, Table{Dataset: "synthetic-compas"}, func(o *Options) {
			o.Method, o.BatchSize = &method.PLADA{XStep: c.step}, c.batch
		}))
		if _, m := a.Problem().Dims(); m != c.want {
			t.Errorf("x-step %d, batches of %d: %d constraints, want %d", c.step, c.batch, m, c.want)
		}
	}
}
