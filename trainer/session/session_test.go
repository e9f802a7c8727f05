package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/report"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// An interrupt during the loading of the data ends the session.
func TestNewInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, small(nil).options()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// fit is a statement of least squares with a bound on the mean squared score.
func fit(bound float64) *Statement {
	meanSquare := func(x *gorgonia.Node) *gorgonia.Node {
		return gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(x))))
	}
	return &Statement{
		Name: "fit", Objective: "squared error", Constraints: []Constraint{{"mean energy", bound}},
		Nodes: func(scores *gorgonia.Node, rows Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
			var target []float64
			for _, y := range rows.Labels {
				target = append(target, float64(y))
			}
			misses := gorgonia.Must(gorgonia.Sub(scores, Column(scores, "target", target)))
			g := gorgonia.Must(gorgonia.Sub(meanSquare(scores), Number(scores, bound)))
			return meanSquare(misses), gorgonia.Nodes{g}, nil
		},
	}
}

// line has n rows (x, x^2) for x from -1 to 1. The label is the sign of x.
func line(n int) *Matrix {
	m := &Matrix{Labels: make([]int, n)}
	x := &matrix.Dense{Rows: n, Cols: 2}
	for i := range n {
		a := (2*float64(i)+1)/float64(n) - 1
		x.Data = append(x.Data, a, a*a)
		m.Labels[i] = int(math.Copysign(1, a))
	}
	m.Features = x
	return m
}

// own is a session of the statement fit on the rows of line.
func own(t *testing.T, change func(o *Options)) *Session {
	t.Helper()
	o := Options{
		Data: Matrices{Train: line(400), Test: line(100)}, Task: fit(0.2),
		Method:   &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, // these steps never come to rest
		Settings: trainer.Settings{Iterations: 300, RecordEvery: 2},         // automatic records depend on their time
		Device:   Device{Kind: CPU, Threads: 1},
	}
	if change != nil {
		change(&o)
	}
	s := require.Value(New(t.Context(), o))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Both engines solve the caller's own statement. With x uniform in (-1, 1) and the score c x, the
// solution is c = sqrt(3 bound) with the multiplier 3/(2c) - 1. Measures, summary and weights are
// complete.
func TestOwnStatement(t *testing.T) {
	require.NoRace(t, "TestResume runs the same goroutines")
	for _, engine := range []Engine{Plan, Gorgonia} {
		s := own(t, func(o *Options) { o.Device.Engine = engine })
		r := require.Value(s.Train(t.Context()))(t)
		const c = 0.7746 // sqrt(0.6)
		for name, pair := range map[string][2]float64{
			"f": {r.Objective, 1 + 0.2 - c}, "energy": {r.Values[1], 0.2}, "nu": {r.Certificate.Nu[0], 1.5/c - 1},
		} {
			if math.Abs(pair[0]-pair[1]) > 5e-3 {
				t.Errorf("%s: %s is %v, want %v", engine, name, pair[0], pair[1])
			}
		}
		dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
		require.NoError(t, s.Save(string(dir)))
		sum := require.Value(rundir.ReadSummary(dir.Summary()))(t)
		if diff := cmp.Diff(s.Summary(), sum); diff != "" {
			t.Error(diff)
		}
		if sum.Train["objective"] == 0 || sum.Test["mean_energy"] == 0 || sum.Validation != nil || len(sum.Bounds) != 1 {
			t.Errorf("summary %+v", sum)
		}
		if _, err := models.LoadFile(dir.Model(), nil); err != nil {
			t.Error(err)
		}
		records, err := rundir.ReadMetrics(dir.Metrics())
		if err != nil || len(records) < 100 || records[0].Measures["test_mean_energy"] == 0 {
			t.Errorf("%d records, %v", len(records), err)
		}
		config, err := os.ReadFile(dir.Config())
		if err != nil || !bytes.Contains(config, []byte("method: ppala")) || !bytes.Contains(config, []byte("normalization: none")) {
			t.Errorf("%v\n%s", err, config)
		}
	}
}

// The caller's own statement trains on mini-batches.
func TestOwnStatementInBatches(t *testing.T) {
	s := own(t, func(o *Options) { o.BatchSize = 40 })
	require.Value(s.Train(t.Context()))(t)
}

// Neyman-Pearson classification runs on the caller's own matrix.
func TestOwnMatrixOfClasses(t *testing.T) {
	m := line(90)
	for i := range m.Labels {
		m.Labels[i] = i / 30
	}
	s := own(t, func(o *Options) {
		o.Data, o.Task = Matrices{Train: m, Classes: []string{"low", "middle", "high"}}, NeymanPearson{}
		o.Model = &models.Spec{Hidden: []int{4}}
	})
	r := require.Value(s.Train(t.Context()))(t)
	d := s.Describe()
	if !cmp.Equal(d.Constraints, []string{"middle", "high"}) || d.Objective != "low" || d.Classes[1].Train != 30 {
		t.Errorf("%+v", d)
	}
	if _, ok := r.Splits[0].Named["error_2"]; !ok {
		t.Errorf("measures %v", r.Splits[0].Named)
	}
}

// OpenDir before a run and Save after a run write the same files.
func TestOpenAndSave(t *testing.T) {
	var files [2]map[string]int
	for i, early := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "run")
		s := own(t, func(o *Options) { o.Files.Renderer = report.Renderer{} })
		if early {
			require.NoError(t, s.Open(dir))
			if err := s.Open(dir); err == nil {
				t.Error("a directory was opened twice")
			}
		}
		require.Value(s.Train(t.Context()))(t)
		require.NoError(t, s.Save(dir))
		files[i] = map[string]int{}
		for _, name := range []string{"config.yaml", "metrics.jsonl", "model.safetensors", "summary.json", "plots/overview.svg"} {
			data := require.Value(os.ReadFile(filepath.Join(dir, name)))(t)
			files[i][name] = bytes.Count(data, []byte("\n"))
		}
		if s.Dir() != dir {
			t.Errorf("the directory is %q", s.Dir())
		}
	}
	delete(files[0], "plots/overview.svg") // contains measured times
	delete(files[1], "plots/overview.svg")
	if diff := cmp.Diff(files[0], files[1]); diff != "" {
		t.Error(diff)
	}
}

// A method that is called out of order returns an error of its own class. A directory that contains
// files is refused.
func TestStepsOutOfOrder(t *testing.T) {
	s := own(t, func(o *Options) { o.Settings.Iterations = -1 })
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	run := filepath.Join(dir, "new")
	for k, step := range []struct {
		call func() error
		want error
	}{
		{func() error { _, err := s.Certify(); return err }, problem.ErrOrder},
		{func() error { return s.Save(run) }, problem.ErrOrder},
		{func() error {
			r, err := s.Train(t.Context())
			if err == nil && r.Training.Iterations != 0 {
				err = fmt.Errorf("%d iterations, want none", r.Training.Iterations)
			}
			return err
		}, nil},
		{func() error { _, err := s.Train(t.Context()); return err }, problem.ErrOrder},
		{func() error { return s.Save(dir) }, rundir.ErrExists},
		{func() error { return s.Save(run) }, nil},
		{func() error { return s.Save(filepath.Join(dir, "other")) }, problem.ErrOrder},
		{func() error { return s.Open(run) }, problem.ErrOrder},
		{func() error { _, err := s.Resume(run); return err }, problem.ErrOrder},
	} {
		if err := step.call(); !errors.Is(err, step.want) {
			t.Errorf("step %d: error %v, want %v", k, err, step.want)
		}
	}
}

// A run with a value that is not finite fails. Its directory keeps a summary of the last record.
// Without a record, the session removes the directory.
func TestRunThatFails(t *testing.T) {
	for _, late := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		s := own(t, func(o *Options) {
			o.Method = &method.GDA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1e6}} // diverges
			if !late {
				x := o.Data.(Matrices).Train.Features.(*matrix.Dense)
				x.Data[0] = 1e300 // infinite in float32
			}
		})
		require.NoError(t, s.Open(dir))
		_, err := s.Train(t.Context())
		if !errors.Is(err, problem.ErrNonFinite) {
			t.Fatalf("error %v", err)
		}
		sum, readErr := rundir.ReadSummary(rundir.Dir(dir).Summary())
		if late && (readErr != nil || sum.Status != string(trainer.Failed) || sum.Error != err.Error()) {
			t.Errorf("%+v, %v", sum, readErr)
		}
		if _, statErr := os.Stat(dir); !late && !os.IsNotExist(statErr) {
			t.Errorf("a directory was left: %v", statErr)
		}
	}
}

// The error for invalid options states the reason.
func TestOptionsRefused(t *testing.T) {
	unlabelled := line(4)
	unlabelled.Labels = unlabelled.Labels[:3]
	outside := line(4)
	outside.Groups = []constraints.Group{{Name: "g", Rows: []int{4}}}
	named := &Decided{}
	for want, change := range map[string]func(o *Options){
		"Decided or ParameterNodes": func(o *Options) {
			o.Task = &Statement{Name: "both", Nodes: fit(1).Nodes, Decided: named, ParameterNodes: func(*models.Network) (gorgonia.Nodes, error) { return nil, nil }}
		},
		"returned no rows":        func(o *Options) { o.Data = empty{} },
		"Data and Task":           func(o *Options) { o.Task = nil },
		"needs a Name":            func(o *Options) { o.Task = &Statement{} },
		"without training rows":   func(o *Options) { o.Data = Matrices{} },
		"4 rows and 3 labels":     func(o *Options) { o.Data = Matrices{Train: unlabelled} },
		"the group g has a row 4": func(o *Options) { o.Data = Matrices{Train: outside} },
		`products is "int4"`:      func(o *Options) { o.Device.Products = "int4" },
		`device is "tpu"`:         func(o *Options) { o.Device.Kind = "tpu" },
		"gaps is half":            func(o *Options) { o.Data, o.Task = pair(), DemographicParity{Gaps: "half"} },
		"epsilon has 2 values":    func(o *Options) { o.Data, o.Task = pair(), DemographicParity{Epsilon: []float64{1, 2}} },
		"if-form is some":         func(o *Options) { o.Data, o.Task = pair(), Intersectional{Form: "some"} },
		"phi":                     func(o *Options) { o.Data, o.Task = pair(), DemographicParity{Phi: "square"} },
		"row 0 has label -1":      func(o *Options) { o.Data = Matrices{Train: line(4), Classes: []string{"a"}} },
	} {
		o := Options{Data: Matrices{Train: line(4)}, Task: fit(1), Device: Device{Kind: CPU}}
		change(&o)
		if _, err := New(t.Context(), o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// empty is a source without rows.
type empty struct{}

func (empty) Load(context.Context, Request) (*Data, error) { return &Data{}, nil }

// pair returns rows in two groups.
func pair() Matrices {
	m := line(8)
	m.Groups = []constraints.Group{{Name: "a", Rows: []int{0, 2, 4, 6}}, {Name: "b", Rows: []int{1, 3, 5, 7}}}
	return Matrices{Train: m}
}
