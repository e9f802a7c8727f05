package session

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models"
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

// The layers of the batches, the records and the certificate have the same memory one after the
// other, and none after the certificate.
func TestLayersRest(t *testing.T) {
	s := own(t, func(o *Options) {
		o.Data = Images{Dataset: "synthetic", Classes: []int{2, 0}, RowsPerClass: 100}
		o.Task, o.Method, o.Model = NeymanPearson{Kappa: []float64{5}}, &method.ALM{Primal: step.Settings{Kind: step.Adam}}, models.Conv{Channels: []int{16}}
		o.BatchSize, o.Settings.Iterations = 128, 2
	})
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	if _, err := s.Optimize(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := live()
	if _, err := s.Certify(); err != nil {
		t.Fatal(err)
	}
	const batch = 4 * 128 * 16 * 28 * 28 // the bytes of a layer of a batch
	if after := live(); after > before-batch/2 {
		t.Errorf("%d KiB live after the training, %d KiB after the certificate; a layer of a batch has %d KiB", before>>10, after>>10, batch>>10)
	}
	runtime.KeepAlive(s)
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
