package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// configOf returns the contents of config.yaml.
func configOf(t *testing.T, o Options) string {
	t.Helper()
	data := require.Value(o.Config(results.Provenance{}))(t)
	return string(data)
}

// set gives a field a value that differs from every default, and reports whether the type is known.
func set(v reflect.Value) bool {
	if v.Type() == reflect.TypeFor[tensor.Dtype]() {
		v.Set(reflect.ValueOf(tensor.Float64))
		return true
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 3)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 3)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.25)
	case reflect.String:
		v.SetString("another")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return set(v.Index(0))
	default:
		return false
	}
	return true
}

// Every field of the options changes config.yaml, so that the file describes a run of the library
// completely. A new field fails this test until config.yaml contains the field.
func TestConfigHasEveryOption(t *testing.T) {
	// The session sets some of these fields itself. The others are functions of the caller.
	skipped := []string{
		"Files", "Settings.Recorder", "Settings.Solved", "Settings.Measure", "Settings.Warn", "Settings.Full", "Settings.CollapseAbove", "Settings.IterationsPerEpoch", "Settings.AllRowsFrom",
		"Settings.TrainMerit", "Settings.ValidationMerit", "Settings.ResumeAt", "Settings.RecordWork", "Settings.LeastRecords", "Settings.RecordShare", "Settings.FreeRecords", "Settings.Planned", "Settings.OwnMultiplier", "Model.Inputs", "Model.Outputs",
		"Data.TableOptions.Values", // the values that the constraints name
		"CheckpointEvery",          // does not change the result
		"Device.MemoryDir", "Device.KeptDir", "Data.TableOptions.Pages", "Data.TableOptions.Unread",
	}
	options := map[string]func() Options{
		"images": func() Options {
			return Options{Data: &Images{}, Task: &NeymanPearson{}, Model: &models.Spec{Hidden: []int{2}},
				Regularizer: &problem.Regularizer{Kind: problem.Ball, Radius: 1}, Method: &method.PPALA{Primal: step.Settings{Eta: 1}}}
		},
		"parity": func() Options {
			return Options{Data: &Table{Dataset: "csv"}, Task: &DemographicParity{}, Regularizer: &problem.Regularizer{Kind: problem.Box}, Method: &method.GDPA{}}
		},
		"odds": func() Options {
			return Options{Data: &Table{Dataset: "csv"}, Task: &EqualizedOdds{}, Regularizer: &problem.Regularizer{Kind: problem.L1},
				Method: &method.PLADA{XStep: method.Inner}}
		},
		"intersectional": func() Options {
			return Options{Data: &Table{Dataset: "csv"}, Task: &Intersectional{}, Regularizer: &problem.Regularizer{Kind: problem.GroupL1}, Method: &method.SSG{}}
		},
	}
	for name, fresh := range options {
		t.Run(name, func(t *testing.T) {
			plain := configOf(t, fresh())
			var visit func(path string, field func(o *Options) reflect.Value)
			visit = func(path string, field func(o *Options) reflect.Value) {
				if slices.Contains(skipped, path) || strings.HasPrefix(path, "Method.") || strings.HasPrefix(path, "Regularizer.") && irrelevant(path, fresh().Regularizer.Kind) {
					return
				}
				o := fresh()
				v := field(&o)
				if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[tensor.Dtype]() {
					for i := range v.NumField() {
						if f := v.Type().Field(i); f.IsExported() {
							visit(strings.TrimPrefix(path+"."+f.Name, "."), func(o *Options) reflect.Value { return reach(field(o).Field(i)) })
						}
					}
					return
				}
				if !set(v) {
					return // functions and interfaces: TestConfigNamesWhatNoFlagExpresses
				}
				if data, err := o.Config(results.Provenance{}); err == nil && string(data) == plain {
					t.Errorf("%s = %v does not change config.yaml", path, v)
				}
			}
			visit("", func(o *Options) reflect.Value { return reflect.ValueOf(o).Elem() })
		})
	}
}

// reach follows pointers and interfaces.
func reach(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// irrelevant reports whether the regularizer's kind does not use the field.
func irrelevant(path string, kind problem.RegularizerKind) bool {
	switch strings.TrimPrefix(path, "Regularizer.") {
	case "Radius":
		return kind != problem.Ball
	case "Lower", "Upper":
		return kind != problem.Box
	case "Weight":
		return kind == problem.Ball || kind == problem.Box
	case "Groups":
		return kind != problem.GroupL1
	}
	return false
}

// If no flag expresses a part of the run, the first key of config.yaml says so.
func TestConfigNamesWhatNoFlagExpresses(t *testing.T) {
	table := Table{Dataset: "synthetic-adult"}
	other := table
	other.TableOptions = tabular.TableOptions{Seed: 9}
	for want, o := range map[string]Options{
		"the task":   {Data: table, Task: ownNodes()},
		"the rows":   {Data: Matrices{Train: &Matrix{Features: &matrix.Dense{}}}, Task: DemographicParity{}},
		"the method": {Data: table, Task: DemographicParity{}, Method: ownMethod{&method.ALM{}}},
		"the method's field Primal": {Data: table, Task: DemographicParity{},
			Method: &method.GDPA{Primal: &step.Settings{Kind: step.Gradient}}},
		"the method's field Seed": {Data: table, Task: Intersectional{Form: SampledGroup}, Method: &method.MultiplierModel{Seed: 5}},
		"the seed of the rows":    {Data: other, Task: DemographicParity{}, Settings: trainer.Settings{Seed: 1}},
		"the form of the gaps":    {Data: table, Task: DemographicParity{Gaps: constraints.Absolute}},
		"the box with an infinite bound": {Data: table, Task: DemographicParity{},
			Regularizer: &problem.Regularizer{Kind: problem.Box, Upper: math.Inf(1)}},
		"the groups of the regularizer": {Data: table, Task: DemographicParity{},
			Regularizer: &problem.Regularizer{Kind: problem.GroupL1, Weight: 1, Groups: []int{3}}},
		"the limit on gradient evaluations": {Data: table, Task: DemographicParity{}, Settings: trainer.Settings{Gradients: 10}},
		"the state that the run resumes":    {Data: table, Task: DemographicParity{}, Settings: trainer.Settings{Resume: &trainer.State{}}},
		"the GPU that the program opens": {Data: table, Task: DemographicParity{},
			Device: Device{OpenGPU: func(graph.GPUOptions) (graph.GPU, error) { return nil, nil }}},
	} {
		first, _, _ := strings.Cut(configOf(t, o), "\n")
		if first != fmt.Sprintf("only-in-program: [%s]", want) && first != fmt.Sprintf("only-in-program: [%q]", want) {
			t.Errorf("%s, want %s", first, want)
		}
	}
	if text := configOf(t, Options{Data: table, Task: DemographicParity{}}); strings.Contains(text, "only-in-program") {
		t.Error(text)
	}
}

// ownNodes is a task of nodes alone.
func ownNodes() *Statement {
	return &Statement{Name: "own", Nodes: func(*gorgonia.Node, Rows) (*gorgonia.Node, gorgonia.Nodes, error) { return nil, nil, context.Canceled }}
}

// ownMethod is a caller's own method.
type ownMethod struct{ trainer.Method }

func (ownMethod) Name() string { return "ppala-with-a-twist" }

// A session without a model and a regularizer has those of the task's description. Every task can
// be completed.
func TestDefaults(t *testing.T) {
	for _, d := range Tasks() {
		o := Options{Data: Table{}, Task: d.New()}
		if d.Rows == PictureRows {
			o.Data = Images{}
		}
		o = require.Value(o.withDefaults())(t)
		kind := d.Defaults.Regularizer.Kind
		hidden := o.Model.(models.Spec).Hidden
		if linear := len(hidden) == 0; linear != d.Defaults.Linear || !linear && !slices.Equal(hidden, d.Defaults.Hidden) || o.Regularizer.Kind != kind {
			t.Errorf("%s: %+v, %+v, want %+v", d.Name, o.Model, o.Regularizer, d.Defaults)
		}
	}
	o, err := Options{Data: Table{}, Task: ownNodes()}.withDefaults()
	if err != nil || o.Model.(models.Spec).Hidden != nil || o.Regularizer.Kind != problem.NoRegularizer {
		t.Errorf("%+v, %+v, %v", o.Model, o.Regularizer, err)
	}
	o, err = Options{Data: Table{}, Task: DemographicParity{BoundsOn: constraints.OnDecisions}}.withDefaults()
	if err != nil || o.Regularizer.Kind != problem.SquaredL2 {
		t.Errorf("bounds on decisions: %+v, %v, want a ridge", o.Regularizer, err)
	}
}

// Bounds on decisions of every published problem are in config.yaml, with the default too.
func TestConfigHasBoundsOnDecisions(t *testing.T) {
	given := []float64{0.123}
	for want, tasks := range map[string][]Task{
		"kappa: [0.123]":   {NeymanPearson{Kappa: given}},
		"kappa: [0.2]":     {NeymanPearson{}},
		"epsilon: [0.123]": {DemographicParity{Epsilon: given}, EqualizedOdds{Epsilon: given}, Intersectional{Epsilon: given}},
		"epsilon: [0.01]":  {DemographicParity{}, EqualizedOdds{}, Intersectional{}},
	} {
		for _, task := range tasks {
			for _, form := range []Task{task, onDecisions(task)} {
				if got := configOf(t, Options{Data: &Table{Dataset: "csv"}, Task: form, Model: &models.Spec{}, Method: &method.PPALA{}}); !strings.Contains(got, want) {
					t.Errorf("%T %+v: no %q in\n%s", form, form, want, got)
				}
			}
		}
	}
}

// config.yaml has the settings that the device uses, and those that the options give in vain.
func TestConfigHasSettingsInVain(t *testing.T) {
	text := configOf(t, Options{Data: Table{Dataset: "synthetic-adult"}, Task: DemographicParity{}, Device: Device{Engine: Gorgonia, MicroBatch: 3}})
	for line, want := range map[string]bool{"engine: gorgonia": true, "micro-batch: 3": true, "simd: auto": false, "memory: all": false} {
		if strings.Contains(text, "\n"+line+"\n") != want {
			t.Errorf("%s: want %v in\n%s", line, want, text)
		}
	}
}

// A process that serves a run reads all settings of process 0, although no flag expresses some
// settings of the loop, which process 0 alone runs, and the part of the rows that judges.
func TestServedHasNoProgramKey(t *testing.T) {
	rows := CSV("people.csv", "y")
	rows.Folds, rows.Held = 5, 2
	o := Options{Data: Cached(rows), Task: DemographicParity{}}
	o.Settings.IgnoreConflict, o.Settings.Gradients, o.Settings.Resume = true, 3, &trainer.State{}
	for served, want := range map[bool]bool{false: true, true: false} {
		from := o
		if served {
			var folds, held int
			if from, folds, held = o.Served(); folds != 5 || held != 2 || rows.Held != 2 {
				t.Errorf("part %d of %d", held, folds)
			}
		}
		text, err := from.Config(results.Provenance{})
		if has := strings.Contains(string(text), "only-in-program"); err != nil || has != want {
			t.Errorf("served %v: %v\n%s", served, err, text)
		}
	}
}

// Every fault of a flag refuses the task.
func TestFlagsOfTasks(t *testing.T) {
	x, n := 0.0, 0
	good := Flag{Name: "own-x", Help: "set x", Default: "2", Value: &x, Low: 1, High: 3}
	for name, change := range map[string]func(f *Flag){
		"another name":       func(f *Flag) { f.Name = "x" },
		"large letters":      func(f *Flag) { f.Name = "own-X" },
		"no help":            func(f *Flag) { f.Help = "" },
		"outside of a range": func(f *Flag) { f.Default = "4" },
		"no number":          func(f *Flag) { f.Default = "" },
		"a fraction":         func(f *Flag) { f.Value, f.Default = &n, "1.5" },
		"another word":       func(f *Flag) { f.Value, f.Words = new(string), []string{"a", "b"} },
		"on by default":      func(f *Flag) { f.Value, f.Default = new(bool), "true" },
		"no variable":        func(f *Flag) { f.Value = x },
	} {
		f := good
		change(&f)
		if err := RegisterTask(TaskDescription{Name: "own", New: func() Task { return flagged{f} }}); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := RegisterTask(TaskDescription{Name: "own", New: func() Task { return flagged{good, good} }}); !errors.Is(err, ErrOptions) {
		t.Errorf("a flag twice: error %v", err)
	}
	if err := RegisterTask(TaskDescription{Name: "record", New: func() Task { return flagged{{Name: "record-every", Help: "set x", Default: "2", Value: &n}} }}); !errors.Is(err, ErrOptions) {
		t.Errorf("a flag of the run: error %v", err)
	}
	list := taskOptions(flagged{good, {Name: "own-word", Help: "say a word", Default: "b", Value: new(string), Words: []string{"a", "b"}}})
	if len(list) != 2 || list[0].Set("0.5") == nil || list[0].Set("3") != nil || x != 3 || list[1].PlainDefault() != "b" {
		t.Errorf("%+v, x = %v, %q", list, x, list[1].PlainDefault())
	}
}

// flagged is a task with these flags.
type flagged []Flag

func (flagged) State(Rows, bool) (*Statement, error) { return fit(1), nil }
func (f flagged) Flags() []Flag                      { return f }

// renamed is a task of another program, in the language of constraints and with a name of its own.
type renamed struct{ Decisions }

func (r renamed) State(train Rows, smooth bool) (*Statement, error) {
	s, err := r.Decisions.State(train, smooth)
	if err == nil {
		s.Name = "renamed"
	}
	return s, err
}

// The name of a constraint with its bound has the bound once, for every task and for both kinds of
// bounds: the words of the language already have it, whatever the task is called.
func TestBoundedNames(t *testing.T) {
	m := &Matrix{Features: &matrix.Dense{Rows: 4, Cols: 1, Data: []float64{1, 2, 3, 4}}, Labels: []int{-1, 1, -1, 1},
		Groups: []constraints.Group{{Name: "a", Rows: []int{0, 1}}, {Name: "b", Rows: []int{2, 3}}}}
	tasks := map[string]Task{"renamed": renamed{Decisions{SubjectTo: []constraints.Constraint{constraints.FPR().AtMost(0.3)}}}}
	for _, d := range Tasks() {
		for _, on := range []string{"surrogate", "decisions"} {
			task := d.New()
			for _, o := range task.(configurable).options() {
				if o.Name == "bounds-on" {
					require.NoError(t, o.Set(on))
					tasks[d.Name+" on "+on] = task
				}
			}
		}
	}
	named := 0
	for name, task := range tasks {
		s, err := New(t.Context(), Options{Data: Matrices{Train: m}, Task: task, Settings: trainer.Settings{Iterations: 1}})
		if err != nil {
			continue // the rows do not suit the task
		}
		for _, c := range s.pipeline.Describe().Bounded {
			if named++; strings.Count(c, " <= ") != 1 {
				t.Errorf("%s: the bounded name %q", name, c)
			}
		}
		require.NoError(t, s.Close())
	}
	if named < 8 {
		t.Errorf("%d names", named)
	}
}
