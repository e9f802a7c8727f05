package session

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
)

// The records before the last one have the values of a sample, close to those of all rows, and the
// last has the values of the result. The sample changes no weight.
func TestRecordsOfASample(t *testing.T) {
	run := func(sampled bool) (r *trainer.Result, records []trainer.Record) {
		e := buildOptions(t, onTable(EqualizedOdds{}, Table{Dataset: "synthetic-adult"}, func(o *Options) {
			o.Method, o.BatchSize, o.Settings.Iterations = &method.ALM{}, 512, 120
		}))
		if e.needsSample() {
			t.Error("the records of a linear model are cheap")
		}
		if sampled {
			weights := require.Value(e.start())(t)
			require.NoError(t, e.sampleRecords(weights))
		}
		r = require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 120, Recorder: recorderOf(&records)}))(t)
		return r, records
	}
	want, all := run(false)
	got, records := run(true)
	if got.Objective != want.Objective || got.Certificate.Stationarity != want.Certificate.Stationarity {
		t.Errorf("f and stationarity %v, %v, without the sample %v, %v", got.Objective, got.Certificate.Stationarity, want.Objective, want.Certificate.Stationarity)
	}
	if n := len(records); n < sampledRecords {
		t.Fatalf("%d records", n)
	}
	last := records[len(records)-1]
	if last.Objective != want.Objective || last.Measures["train_error"] != all[len(all)-1].Measures["train_error"] {
		t.Errorf("the last record %+v, want %+v", last, all[len(all)-1])
	}
	for i, r := range records[:len(records)-1] {
		if math.Abs(float64(r.Sample-sampleRows)) > 20 {
			t.Errorf("record %d is of %d rows", i, r.Sample)
		}
		if r.Measures["test_error"] == 0 || r.Measures["train_error"] == last.Measures["train_error"] {
			t.Errorf("record %d: %v", i, r.Measures)
		}
	}
	near := func(name string, a, b float64) {
		if a == b || math.Abs(a-b) > 0.05 {
			t.Errorf("%s at the start: %v of the sample, %v of all rows", name, a, b)
		}
	}
	near("f", records[0].Objective, all[0].Objective)
	near("train_error", records[0].Measures["train_error"], all[0].Measures["train_error"])
	near("test_error", records[0].Measures["test_error"], all[0].Measures["test_error"])
}

type recorderFunc func(*trainer.Record) error

func (f recorderFunc) Record(r *trainer.Record) error { return f(r) }

// recorderOf appends the records to a list.
func recorderOf(list *[]trainer.Record) trainer.Recorder {
	return recorderFunc(func(r *trainer.Record) error {
		*list = append(*list, *r)
		return nil
	})
}
