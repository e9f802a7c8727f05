package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/certify"
)

// trace holds everything that a run computes, without times.
type trace struct {
	Records    []trainer.Record
	Status     trainer.Status
	Infeasible *certify.Infeasibility
	Weights    models.Weights
	Result     *Result
}

// Record implements trainer.Recorder.
func (r *trace) Record(record *trainer.Record) error {
	own := *record
	own.Seconds = 0
	r.Records = append(r.Records, own)
	return nil
}

// traceOn returns the trace of a run on the given number of threads.
func traceOn(t *testing.T, o Options, threads int) *trace {
	t.Helper()
	r := &trace{}
	o.Device.Threads, o.Settings.Recorder = threads, r
	s, err := New(t.Context(), o)
	require.NoError(t, err)
	defer s.Close()
	if r.Result, err = s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Status, r.Infeasible, r.Weights = r.Result.Training.Status, r.Result.Training.Infeasible, s.pipeline.(*assembly).weights(t)
	r.Result.Training, r.Result.Certifying = nil, 0
	return r
}

// The number of threads changes no bit of the records, the weights, the certificates, the measures
// on held-out rows and the outcome of a run. The run may use batches, bounds on decisions, products
// of digits, or a search for a proof that no model meets the bounds.
func TestThreadsDoNotChangeRuns(t *testing.T) {
	require.NoRace(t, "internal/cpu runs the same goroutines")
	for name, o := range sharedRuns(t) {
		t.Run(name, func(t *testing.T) {
			want := traceOn(t, o, 1)
			if diff := cmp.Diff(want, traceOn(t, o, 3)); diff != "" {
				t.Errorf("(-1 thread +3 threads): %s", diff)
			}
			if name == "impossible" && want.Status != trainer.Infeasible {
				t.Errorf("the status is %q: no search for a proof was tested", want.Status)
			}
		})
	}
}

// sharedRuns are runs of all kinds, whose rows threads and processes share.
func sharedRuns(t *testing.T) map[string]Options {
	decisions := func(iterations int, texts ...string) Options {
		o := confident(t, three(2500, 300, 300), texts...)
		o.Settings.Iterations, o.Settings.RecordEvery = iterations, 20
		return o
	}
	pictures := func(products Products, dtype tensor.Dtype, batch int) Options {
		o := single(products, func(c *setup) { c.RowsPerClass, c.Dtype, c.BatchSize = 300, dtype, batch }).options()
		o.Settings.Iterations, o.Settings.RecordEvery = 4, 2
		return o
	}
	parity := onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, func(o *Options) {
		plada(o)
		o.Settings.Iterations, o.Settings.RecordEvery = 20, 5
	})
	runs := map[string]Options{
		"float32": pictures(Float32, tensor.Float32, 0), "float64": pictures("", tensor.Float64, 600), "parity": parity,
		"decisions": decisions(60, "fpr <= 0.1", "gap(tpr, sex) <= 0.1"), "impossible": decisions(400, "fpr <= 0.01", "tpr >= 0.999"),
	}
	if hasDigits(t) == nil {
		runs["digits"] = pictures(Int8x3, tensor.Float32, 600)
	}
	return runs
}
