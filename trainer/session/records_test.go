package session

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/internal/tensorboard/eventfile"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// TestRecordsChangeNoWeight checks that the number of records changes neither the weights nor the
// end of a run, for problems of each kind, first-order and quasi-Newton steps, mini-batches, and
// ends by the bounds, by validation rows and by a conflict.
func TestRecordsChangeNoWeight(t *testing.T) {
	racing.Skip(t, "TestResume runs the same goroutines")
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

type recorderFunc func(*trainer.Record) error

func (f recorderFunc) Record(r *trainer.Record) error { return f(r) }

// recorderOf appends the records to a list.
func recorderOf(list *[]trainer.Record) trainer.Recorder {
	return recorderFunc(func(r *trainer.Record) error {
		*list = append(*list, *r)
		return nil
	})
}

// recordSteps returns the steps of the events with an objective.
func recordSteps(t *testing.T, path string) (steps []int) {
	t.Helper()
	for _, e := range eventfile.Read(t, path) {
		if _, ok := e.Scalars["objective"]; ok {
			steps = append(steps, int(e.Step))
		}
	}
	return steps
}

// shownSteps returns the steps that TensorBoard shows of the event files in dir: a file that begins
// with a start replaces the steps of earlier files from this start on.
func shownSteps(t *testing.T, dir string) (steps []int) {
	t.Helper()
	for k, path := range eventfile.Files(t, dir) {
		if k > 0 {
			start := eventfile.Read(t, path)[1]
			if !start.Start {
				t.Fatalf("%s does not begin with a start: %+v", path, start)
			}
			steps = slices.DeleteFunc(steps, func(step int) bool { return step >= int(start.Step) })
		}
		steps = append(steps, recordSteps(t, path)...)
	}
	return steps
}

// recordedSteps returns the iterations of the records in metrics.jsonl.
func recordedSteps(t *testing.T, dir string) (steps []int) {
	t.Helper()
	for _, r := range recordsOf(t, dir) {
		steps = append(steps, r.Iteration)
	}
	return steps
}

// The event files of a run that is extended twice show the records of metrics.jsonl, each once. The
// record at the end of the shorter run is not among them.
func TestExtendTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	on := func(o *Options) { o.TensorBoard = true }
	limitedTo(t, dir, 83, 0, on)
	limitedTo(t, dir, 121, 83, on)
	limitedTo(t, dir, 150, 121, on)
	got, want := shownSteps(t, dir), recordedSteps(t, dir)
	if !slices.Equal(got, want) || slices.Contains(want, 83) || want[len(want)-1] != 150 {
		t.Errorf("TensorBoard shows the steps %v, the records are at %v", got, want)
	}
}

// The event files of a run that was interrupted and then continues hold every record of
// metrics.jsonl: the second file begins after the last record before the checkpoint.
func TestTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	on := func(o *Options) { o.TensorBoard = true }
	interrupt(t, dir, on)
	before := recordsOf(t, dir)
	if steps := recordSteps(t, eventfile.Files(t, dir)[0]); len(steps) != len(before) {
		t.Errorf("%d events for %d records", len(steps), len(before))
	}
	s := own(t, on)
	require.Value(s.Resume(dir))(t)
	require.Value(s.Train(t.Context()))(t)
	require.NoError(t, s.Save(""))
	files := eventfile.Files(t, dir)
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	if got, want := shownSteps(t, dir), recordedSteps(t, dir); !slices.Equal(got, want) {
		t.Errorf("TensorBoard shows the steps %v, the records are at %v", got, want)
	}
	second := eventfile.Read(t, files[1])
	config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil || !strings.Contains(second[2].Texts["settings"], string(config)) || !strings.Contains(string(config), "tensorboard: true") {
		t.Errorf("settings %q, %v", second[2].Texts, err)
	}
}

// A run without --tensorboard, and a run that ends before its first record, leave no event file.
func TestNoTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	interrupt(t, dir, nil)
	if files := eventfile.Files(t, dir); len(files) > 0 {
		t.Errorf("files %q", files)
	}
	s := own(t, func(o *Options) { o.TensorBoard, o.Files.Version = true, "v9" })
	require.NoError(t, s.Open(filepath.Join(dir, "discarded")))
	require.NoError(t, s.discard())
	if _, err := os.Stat(filepath.Join(dir, "discarded")); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
